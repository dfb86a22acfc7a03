import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from activities.adapters.models.dialects.neutral_messages import tool_call
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.blob_store_port import BlobMissingError
from activities.ports.sandbox_port import Limits, Workspace
from activities.toolset.tool_runner import Observation, Toolset
from workflows.domain.agent.messages import ToolCall
from workflows.domain.ids import Digest

Call = Callable[..., Awaitable[Observation]]


class Blobs:
    """A store in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[Digest, bytes] = {}

    async def put(self, data: bytes) -> Digest:
        digest = Digest(hashlib.sha256(data).hexdigest())
        self.kept[digest] = data
        return digest

    async def get(self, digest: Digest) -> bytes:
        if digest not in self.kept:
            raise BlobMissingError(digest)
        return self.kept[digest]


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def all_files(tree: Path) -> list[str]:
    return [str(each.relative_to(tree)) for each in tree.rglob("*") if each.is_file()]


def only_free(path: str) -> str | None:
    return None if path.startswith("free/") else "the task's claims are: free/**"


@pytest.fixture
def toolset(tree: Path, blobs: Blobs) -> Toolset:
    return Toolset(
        sandbox=BubblewrapSandbox(),
        blobs=blobs,
        workspace=Workspace(path=tree),
        tools=("bash", "read", "edit", "write", "apply_patch"),
        limits=Limits(timeout=timedelta(minutes=2)),
        may_write=only_free,
    )


@pytest.fixture
def call(toolset: Toolset) -> Call:
    async def run(name: str, **arguments: JsonValue) -> Observation:
        observation = await toolset.run_call(ToolCall(id="1", name=name, arguments=arguments))
        observation.model_dump_json()
        return observation

    return run


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("true", "(no output)\n[exit code 0]"),
        ("exit 300", "(no output)\n[exit code 44]"),
        ("set -e; false; echo no", "(no output)\n[exit code 1]"),
        ("false | tail -1", "(no output)\n[exit code 0; pipe members: 1, 0]"),
        ("false | true; exit 7", "(no output)\n[exit code 7]"),
        (
            "false | tail -1; echo done",
            "done\n[exit code 0; with a pipe 0 is only the last member's code]",
        ),
        ("false || echo or", "or\n[exit code 0]"),
        ("kill -SEGV $$", "(no output)\n[ended by signal 11 (SIGSEGV)]"),
        ("kill -KILL $$", "(no output)\n[ended by signal 9 (SIGKILL)]"),
        ("(sleep 600 &) ; echo up", "up\n[exit code 0]\n[1 process left, ended]"),
        ("printf 'no newline'", "no newline\n[exit code 0]"),
        ("# a comment\necho $0 $# $BASH_SUBSHELL", "bash 0 0\n[exit code 0]"),
        ("exec >out; echo hidden", "(no output)\n[exit code 0]"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye\n[exit code 0]"),
        ("cat <<X\nhere\nX", "here\n[exit code 0]"),
        ("printf '\\e[31mred\\e[0m\\n'", "red\n[exit code 0]"),
    ],
)
async def test_how_a_command_ended_is_said(call: Call, command: str, text: str):
    """Field report R35."""
    assert (await call("bash", command=command)).result.text == text


@pytest.mark.parametrize(
    ("command", "is_failed"),
    [
        ("true", False),
        ("exit 1", True),
        ("kill -9 $$", True),
        ("false | tail -1", True),
        ("seq 99999 | head -1", False),
        ("false || true", False),
    ],
)
async def test_a_command_failed_if_a_part_of_it_did(call: Call, command: str, is_failed: bool):
    """Field report G01: a submission beside it does not count."""
    assert (await call("bash", command=command)).is_failed is is_failed


async def test_what_a_model_asks_wrongly_breaks_no_tool(call: Call):
    """A tool that fails too often lets agents wait: that must not come of a model's mistakes."""
    for arguments in ({"path": "not/there"}, {"path": "../outside"}):
        seen = await call("read", **arguments)
        assert (seen.is_failed, seen.is_broken) == (True, False)
    assert not (await call("bash", command="exit 1")).is_broken
    assert (await call("bash", command="sleep 600", timeout_s=1)).is_broken


async def test_the_folder_lasts_from_call_to_call_and_variables_do_not(
    toolset: Toolset, tree: Path
):
    """Field report G02."""
    (tree / "pkg").mkdir()
    for folder in (tree, tree / "pkg"):
        (folder / "conf.ini").write_text("a = 1\n")
    first = await toolset.run_call(tool_call("1", "bash", {"command": "cd pkg && export A=1"}))
    assert first.folder == "pkg"
    assert first.result.text == "(no output)\n[exit code 0]\n[folder: pkg]"
    edit = {"command": "sed -i s/1/2/ conf.ini; echo A=$A"}
    second = await toolset.run_call(tool_call("2", "bash", edit), "pkg")
    assert second.result.text == "A=\n[exit code 0]\n[folder: pkg]"
    assert (tree / "pkg/conf.ini").read_text() == "a = 2\n"
    assert (tree / "conf.ini").read_text() == "a = 1\n"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("", "true", ""), "[exit code 0]"),
        (("a b", "cd ..", ""), "[exit code 0]"),
        (("a b", "cd 'c'; exit 3", "a b/c"), "[exit code 3]\n[folder: a b/c]"),
        (("a b", "kill -9 $$", "a b"), "[folder: a b]"),
        (("a b", "cd /tmp", "a b"), "['/tmp' is outside the workspace: the next command starts in"),
        (("gone", "touch ran", ""), "the folder 'gone', in which your last command ended, is gone"),
        (("a b", "cd link && pwd", "a b/c"), "/workspace/a b/link"),
    ],
)
async def test_where_the_next_command_starts(
    toolset: Toolset, tree: Path, steps: tuple[str, str, str], words: str
):
    folder, command, after = steps
    (tree / "a b/c").mkdir(parents=True)
    (tree / "a b/link").symlink_to("c")
    seen = await toolset.run_call(tool_call("1", "bash", {"command": command}), folder)
    assert seen.folder == after
    assert words in seen.result.text
    assert not (tree / "ran").exists()


async def test_a_command_longer_than_an_argument_runs(call: Call, tree: Path):
    """Field report G08: a here-document of 140,000 characters."""
    text = "0123456789\n" * 14_000
    seen = await call("bash", command=f"cat >big.txt <<'EOF'\n{text}EOF\ncat; cat $0 | wc -l")
    assert (tree / "big.txt").read_text() == text
    assert not seen.result.is_error


TYPED = "*** Begin Patch\n*** Add File: a.txt\n+one $HOME\n*** End Patch\n"


@pytest.mark.parametrize(
    ("command", "folder", "path"),
    [
        (f"apply_patch <<'EOF'\n{TYPED}EOF", "", "free/a.txt"),
        (f"applypatch <<EOF\n{TYPED}EOF\n", "free", "free/a.txt"),
        (f"cd free && apply_patch <<'X'\n{TYPED}X", "", "free/a.txt"),
        (f"cd /workspace/free\napply_patch <<'X'\n{TYPED}X", "lib", "free/a.txt"),
        (f"apply_patch '{TYPED}'", "free/b", "free/b/a.txt"),
        (f"apply_patch <<'EOF'\n{TYPED}EOF", "lib", None),
    ],
)
async def test_a_patch_typed_in_bash_is_applied_under_the_same_rules(
    toolset: Toolset, tree: Path, command: str, folder: str, path: str | None
):
    """Field report G04."""
    if not folder and "cd" not in command:
        command = command.replace("a.txt", "free/a.txt")
    seen = await toolset.run_call(tool_call("1", "bash", {"command": command}), folder)
    assert all_files(tree) == ([path] if path else [])
    assert seen.is_failed is (path is None)
    if path:
        assert (tree / path).read_text() == "one $HOME\n"


async def test_a_patch_within_a_longer_command_is_answered_with_what_works(call: Call):
    seen = await call("bash", command=f"true; apply_patch <<'EOF' || true\n{TYPED}EOF")
    assert "`apply_patch` works in bash only as the whole command" in seen.result.text


async def test_a_nul_character_in_a_command_is_told(call: Call):
    assert "holds a NUL character" in (await call("bash", command="echo a\0b")).result.text


async def test_a_limit_on_length_is_told(call: Call):
    seen = await call("bash", command="echo " + "x" * 1_000_000)
    assert "has 1000005 bytes, at most 1000000 are possible" in seen.result.text
    assert seen.is_failed


async def test_two_left_processes_are_counted(call: Call):
    text = (await call("bash", command="sleep 600 & sleep 600 & echo up")).result.text
    assert text.endswith("[2 processes left, ended]")


async def test_a_syntax_error_names_its_own_line(call: Call):
    text = (await call("bash", command="echo 1\nif; then")).result.text
    assert "line 2: syntax error" in text


async def test_a_time_out_keeps_the_output_and_advises(call: Call):
    """Field report R32."""
    for seconds in (1, 4, 16):  # a busy machine needs longer until it begins
        observation = await call("bash", command="echo started; sleep 600", timeout_s=seconds)
        if "(no output)" not in observation.result.text:
            break
    assert observation.result.is_error
    assert observation.result.text.startswith(
        f"started\n[did not finish: ended after {seconds} s, its limit."
    )
    assert "timeout_s (at most 120)" in observation.result.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asked", [None, 1, 600])
async def test_no_call_gets_more_than_the_sessions_limit(toolset: Toolset, asked: int | None):
    short = replace(toolset, limits=Limits(timeout=timedelta(seconds=1)))
    arguments: dict[str, JsonValue] = {"command": "sleep 600", "timeout_s": asked}
    observation = await short.run_call(ToolCall(id="1", name="bash", arguments=arguments))
    assert "ended after 1 s, its limit. Run a smaller part. " in observation.result.text


async def test_a_call_after_the_batchs_time_is_answered_and_not_run(toolset: Toolset, tree: Path):
    late = replace(toolset, time_left=timedelta)
    arguments: dict[str, JsonValue] = {"path": "free/x", "content": "y"}
    result = (await late.run_call(ToolCall(id="1", name="write", arguments=arguments))).result
    assert result.is_error
    assert result.text.startswith("Not run, because the time that the calls of one turn have")
    assert not names_in(tree)


async def test_a_command_gets_no_more_than_the_batch_has_left(toolset: Toolset):
    nearly = replace(toolset, time_left=lambda: timedelta(seconds=1))
    call = ToolCall(id="1", name="bash", arguments={"command": "sleep 600"})
    assert "ended after 1 s, its limit" in (await nearly.run_call(call)).result.text


async def test_memory_is_named_as_the_cause(toolset: Toolset):
    limits = Limits(memory_bytes=100 << 20)
    small = replace(toolset, tools=("bash",), limits=limits, may_write=None)
    script = "python3 -c 'import time; x=bytearray(b\"1\"*300*10**6); time.sleep(600)'"
    call = ToolCall(id="1", name="bash", arguments={"command": script})
    observation = await small.run_call(call)
    assert "[did not finish: ended at more than 100 MiB of memory]" in observation.result.text


async def test_long_output_is_cut_and_kept_whole(call: Call, blobs: Blobs):
    observation = await call("bash", command="python3 -c \"print('😀'*200000)\"")
    text = observation.result.text
    assert "\ufffd" not in text
    assert len(text) < 10_400
    assert observation.whole is not None
    assert observation.whole in text
    assert await blobs.get(observation.whole) == ("😀" * 200_000 + "\n").encode()


async def test_the_middle_of_a_cut_output_can_be_read(call: Call):
    cut = (await call("bash", command="seq -f 'line %g' 100000")).result.text
    assert "line 50000\n" not in cut
    (handle,) = re.findall(r"read with path '(output:[0-9a-f]{64})'", cut)
    result = (await call("read", path=handle, offset=50_000, limit=2)).result
    assert result.text == (
        " 50000\tline 50000\n 50001\tline 50001\n"
        "(lines 50000 to 50001 of 100000; go on with offset 50002)"
    )


@pytest.mark.parametrize("path", [f"output:{'0' * 64}", "output:12", "output:../../etc/passwd"])
async def test_an_output_that_is_not_kept_is_told(call: Call, path: str):
    result = (await call("read", path=path)).result
    assert result.is_error
    assert "is not a stored output" in result.text or "does not exist" in result.text


async def test_short_output_is_not_stored(call: Call, blobs: Blobs):
    assert (await call("bash", command="echo short")).whole is None
    assert not blobs.kept


async def test_half_an_emoji_is_replaced_and_the_call_goes_on(call: Call, tree: Path):
    await call("write", path="free/e.txt", content="ok \ud83d end")
    assert (tree / "free" / "e.txt").read_text() == "ok \ufffd end"
    assert "ok \ufffd end" in (await call("read", path="free/e.txt")).result.text


async def test_an_unknown_tool_is_answered_with_those_there_are(call: Call):
    """Field report R42."""
    result = (await call("browser", url="x")).result
    assert (result.is_error, result.text) == (
        True,
        "There is no tool 'browser' here. Tools: bash, read, edit, write, apply_patch.",
    )


async def test_a_wrong_type_is_refused_before_anything_runs(call: Call, tree: Path):
    (tree / "a").write_text("x x")
    result = (await call("edit", path="a", old="x", new="y", replace_all="false")).result
    assert "- replace_all: Input should be a valid boolean (given: 'false')" in result.text
    assert (tree / "a").read_text() == "x x"


@pytest.mark.parametrize("name", ["bash", "submit", "submit_plan", "submit_verdict"])
async def test_malformed_arguments_are_told(toolset: Toolset, name: str):
    call = ToolCall(id="1", name=name, arguments={}, malformed="[]")
    result = (await toolset.run_call(call)).result
    assert result.text == (
        f"{name}: not run: the arguments are not a JSON object: they cannot be parsed. "
        "Send the call again, with its arguments as one JSON object."
    )


NESTED = '{"command": ' + "[" * 60 + "]" * 60 + "}"


@pytest.mark.parametrize(
    ("name", "sent", "says"),
    [
        ("bash", "null", "the arguments are not a JSON object: they are "),
        ("bash", "[]", "the arguments are not a JSON object: they are "),
        ("bash", '"{}"', "the arguments are not a JSON object: they are "),
        ("bash", "{}", "- command: Field required."),
        ("bash", NESTED, "- command: Input should be a valid string"),
        ("bash", '{"command": "touch free/x", "timeout_s": "10"}', "- timeout_s: Input should be"),
        ("read", '{"path": ["a"]}', "- path: Input should be a valid string (given: ['a'])."),
        ("read", '{"path": "a", "encoding": "x"}', "- encoding: there is no such field."),
        ("apply_patch", '{"patch": "x"}', "- input: Field required."),
        ("browser", '{"url": "x"}', "There is no tool 'browser' here. Tools: bash, read, "),
    ],
)
async def test_wrong_arguments_are_told_and_run_nothing(
    toolset: Toolset, tree: Path, name: str, sent: str, says: str
):
    """Field report R42."""
    result = (await toolset.run_call(tool_call("1", name, sent))).result
    assert result.is_error
    assert says in result.text
    assert len(result.text) < 1_000
    assert not names_in(tree)


@pytest.mark.parametrize("path", ["other/x", "./other/x", "/workspace/other/x", "free/../other/x"])
async def test_a_path_outside_the_claims_is_denied_with_the_rule(call: Call, tree: Path, path: str):
    result = (await call("write", path=path, content="x")).result
    assert result.is_error
    assert result.text == "'other/x' may not be written: the task's claims are: free/**"
    assert not names_in(tree)


async def test_claims_are_judged_on_where_links_lead(call: Call, tree: Path):
    (tree / "protected").mkdir()
    (tree / "free").symlink_to("protected")
    result = (await call("write", path="free/x", content="x")).result
    assert result.text == "'protected/x' may not be written: the task's claims are: free/**"
    assert not (tree / "protected" / "x").exists()


async def test_an_allowed_link_is_followed(toolset: Toolset, tree: Path):
    (tree / "AGENTS.md").write_text("a\n")
    (tree / "CLAUDE.md").symlink_to("AGENTS.md")
    free = Toolset(toolset.sandbox, toolset.blobs, toolset.workspace, ("edit",))
    arguments: dict[str, JsonValue] = {"path": "CLAUDE.md", "old": "a", "new": "b"}
    observation = await free.run_call(ToolCall(id="1", name="edit", arguments=arguments))
    assert not observation.result.is_error
    assert (tree / "AGENTS.md").read_text() == "b\n"
    assert (tree / "CLAUDE.md").is_symlink()


async def test_a_read_only_workspace_answers_as_such(toolset: Toolset, tree: Path):
    (tree / "a").write_text("x")
    closed = toolset.workspace.model_copy(update={"writable": False})
    reader = Toolset(toolset.sandbox, toolset.blobs, closed, ("write",))
    call = ToolCall(id="1", name="write", arguments={"path": "a", "content": "y"})
    assert "Read-only file system" in (await reader.run_call(call)).result.text
    assert (tree / "a").read_text() == "x"


async def test_calls_may_be_cancelled(call: Call):
    task = asyncio.ensure_future(call("bash", command="sleep 600"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


PATCH = """*** Begin Patch
*** Update File: free/a.py
@@ def f():
-    return 1
+    return 2
*** Add File: {added}
+new
*** End Patch"""


async def test_a_patch_changes_several_files(call: Call, tree: Path):
    (tree / "free").mkdir()
    (tree / "free" / "a.py").write_text("def f():\n    return 1\n")
    result = (await call("apply_patch", input=PATCH.format(added="free/b/c.txt"))).result
    assert (result.is_error, result.text) == (
        False,
        "Updated free/a.py.\nAdded free/b/c.txt.",
    )
    assert (tree / "free" / "a.py").read_text() == "def f():\n    return 2\n"
    assert (tree / "free" / "b" / "c.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (PATCH.format(added="other/x"), "'other/x' may not be written: the task's claims are: "),
        (PATCH.format(added="free/out/x"), "'other/x' may not be written: the task's claims are: "),
        (PATCH.format(added="free/../other/x"), "'other/x' may not be written"),
        (PATCH.replace("    return 1", "    return 3").format(added="free/b"), "Hunk 1 of 'free/a"),
        (PATCH.partition("*** End")[0], "The patch cannot be read: the patch ends too early"),
    ],
)
async def test_a_patch_is_carried_out_whole_or_not_at_all(
    call: Call, tree: Path, patch: str, says: str
):
    (tree / "free").mkdir()
    (tree / "other").mkdir()
    (tree / "free" / "out").symlink_to("../other")
    (tree / "free" / "a.py").write_text("def f():\n    return 1\n")
    result = (await call("apply_patch", input=patch)).result
    assert result.is_error
    assert says in result.text
    assert (tree / "free" / "a.py").read_text() == "def f():\n    return 1\n"
    assert names_in(tree / "free") in (["a.py", "out"], ["out", "a.py"])
    assert not names_in(tree / "other")


async def test_the_file_tools_import_nothing_from_the_workspace(call: Call, tree: Path):
    for name in ("stat.py", "marshal.py", "os.py", "activities.py"):
        (tree / name).write_text("raise SystemExit('imported from the workspace')")
    (tree / "f").write_text("ü\n")
    assert (await call("read", path="f")).result.text == "     1\tü"


async def test_an_image_is_refused_in_words(call: Call, tree: Path):
    (tree / "a.png").write_bytes(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4) + (480).to_bytes(4)
    )
    result = (await call("read", path="a.png")).result
    assert result.is_error
    assert result.text.startswith(
        "'/workspace/a.png' is an image (PNG, 640 × 480 pixels, 24 bytes): no tool here shows"
    )
