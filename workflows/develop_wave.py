"""The develop wave: one agent per assignment, each in its own worktree, a few at a time."""

import asyncio
from typing import Final

from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ChildWorkflowError,
)

from workflows.agent_lifecycle import (
    AgentHandle,
    AgentOrder,
    Agents,
    Results,
    all_done,
    failure_text,
    give_up_account,
    prepare_worktree,
    remove_worktree,
    start_agent,
    tell,
)
from workflows.cancellation import is_cancelled
from workflows.contracts.host_contracts import (
    FINISH_TASK,
    LAST_CHECKPOINT,
    CommitWords,
    FinishTask,
    LastCheckpoint,
    TaskCommitted,
)
from workflows.contracts.merging_contracts import (
    MERGE_COMMITS,
    REBASE_WORK,
    MergeCommits,
    MergeConflict,
    RebaseWork,
)
from workflows.domain.agent.agent_values import AgentEnd, AgentOutcome
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Bill
from workflows.domain.ids import AgentId, Commit, TaskId
from workflows.domain.session.wave_values import (
    Assignment,
    Developed,
    DevelopItem,
    DevelopRequest,
    DevelopResult,
    NotDeveloped,
    Start,
    TaskWord,
    Waits,
)
from workflows.errors import INTERNAL_ERRORS
from workflows.policy.agent import opening_messages
from workflows.policy.agent.agent_limits import limits_for
from workflows.policy.commands.protection import gate_files
from workflows.policy.review.diff_rules import told

_SUMMARY_CHARACTERS: Final = 4_000


@workflow.defn(name="DevelopWave", failure_exception_types=INTERNAL_ERRORS)
class DevelopWave:
    """Purpose: develop the given tasks; the session schedules them.

    Signals: `steer`, `answer`, `stop_task`, `pause`, `resume`, `report`, `proceed`.
    Carries nothing over.
    """

    @workflow.init
    def __init__(self, request: DevelopRequest) -> None:
        self._request = request
        self._slots = asyncio.Semaphore(request.concurrency)
        self._agents = Agents()
        self._results = Results[DevelopItem](request.grounds.session)
        self._words = {each.task.id: list(each.steers) for each in request.assignments}
        """Messages that did not reach an agent."""
        self._answers: dict[TaskId, str] = {}
        self._stopped: dict[TaskId, str] = {}

    @workflow.run
    async def run(self, request: DevelopRequest) -> DevelopResult:
        """Develop all assignments and return the result of each."""
        await all_done(self._attempt(each) for each in request.assignments)
        unheard = [
            TaskWord(task=task, text=text)
            for task, words in sorted(self._words.items())
            for text in words
        ]
        return DevelopResult(items=self._results.kept(), unheard=tuple(unheard))

    # --- signals -----------------------------------------------------------------------------

    @workflow.signal
    async def steer(self, word: TaskWord) -> None:
        """Pass a person's message on to the task's agent, or keep it until the agent starts."""
        if not await self._agents.tell(word.task, "steer", word.text):
            self._words.setdefault(word.task, []).append(word.text)

    @workflow.signal
    async def answer(self, word: TaskWord) -> None:
        """Pass the person's answer on to the task's agent."""
        if not await self._agents.tell(word.task, "answer", word.text):
            self._answers[word.task] = word.text  # it asked before its start was taken up here

    @workflow.signal
    async def stop_task(self, word: TaskWord) -> None:
        """End one task's agent and keep its work so far."""
        self._stopped[word.task] = word.text
        await self._agents.tell(word.task, "stop", word.text)

    @workflow.signal
    async def pause(self) -> None:
        """Hold every agent at its turn boundary, and start no other."""
        await self._agents.pause()

    @workflow.signal
    async def resume(self) -> None:
        """Let every agent continue."""
        await self._agents.resume()

    @workflow.signal
    async def report(self) -> None:
        """Tell the session of each item as it finishes, because an agent holds."""
        await self._results.report()

    @workflow.signal
    async def proceed(self) -> None:
        """Close the wave early: unfinished work continues in the next cycle."""
        reason = "the wave was closed early; the work goes on in the next cycle"
        for assignment in self._request.assignments:
            await self.stop_task(TaskWord(task=assignment.task.id, text=reason))

    # --- one attempt -------------------------------------------------------------------------

    async def _attempt(self, assignment: Assignment) -> None:
        async with self._slots:
            await workflow.wait_condition(lambda: not self._agents.is_paused)
            try:
                item = await self._develop(assignment)
            except (ActivityError, ChildWorkflowError) as error:
                if is_cancelled():
                    raise
                await give_up_account(self._request.grounds, _agent(assignment))
                item = _not_developed(assignment, None, AgentEnd.HOST, failure_text(error))
        await self._results.add(item)

    async def _develop(self, assignment: Assignment) -> DevelopItem:
        task = assignment.task.id
        if reason := self._stopped.get(task):
            return _not_developed(assignment, None, AgentEnd.STOPPED, reason)
        base = await self._base(assignment)
        if isinstance(base, Waits):
            return base
        start = await self._start(assignment, base)
        order = self._order(assignment, start)
        if assignment.is_made_by_git:
            return await self._submit_as_it_is(assignment, start, order)
        summary = f"{task}, attempt {assignment.attempt}: {assignment.task.title}"
        try:
            handle = await start_agent(self._request.grounds, order, summary)
        except BaseException:
            self._words[task] = [*order.steers, *self._words.get(task, ())]
            raise
        outcome = await self._agents.attend(task, handle, lambda: self._greet(task, handle))
        self._words[task] = [*outcome.unheard, *self._words.get(task, ())]
        item = await self._finish(assignment, base, order, outcome)
        await remove_worktree(self._request.grounds, order, outcome)
        return item

    async def _submit_as_it_is(
        self, assignment: Assignment, start: Start, order: AgentOrder
    ) -> DevelopItem:
        """Submit work that git made; no agent starts, and nothing is spent."""
        grounds = self._request.grounds
        if start.conflicts:
            text = f"git alone cannot bring it onto the new head: {start.conflicts}"
            return _not_developed(assignment, start.base, AgentEnd.SUBMITTED, text)
        await prepare_worktree(grounds, order, with_setup=False)
        outcome = AgentOutcome(
            agent=order.agent,
            end=AgentEnd.SUBMITTED,
            submission={"summary": "Made by git, without an agent."},
            checkpoint=start.commit,
            turns=0,
            bill=Bill(),
            model="git",
            family="git",
        )
        item = await self._finish(assignment, start.base, order, outcome)
        await remove_worktree(grounds, order, outcome)
        return item

    async def _greet(self, task: TaskId, handle: AgentHandle) -> None:
        """Send a new agent what was said while it started; keep what it does not receive."""
        for text in self._words.pop(task, ()):
            if not await tell(handle, "steer", text):
                self._words.setdefault(task, []).append(text)
        if text := self._answers.pop(task, ""):
            await tell(handle, "answer", text)
        if reason := self._stopped.get(task):
            await tell(handle, "stop", reason)

    async def _base(self, assignment: Assignment) -> Commit | Waits:
        """Merge the validated dependencies that are not in the head yet."""
        if not assignment.dependencies:
            return assignment.head
        grounds = self._request.grounds
        merge = MergeCommits(
            session=grounds.session,
            key=grounds.key,
            head=assignment.head,
            commits=assignment.dependencies,
            title=f"Base of {assignment.task.id}",
            at=workflow.now(),
        )
        outcome = await MERGE_COMMITS.ask(
            merge, f"base of {assignment.task.id}", queue=grounds.host_queue
        )
        if isinstance(outcome, MergeConflict):
            paths = ", ".join(outcome.paths[:5])
            detail = f"its dependencies conflict in {paths}; it waits until they are merged"
            return Waits(task=assignment.task.id, attempt=assignment.attempt, detail=detail)
        return outcome.commit

    async def _start(self, assignment: Assignment, base: Commit) -> Start:
        """Bring the task's earlier work, if there is any, onto the base."""
        work, work_base = assignment.restart_from, assignment.base
        if work is None or work_base is None:
            return Start(base=base, commit=base)
        if base == work_base:
            return Start(base=base, commit=work, work=work)
        grounds = self._request.grounds
        rebase = RebaseWork(
            session=grounds.session,
            key=grounds.key,
            base=base,
            work=work,
            work_base=work_base,
            title=assignment.task.title,
            at=workflow.now(),
        )
        summary = f"bring {assignment.task.id} onto its new base"
        done = await REBASE_WORK.ask(rebase, summary, queue=grounds.host_queue)
        return Start(base=base, commit=done.commit, work=work, conflicts=done.conflicts)

    def _order(self, assignment: Assignment, start: Start) -> AgentOrder:
        task = assignment.task
        grounds = self._request.grounds
        nonce = workflow.uuid4().hex[:12]
        opening = opening_messages.developer(
            task, assignment.attempt, grounds.gates, assignment.notes, nonce
        )
        opening = opening_messages.with_earlier_work(opening, start, nonce)
        return AgentOrder(
            agent=_agent(assignment),
            role=Role.DEVELOPER,
            route=self._request.route,
            opening=opening_messages.with_repository(opening, self._request.brief, nonce),
            start=start.commit,
            limits=limits_for(Role.DEVELOPER, task.kind, grounds.agents, grounds.turns),
            claims=task.claims,
            steers=tuple(self._words.pop(task.id)),
        )

    async def _finish(
        self, assignment: Assignment, base: Commit, order: AgentOrder, outcome: AgentOutcome
    ) -> DevelopItem:
        if outcome.end is AgentEnd.STOPPED:
            outcome = await self._with_last_checkpoint(order, outcome)
        if outcome.end is not AgentEnd.SUBMITTED:
            return _not_developed(assignment, base, outcome.end, outcome.detail, outcome)
        finish = FinishTask(
            worktree=order.worktree(self._request.grounds),
            task=assignment.task.id,
            title=assignment.task.title,
            attempt=assignment.attempt,
            base=base,
            first_base=assignment.first_base,
            task_text=opening_messages.task_text(assignment.task),
            checkpoint=outcome.checkpoint,
            claims=assignment.task.claims,
            policy=self._request.grounds.policy,
            gate_files=gate_files(self._request.grounds.gates),
            limits=self._request.grounds.limits,
            allow_secret=self._request.grounds.worktree.allow_secret,
            at=workflow.now(),
            words=CommitWords(
                kind=assignment.task.kind,
                goal=self._request.grounds.goal,
                summary=_summary(outcome),
                criteria=assignment.task.acceptance_criteria,
            ),
            keeps_turns=self._request.grounds.commits.history == "keep",
        )
        summary = f"check and commit {assignment.task.id}"
        try:
            done = await FINISH_TASK.ask(finish, summary, queue=self._request.grounds.host_queue)
        except ActivityError as error:
            if is_cancelled():
                raise
            return _not_developed(assignment, base, AgentEnd.HOST, failure_text(error), outcome)
        if not isinstance(done, TaskCommitted):
            text = "; ".join(told(done.findings))
            return _not_developed(assignment, base, outcome.end, text, outcome)
        return _developed(assignment, base, done, outcome)

    async def _with_last_checkpoint(self, order: AgentOrder, outcome: AgentOutcome) -> AgentOutcome:
        """Use the checkpoint that the host recorded for a stopped command, if there is one."""
        grounds = self._request.grounds
        ask = LastCheckpoint(worktree=order.worktree(grounds))
        try:
            last = await LAST_CHECKPOINT.ask(
                ask, f"last checkpoint of {order.agent}", queue=grounds.host_queue
            )
        except ActivityError:
            if is_cancelled():
                raise
            return outcome
        return outcome.at(last.checkpoint or outcome.checkpoint)


def _developed(
    assignment: Assignment, base: Commit, done: TaskCommitted, outcome: AgentOutcome
) -> Developed:
    return Developed(
        task=assignment.task.id,
        attempt=assignment.attempt,
        base=base,
        commit=done.commit,
        tree=done.tree,
        family=outcome.family,
        summary=_summary(outcome),
        ignored=done.ignored,
        notices=done.notices,
        bill=outcome.bill,
    )


def _summary(outcome: AgentOutcome) -> str:
    said = (outcome.submission or {}).get("summary")
    return said[:_SUMMARY_CHARACTERS] if isinstance(said, str) else ""


def _agent(assignment: Assignment) -> AgentId:
    return AgentId(f"dev.{assignment.task.id}.{assignment.attempt}")


def _not_developed(
    assignment: Assignment,
    base: Commit | None,
    end: AgentEnd,
    detail: str,
    outcome: AgentOutcome | None = None,
) -> NotDeveloped:
    return NotDeveloped(
        task=assignment.task.id,
        attempt=assignment.attempt,
        end=end,
        detail=detail,
        base=base,
        checkpoint=outcome.checkpoint if outcome else None,
        bill=outcome.bill if outcome else Bill(),
    )
