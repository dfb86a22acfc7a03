"""What is measured of activities: one interceptor, which reads their requests and outcomes.

Only an attempt that ran here is measured: replaying a workflow runs no activity. So every figure
counts attempts, and money counts once an answer is complete.

| activity          | of an outcome                           | of a failure                  |
|-------------------|-----------------------------------------|-------------------------------|
| all               | seconds                                 | seconds, type                 |
| `models.call`     | tokens, cost, latency, saturation       | the wait that a provider asks |
| `tools.run`       | latency, each call, each error          | each call, by the failure     |
| `gates.run`       | seconds, each result                    |                               |
| `merging.merge`   | merged or conflict                      |                               |
| `landing.deliver` | delivered or refused                    |                               |

What adapters measure while an activity runs (`activities.ports.measures`) is taken here too.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.ports.measures import Measure, measured_by
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import RunTools, ToolsOutcome
from workflows.contracts.land_contracts import Delivered, DeliveryRefused
from workflows.contracts.merging_contracts import MergeConflict, MergedCommits
from workflows.contracts.model_contracts import CallModel, ModelAnswered, PrefixLost
from workflows.domain.gate import GateReport

_CANCELLED: Final = "cancelled"
_Clock = Callable[[], float]


class MeasuringInterceptor(Interceptor):
    """Measures each activity of a worker."""

    def __init__(self, measure: Measure, clock: _Clock = time.monotonic) -> None:
        self._measure = measure
        self._clock = clock

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 (the SDK's name)
        """Wrap the next interceptor."""
        return _MeasuredActivity(next, self._measure, self._clock)


class _MeasuredActivity(ActivityInboundInterceptor):
    def __init__(
        self, following: ActivityInboundInterceptor, measure: Measure, clock: _Clock
    ) -> None:
        super().__init__(following)
        self._measure = measure
        self._clock = clock

    async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 (the SDK's name)
        name = activity.info().activity_type
        request: object = input.args[0] if input.args else None
        began = self._clock()
        try:
            with measured_by(self._measure):
                outcome: object = await super().execute_activity(input)
        except (Exception, asyncio.CancelledError) as error:
            self._timed(name, began)
            _failed(self._measure, name, request, error)
            raise
        seconds = self._timed(name, began)
        _ended(self._measure, request, outcome, seconds)
        return outcome

    def _timed(self, name: str, began: float) -> float:
        seconds = self._clock() - began
        self._measure("blueflame_activity_seconds", seconds, activity=name)
        return seconds


def _ended(measure: Measure, request: object, outcome: object, seconds: float) -> None:
    match request, outcome:
        case CallModel(), ModelAnswered():
            _answered(measure, request, outcome)
        case CallModel(), PrefixLost():
            _called(measure, request, "prefix_lost")
        case RunTools(), ToolsOutcome():
            measure("agent_latency_seconds", seconds, role=request.role, step="tools")
            _tools_ran(measure, outcome)
        case RunGates(), GateReport():
            _judged(measure, request, outcome, seconds)
        case _, MergedCommits() | MergeConflict():
            measure("blueflame_merges_total", outcome=outcome.kind)
        case _, Delivered() | DeliveryRefused():
            measure("blueflame_deliveries_total", outcome=outcome.kind)
        case _:
            pass


def _called(measure: Measure, request: CallModel, outcome: str) -> None:
    provider = request.model.provider
    measure("llm_calls_total", provider=provider, role=request.role, outcome=outcome)


def _answered(measure: Measure, request: CallModel, answer: ModelAnswered) -> None:
    role, model, usage = request.role, request.model, answer.usage
    _called(measure, request, answer.kind)
    written = usage.cache_write_tokens
    tokens = {
        # All kinds of input add up to the prompt.
        "input": max(usage.input_tokens - usage.cached_input_tokens - written, 0),
        "cached_input": usage.cached_input_tokens,
        "cache_write": written,
        "output": usage.output_tokens,
    }
    for kind, count in tokens.items():
        measure("llm_tokens_total", count, model=model.name, role=role, type=kind)
    measure("llm_cost_usd_total", float(answer.cost_usd), model=model.name, role=role)
    measure("agent_latency_seconds", answer.latency.total_seconds(), role=role, step="model")
    filled = (usage.input_tokens + usage.output_tokens) / model.window_tokens
    measure("context_saturation_ratio", filled, role=role)


def _tools_ran(measure: Measure, outcome: ToolsOutcome) -> None:
    for each in outcome.observations:
        measure("tool_calls_total", tool=each.name)
        if each.is_error or each.is_failed:
            code = "error" if each.is_error else "exit"
            measure("tool_execution_errors_total", tool=each.name, code=code)


def _judged(measure: Measure, request: RunGates, report: GateReport, seconds: float) -> None:
    of = "base" if request.baseline is None else "work"
    if any(each.has_run for each in report.results):
        measure("blueflame_gate_run_seconds", seconds, of=of)
    for each in report.results:
        measure("blueflame_gate_results_total", of=of, result=each.result)


def _failed(measure: Measure, name: str, request: object, error: BaseException) -> None:
    kind = _kind(error)
    if kind != _CANCELLED:
        measure("blueflame_activity_failures_total", activity=name, type=kind)
    match request:
        case CallModel():
            _called(measure, request, kind)
            delay = error.next_retry_delay if isinstance(error, ApplicationError) else None
            if delay is not None:
                waits = delay.total_seconds()
                measure("llm_parked_seconds", waits, provider=request.model.provider)
        case RunTools() if kind != _CANCELLED:
            for each in request.calls:
                measure("tool_calls_total", tool=each.name)
                measure("tool_execution_errors_total", tool=each.name, code=kind)
        case _:
            pass


def _kind(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return _CANCELLED
    return (error.type or "") if isinstance(error, ApplicationError) else type(error).__name__
