"""What a tool's arguments mean for the policy, and that a denied call stops alone."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.shell.bash_parser import parse
from activities.ports.sandbox_port import Workspace
from activities.toolset.call_judgement import judge_call, judge_write
from activities.toolset.tool_runner import Toolset
from activities.toolset.tool_schemas import Bash, Edit, Read, SandboxCall, Write
from tests.unit.activities.toolset.test_tool_runner import Blobs
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing, ToolPolicy

EXAMPLES = Path(__file__).parents[4] / "examples"
RULES = ToolPolicy(
    reviewer_tools=("read",), blocked_paths=("secret",), read_paths=("src/**", "secret/**")
)
DEVELOPER = Standing(role=Role.DEVELOPER, claims=("src/**",), rules=RULES)
REVIEWER = Standing(role=Role.REVIEWER, claims=(), rules=RULES)


@pytest.mark.parametrize(
    ("call", "standing", "rule"),
    [
        (Bash(command="ls"), DEVELOPER, None),
        (Bash(command="ls"), REVIEWER, "tools"),
        (Bash(command="git push"), DEVELOPER, "git-remote"),
        (Write(path="src/a", content=""), DEVELOPER, None),
        (Edit(path="src/a", old="a", new="b"), DEVELOPER, None),
        (Write(path="src/a", content=""), REVIEWER, "tools"),
        (Read(path="src/a.py"), REVIEWER, None),
        (Read(path="."), REVIEWER, None),
        (Read(path="src/../secret/key"), REVIEWER, "blocked"),
        (Read(path="/workspace/secret/key"), DEVELOPER, "blocked"),
        (Read(path="//workspace/secret/key"), DEVELOPER, "blocked"),
        (Read(path="docs/a.md"), DEVELOPER, "read-paths"),
        (Read(path="/etc/hosts"), DEVELOPER, None),
    ],
)
def test_each_tool_is_judged_by_its_arguments(
    call: SandboxCall, standing: Standing, rule: str | None
):
    said = judge_call(call, standing, parse)
    assert (said.split("'")[1] if said else None) == rule


@pytest.mark.parametrize("name", ["demo", "real_run"])
def test_every_command_of_the_shipped_playbooks_runs(name: str):
    playbook = YAML(typ="safe").load((EXAMPLES / name / "playbook.yaml").read_text("utf-8"))
    calls = [
        call
        for scene in playbook["scenes"]
        for turn in scene["turns"]
        for call in turn.get("calls", [])
    ]
    commands = [call["bash"]["command"] for call in calls if "bash" in call]
    assert commands
    worker = Standing(role=Role.DEVELOPER, claims=("**",))
    denied = {c: judge_call(Bash(command=c), worker, parse) for c in commands}
    assert denied == dict.fromkeys(commands)


def test_a_write_is_judged_as_what_it_resolves_to():
    assert judge_write("src/a", DEVELOPER) is None
    said = judge_write("lib/a", DEVELOPER)
    assert said is not None
    assert said.startswith("Denied by rule 'claims': 'lib/a' is outside this task's claims")
    assert judge_write("src/a", REVIEWER) is not None


@pytest.mark.sandbox
async def test_a_denied_call_runs_nothing_and_takes_no_other_along(tmp_path: Path):
    """Field report R37."""
    toolset = Toolset(
        sandbox=BubblewrapSandbox(),
        blobs=Blobs(),
        workspace=Workspace(path=tmp_path),
        tools=("bash", "read", "edit", "write"),
        may_write=lambda path: judge_write(path, DEVELOPER),
        judge=lambda call, folder: judge_call(call, DEVELOPER, parse, folder),
    )
    (tmp_path / "src").mkdir()
    commands = ["echo a > src/a", "echo b > src/b; git push", "echo c > src/c"]
    calls = [ToolCall(id=c, name="bash", arguments={"command": c}) for c in commands]
    seen = [(await toolset.run_call(call)).result for call in calls]
    assert [each.is_error for each in seen] == [False, True, False]
    assert seen[1].text.startswith("Denied by rule 'git-remote': 'git push': ")
    assert "Allowed: " in seen[1].text
    assert sorted(path.name for path in (tmp_path / "src").iterdir()) == ["a", "c"]
