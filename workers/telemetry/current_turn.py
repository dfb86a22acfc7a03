"""The turn that an activity works on, for what it logs."""

from contextvars import ContextVar
from typing import Final

from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from workflows.contracts.host_contracts import RunTools
from workflows.contracts.model_contracts import CallModel

_turn: Final[ContextVar[int | None]] = ContextVar("turn", default=None)


def current_turn() -> int | None:
    """Return the turn of the agent whose activity runs here; None outside of one."""
    return _turn.get()


class TurnInterceptor(Interceptor):
    """Notes the turn while a model call or a batch of tools runs."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 (the SDK's name)
        """Wrap the next interceptor."""
        return _Noting(next)


class _Noting(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 (the SDK's name)
        request: object = input.args[0] if input.args else None
        if not isinstance(request, CallModel | RunTools):
            return await super().execute_activity(input)
        token = _turn.set(request.turn)
        try:
            return await super().execute_activity(input)
        finally:
            _turn.reset(token)
