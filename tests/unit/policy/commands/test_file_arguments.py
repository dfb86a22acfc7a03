"""Which files a command may write, against a second reckoning of where its path leads."""

import posixpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from activities.adapters.shell.bash_parser import parse
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing, ToolPolicy
from workflows.policy.commands.file_arguments import SCRATCH
from workflows.policy.commands.judgement import command_denial
from workflows.policy.commands.protection import is_protected
from workflows.policy.plan.claims import is_claimed

pytestmark = pytest.mark.fuzz

CLAIMS = ("src/**", "docs/*.md")
RULES = ToolPolicy(
    blocked_paths=("secret", "**/private.txt"),
    protected_paths=("src/base.py",),
    lift=("git-history",),
)
STANDING = Standing(role=Role.DEVELOPER, claims=CLAIMS, rules=RULES)

names = st.sampled_from(
    [
        "src", "docs", "a.py", "a.md", "base.py", "secret", "private.txt", "build", "..", ".", "",
        ".git", ".GIT", "hooks", "blueflame.yaml", ".github", "workflows", "x y", "-x",
        "workspace", "tmp", "$d", "é",
    ]
)  # fmt: skip
paths = st.tuples(
    st.sampled_from(["", "", "./", "/", "/workspace/", "/tmp/../workspace/"]),
    st.lists(names, min_size=1, max_size=4).map("/".join),
).map("".join)
WRITERS = (
    "echo x > {}", "echo x >> {}", "echo x >| {}", "ls &> {}", "touch -- {}", "rm -f -- {}",
    "tee -- {} < /dev/null", "tee -a -- /tmp/x {}", "truncate -s 0 -- {}", "sed -i s/a/b/ -- {}",
    "cat <<E > {}\nx\nE", "exec 3> {}", "dd if=/dev/null of={}", "shred -- /tmp/x {}",
)  # fmt: skip
FOLDER_WRITERS = (
    "mkdir -p -- {}", "rmdir -- {}", "cp -- /tmp/x {}", "mv -- /tmp/x {}", "ln -s -- /tmp/x {}",
    "chmod +x -- {}", "cp -t {} /tmp/x",
)  # fmt: skip
"""Of these only what is protected or blocked is asked: the path may be a folder's."""


def quoted(path: str, quote: str) -> str:
    """Put a path in quotes between which nothing is expanded."""
    return "'" + path + "'" if quote == "'" else '"' + path.replace("$", "\\$") + '"'


def ends_at(folders: list[str], path: str) -> str:
    """Compute where a path leads after `cd` to each of the folders in turn."""
    where = "/workspace"
    for step in [*folders, path]:
        where = posixpath.normpath(posixpath.join(where, step))
    return "/" + where.lstrip("/")


@given(
    folders=st.lists(paths.filter(lambda path: path[:1] not in {"", "-"}), max_size=2),
    path=paths.filter(bool),
    quote=st.sampled_from("'\""),
    writer=st.sampled_from((*WRITERS, *FOLDER_WRITERS)),
)
@example(folders=["src"], path="../blueflame.yaml", quote="'", writer=WRITERS[0])
@example(folders=["src", ".."], path=".GIT", quote='"', writer=WRITERS[4])
def test_what_may_be_written_is_claimed_and_not_protected(
    folders: list[str], path: str, quote: str, writer: str
):
    steps = [f"cd -- {quoted(folder, quote)}" for folder in folders]
    command = " && ".join([*steps, writer.replace("{}", quoted(path, quote))])
    if command_denial(command, STANDING, parse) is not None:
        return
    end = ends_at(folders, path)
    inside = end.removeprefix("/workspace").lstrip("/")
    if not end.startswith("/workspace/"):
        return
    assert not is_protected(inside, RULES), command
    assert not is_claimed(inside, RULES.blocked_paths), command
    if writer in WRITERS:
        assert is_claimed(inside, (*CLAIMS, *SCRATCH)), command


@given(
    path=paths.filter(bool),
    reader=st.sampled_from(["cat -- {}", "grep x {}", "wc < {}", "diff /tmp/x {}", "head -n 5 {}"]),
)
def test_what_is_blocked_is_not_read(path: str, reader: str):
    command = reader.replace("{}", quoted(path, "'"))
    inside = ends_at([], path).removeprefix("/workspace/")
    if is_claimed(inside, RULES.blocked_paths):
        assert command_denial(command, STANDING, parse) is not None
