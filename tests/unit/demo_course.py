"""Plays the demo's scenes on a folder with the real tools, outside of any workflow.

Commands run unconfined: they are the demo's own. Git is real, and used like a person would.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from activities.adapters.blob_store import MemoryStore
from activities.adapters.models.scripted.answer_choice import answer
from activities.adapters.models.scripted.playbook import Playbook
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.adapters.shell.bash_parser import parse
from activities.ports.sandbox_port import Workspace
from activities.toolset.call_judgement import judge_call, judge_write
from activities.toolset.tool_runner import Toolset
from activities.toolset.tool_schemas import sandbox_tools
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing
from workflows.domain.ids import TaskId
from workflows.domain.plan import Plan, Task
from workflows.domain.verdict import Evidence, Submission
from workflows.policy.agent import opening_messages
from workflows.policy.agent.turn_decisions import SUBMITTING
from workflows.policy.review.verdict_rules import read_submission

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "demo" / "repository"
PLAYBOOK = ROOT / "examples" / "demo" / "playbook.yaml"
Arguments = dict[str, JsonValue]


def git(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    author = ("-c", "user.name=Demo", "-c", "user.email=demo@example.invalid")
    argv = ("git", *author, *arguments)
    return subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True)


class Course:
    """One repository and what the scripted agents do in it."""

    def __init__(self, folder: Path, playbook: Playbook, plan: Plan) -> None:
        self._folder = folder
        self._playbook = playbook
        self._tasks = {task.id: task for task in plan.tasks}

    def task(self, task: str) -> Task:
        """Return a task of the plan."""
        return self._tasks[TaskId(task)]

    async def develop(self, task: str, attempt: int, start: str, notes: str = "") -> str:
        """Play one attempt from `start` and return the commit of its work."""
        self.git("checkout", "--detach", start)
        found = self.task(task)
        opening = opening_messages.developer(found, attempt, (), [notes] if notes else [], "0")
        await self.play(Role.DEVELOPER, opening, found.claims)
        self.git("add", "--all")
        self.git("commit", "--message", f"{task} {attempt}")
        return self.git("rev-parse", "HEAD").strip()

    async def review(self, task: str, attempt: int, commit: str) -> Submission:
        """Play the review of a commit."""
        self.git("checkout", "--detach", commit)
        diff = self.git("show", commit)
        opening = opening_messages.reviewer(
            self.task(task), attempt, opening_messages.Submitted(diff), "0"
        )
        submission = read_submission(await self.play(Role.REVIEWER, opening, ()))
        assert isinstance(submission, Submission), submission
        assert self.git("status", "--porcelain") == ""
        return submission

    async def play(self, role: Role, opening: str, claims: Sequence[str]) -> Arguments:
        """Play a conversation to its submission; every call on the way must succeed."""
        standing = Standing(role=role, claims=tuple(claims))
        toolset = Toolset(
            sandbox=UnconfinedSandbox(),
            blobs=MemoryStore(),
            workspace=Workspace(path=self._folder, writable=bool(claims)),
            tools=sandbox_tools(role),
            may_write=lambda path: judge_write(path, standing),
            judge=lambda call, folder: judge_call(call, standing, parse, folder),
        )
        said: list[Message] = [UserMessage(text=opening)]
        while True:
            spoken = answer(self._playbook, said)
            calls = tuple(
                ToolCall(id=f"{len(said)}.{n}", name=c.name, arguments=cast(Arguments, c.arguments))
                for n, c in enumerate(spoken.calls)
            )
            said.append(AssistantMessage(text=spoken.text, tool_calls=calls))
            if calls[-1].name == SUBMITTING[role]:
                return calls[-1].arguments
            results = [(await toolset.run_call(call)).result for call in calls]
            assert not [r.text for r in results if r.is_error]
            said.append(ToolMessage(results=tuple(results)))

    def merge(self, head: str, commit: str) -> str:
        """Merge a commit into a head, which must go without a conflict, and return the new head."""
        self.git("checkout", "--detach", head)
        self.git("merge", "--no-edit", commit)
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        done = git(self._folder, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stands(self, commit: str, evidence: Evidence) -> bool:
        """Tell whether a quote stands exactly at its lines; stricter than the product is."""
        lines = self.git("show", f"{commit}:{evidence.path}").splitlines()
        there = " ".join(" ".join(lines[evidence.line_start - 1 : evidence.line_end]).split())
        return " ".join(evidence.quote.split()) in there
