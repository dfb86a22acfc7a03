"""The commits of a task's submitted work, on its base: one, or one for each turn.

A turn that would be refused by the check of the diff has no commit of its own: what it wrote is in
the next one, so that nothing is kept that a later turn took back, such as a key.
"""

from collections.abc import AsyncGenerator, Sequence

from activities.ports.merge_values import TaskCommit
from activities.repository.diff_check import check_diff
from activities.repository.host_data import Host, checkpoint_ref
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.evolution import evolve
from workflows.domain.ids import Commit, Tree
from workflows.policy.delivery.commit_convention import READ, convention_of, subject
from workflows.policy.delivery.commit_message import shortened, task_message


class TaskCommits:
    """The commits of one submission; the same request makes the same ones again."""

    def __init__(self, host: Host, request: FinishTask) -> None:
        self._host = host
        self._request = request

    async def message(self, paths: Sequence[str]) -> str:
        """Return the message of the task's commit, in the convention of its repository.

        Args:
            paths: the changed files.
        """
        request = self._request
        if (words := request.words) is None:
            return shortened(request.title)
        history = self._host.history(request.worktree.repository)
        past = await history.past_subjects(request.base, 4 * READ)
        persons = [each.subject for each in past if not each.session]
        named = f"{words.goal} {request.task_text}"
        line = subject(convention_of(persons), request.title, words.kind, paths, named)
        return task_message(line, words.summary, words.criteria)

    async def make(self, message: str) -> Commit:
        """Make the commits and return the last one.

        Args:
            message: of the last one.
        """
        request, base = self._request, self._request.base
        tree = await self._tree(request.checkpoint)
        if request.keeps_turns:
            async for turn, kept in self._turns(tree):
                text = f"{message.partition(chr(10))[0]} (turn {turn})"
                base = await self._made(base, kept, text, ("Blueflame-Turn", str(turn)))
        return await self._made(base, tree, message, ("Blueflame-Attempt", str(request.attempt)))

    async def _turns(self, last: Tree) -> AsyncGenerator[tuple[int, Tree]]:
        """Yield the turns that changed files and may be kept, the oldest first.

        Args:
            last: the tree of the whole work, which has its own commit.
        """
        request = self._request
        worktrees = self._host.worktrees(request.worktree.repository)
        recorded = await worktrees.recorded_turns(
            checkpoint_ref(request.worktree), request.worktree.session, request.task
        )
        before = await self._tree(request.base)
        for each in reversed(recorded.turns if recorded else ()):
            tree = await self._tree(each.commit)
            if tree in {before, last}:
                continue
            commits = self._host.commits(request.worktree.repository)
            alone = evolve(request, {"checkpoint": each.commit})
            if not (await check_diff(commits, alone, ())).violations:
                yield each.turn, tree
                before = tree

    async def _tree(self, commit: Commit) -> Tree:
        return await self._host.commits(self._request.worktree.repository).tree_of(commit)

    async def _made(self, base: Commit, tree: Tree, message: str, last: tuple[str, str]) -> Commit:
        request = self._request
        trailers = (
            ("Blueflame-Session", str(request.worktree.session)),
            ("Blueflame-Task", str(request.task)),
            last,
        )
        commit = TaskCommit(
            base=base, tree=tree, message=message, trailers=trailers, when=request.at
        )
        return await self._host.history(request.worktree.repository).squash(commit)
