"""What went wrong for people who let agents work on real repositories, each as it would begin.

One agent's turns through the real activities: what the model is told, what is collected and merged.
"""

from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.user_repository import FastForwardRequest, Landed
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.situations import SetUp, Situation, bash
from workflows.contracts.host_contracts import TaskCommitted, WorkRefused
from workflows.contracts.merging_contracts import MergedCommits
from workflows.domain.repository import CopiedFile

pytestmark = pytest.mark.sandbox


@pytest.fixture
def situation(tmp_path: Path) -> Situation:
    return Situation(tmp_path, BubblewrapSandbox())


def plain(home: Home) -> None:
    home.make({"README.md": "x\n", ".gitignore": "gen/\n.env.test\n"})


@pytest.mark.parametrize(
    "left",
    [
        "(sleep 600 &) ; echo up",
        "nohup setsid python3 -m http.server 0 >/dev/null 2>&1 & echo up",
    ],
)
async def test_r11_a_background_process_holds_up_neither_the_turn_nor_the_next_one(
    situation: Situation, left: str
):
    (agent,) = await situation.begin(plain, "a")
    (first,) = await agent.turn(bash(left))
    assert first == "up\n[exit code 0]\n[1 process left, ended]"
    assert await agent.turn(bash("echo next")) == ("next\n[exit code 0]",)


async def test_r11_a_gate_that_leaves_a_process_returns_with_its_own_code(situation: Situation):
    await situation.begin(plain)
    for _ in range(2):
        result = await situation.gate(situation.home.base, "sh", "-c", "sleep 600 & exit 0")
        assert (result.result, result.exit_code) == ("passed", 0)
        assert result.excerpt == "[1 process left, ended]"


async def test_r24_an_ignored_file_that_was_named_is_there_for_agent_baseline_and_gate(
    situation: Situation,
):
    content = await situation.store(b"A=1\n")
    copied = (CopiedFile(path=".env.test", content=content, executable=False),)
    (agent,) = await situation.begin(plain, "a", copied=copied)
    assert await agent.turn(bash("cat .env.test")) == ("A=1\n[exit code 0]",)
    await agent.turn(("write", {"path": "b.txt", "content": "x\n"}))
    work = await agent.commit()
    assert ".env.test" not in situation.home.tree(work)
    gate = ("test", "-f", ".env.test")
    for commit in (situation.home.base, work):
        assert (await situation.gate(commit, *gate, copied=copied)).result == "passed"
        assert (await situation.gate(commit, *gate)).result == "failed"


async def test_g56_a_file_ignored_by_the_persons_excludes_is_copied_and_not_committed(
    situation: Situation,
):
    await situation.begin(plain)
    home = situation.home.path
    (home / ".git/info").mkdir(exist_ok=True)
    (home / ".git/info/exclude").write_text("/local/\n")
    (home / "local/deep").mkdir(parents=True)
    (home / "local/deep/values").write_text("v\n")
    (home / "local/link").symlink_to("deep/values")
    (home / "local/run").write_text("#!/bin/sh\necho ran\n")
    (home / "local/run").chmod(0o755)
    base, _ = await situation.known("local")
    agent = await situation.again("a", base.commit, copied=base.copied)
    assert await agent.turn(bash("local/run; cat local/link; git status --short")) == (
        "ran\nv\n[exit code 0]",
    )
    await agent.turn(("write", {"path": "b.txt", "content": "x\n"}))
    done = await agent.submit()
    assert isinstance(done, TaskCommitted)
    assert done.paths == ("b.txt",)
    assert done.ignored == (), "what was copied is not the agent's"
    gate = ("sh", "-c", "local/run && test -L local/link")
    passed = await situation.gate(done.commit, *gate, copied=base.copied)
    assert passed.result == "passed"


async def test_g55_only_the_agents_own_ignored_files_are_reported(situation: Situation):
    content = await situation.store(b"A=1\n")
    copied = (CopiedFile(path=".env.test", content=content, executable=False),)
    made = SetUp((("sh", "-c", "mkdir gen && echo x >gen/made"),))
    (agent,) = await situation.begin(plain, "a", copied=copied, set_up=made)
    await agent.turn(bash("cat gen/made; echo y >gen/mine; echo A=2 >.env.test"))
    await agent.turn(("write", {"path": "b.txt", "content": "x\n"}))
    done = await agent.submit()
    assert isinstance(done, TaskCommitted)
    assert done.ignored == ()


async def test_r24_work_only_in_ignored_folders_is_empty_and_names_them(situation: Situation):
    (agent,) = await situation.begin(plain, "a")
    await agent.turn(("write", {"path": "gen/out.py", "content": "x=1\n"}))
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert done.reason == "empty"
    assert [each.text for each in done.findings] == [
        "nothing was changed outside ignored paths: gen/"
    ]


@pytest.mark.parametrize("calls", [(), (bash("ls"),)], ids=["nothing", "only looked"])
async def test_r40_a_submission_without_a_difference_is_empty_work(
    situation: Situation, calls: tuple[tuple[str, dict[str, str]], ...]
):
    (agent,) = await situation.begin(plain, "a")
    if calls:
        await agent.turn(*calls)
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert (done.reason, [each.text for each in done.findings]) == (
        "empty",
        ["nothing was changed"],
    )


def with_scripts(home: Home) -> None:
    home.make({"go.sh": "echo a\n", "old.sh": "echo old\n"})
    (home.path / "old.sh").chmod(0o755)
    home.run("update-index", "--chmod=+x", "old.sh")
    home.run("config", "core.fileMode", "false")
    home.commit({})


async def test_r27_an_executable_bit_is_kept_by_edit_write_and_patch(situation: Situation):
    (agent,) = await situation.begin(with_scripts, "a")
    await agent.turn(
        ("write", {"path": "new.sh", "content": "echo 1\n"}), bash("chmod +x new.sh go.sh")
    )
    await agent.turn(
        ("edit", {"path": "new.sh", "old": "1", "new": "2"}),
        ("write", {"path": "go.sh", "content": "echo b\n"}),
        (
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Update File: old.sh\n*** Move to: bin/old.sh\n"
                "-echo old\n+echo older\n*** End Patch"
            },
        ),
    )
    work = await agent.commit()
    assert situation.home.tree(work) == dict.fromkeys(("bin/old.sh", "go.sh", "new.sh"), "100755")
    assert situation.home.of_host("show", f"{work}:new.sh") == "echo 2"


async def test_r27_a_change_of_mode_alone_is_work_and_merges_with_a_change_of_content(
    situation: Situation,
):
    content, mode, other = await situation.begin(with_scripts, "content", "mode", "other")
    await content.turn(("edit", {"path": "go.sh", "old": "a", "new": "b"}))
    await mode.turn(bash("chmod +x go.sh"))
    await other.turn(bash("chmod -x old.sh"))
    commits = [await agent.commit() for agent in (content, mode, other)]
    merged = await situation.merge(*commits)
    assert isinstance(merged, MergedCommits)
    assert situation.home.tree(merged.commit) == {"go.sh": "100755", "old.sh": "100644"}
    assert situation.home.of_host("show", f"{merged.commit}:go.sh") == "echo b"
    shown = await situation.home.host.diff(situation.home.base, commits[1])
    assert b"old mode 100644\nnew mode 100755\n" in shown
    assert isinstance(await situation.home.land(merged.commit), Landed)
    forward = FastForwardRequest(
        path=situation.home.path, branch="main", old=situation.home.base, new=merged.commit
    )
    assert isinstance(await situation.home.user.fast_forward(forward), Landed)
    staged = situation.home.run("ls-files", "--format=%(objectmode) %(path)").splitlines()
    assert staged == ["100755 go.sh", "100644 old.sh"]


def with_links(home: Home) -> None:
    home.make({"AGENTS.md": "a\n", "protected/x": "x\n"})
    (home.path / "CLAUDE.md").symlink_to("AGENTS.md")
    (home.path / "free").symlink_to("protected/")
    home.commit({})


async def test_r29_a_link_inside_stays_a_link_and_its_target_is_changed(situation: Situation):
    (agent,) = await situation.begin(with_links, "a")
    await agent.turn(("edit", {"path": "CLAUDE.md", "old": "a", "new": "b"}))
    work = await agent.commit()
    assert situation.home.tree(work)["CLAUDE.md"] == "120000"
    assert situation.home.of_host("show", f"{work}:AGENTS.md") == "b"


@pytest.mark.parametrize(
    "link", ['python3 -c \'import os; os.symlink("/etc", "d"); os.symlink("../../..", "up")\'']
)
async def test_r29_a_link_that_leads_outside_is_neither_followed_nor_collected(
    situation: Situation, link: str
):
    (agent,) = await situation.begin(with_links, "a")
    patch = "*** Begin Patch\n*** Add File: d/x\n+x\n*** End Patch"
    seen = await agent.turn(
        bash(link),
        ("write", {"path": "d/x", "content": "x"}),
        ("write", {"path": "up/x", "content": "x"}),
        ("apply_patch", {"input": patch}),
        ("write", {"path": "good", "content": "x\n"}),
    )
    for text in seen[1:4]:
        assert "Rule: links that leave the workspace are not followed." in text
    assert "[not collected, so not part of your work:\nd: " in seen[4]
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert done.reason == "violation"
    assert [each.path for each in done.findings] == ["d", "up"]


async def test_r29_claims_are_judged_on_where_a_tracked_link_leads(situation: Situation):
    (agent,) = await situation.begin(with_links, "a", claims=("free/**", "free"))
    patch = "*** Begin Patch\n*** Update File: free/x\n-x\n+y\n*** End Patch"
    seen = await agent.turn(
        ("write", {"path": "free/x", "content": "y\n"}),
        ("edit", {"path": "free/x", "old": "x", "new": "y"}),
        ("apply_patch", {"input": patch}),
    )
    for text in seen:
        assert text.startswith("'protected/x' may not be written: Denied by rule 'claims': ")
    assert (agent.path / "protected" / "x").read_text() == "x\n"


async def test_r32_what_wants_a_person_returns_by_itself(situation: Situation):
    (agent,) = await situation.begin(plain, "a")
    commands = (
        *("git log", "git commit --amend", "git rebase -i HEAD~1", "cat", "python3", "npm init"),
        *("read x < /dev/tty", "sudo -k true", "ssh nowhere.invalid", "vi a", "less README.md"),
    )
    seen = await agent.turn(*(bash(command) for command in commands))
    ended = dict(zip(commands, seen, strict=True))
    for command, text in ended.items():
        assert "[exit code" in text or "Denied by rule" in text, command


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "made", "word", "after"),
    [
        ("mix", r"a\r\nb\nc\r\n", "b", b"a\r\nnew\nc\r\n"),
        ("l1", r"caf\351 x\n", "x", b"caf\xe9 new\n"),
        ("bom", r"\357\273\277k=1\n", "k", b"\xef\xbb\xbfnew=1\n"),
        ("noeol", r"one\ntwo", "two", b"one\nnew"),
    ],
)
async def test_r30_a_small_edit_changes_nothing_else(
    situation: Situation, name: str, made: str, word: str, after: bytes
):
    (agent,) = await situation.begin(plain, "a")
    _, told = await agent.turn(
        bash(f"printf '{made}' > {name}"), ("edit", {"path": name, "old": word, "new": "new"})
    )
    assert told.startswith(f"Edited {name}: ")
    assert (agent.path / name).read_bytes() == after
    work = await agent.commit()
    assert await situation.home.host.read_file(work, name) == after


async def test_r30_what_cannot_be_edited_safely_is_refused_and_odd_reads_answer_at_once(
    situation: Situation,
):
    (agent,) = await situation.begin(plain, "a")
    make = r"printf 'k\0v' > bin; printf '\377\376a\0' > u16; : > empty; mkdir folder; mkfifo p"
    seen = await agent.turn(
        bash(make),
        ("edit", {"path": "bin", "old": "k", "new": "j"}),
        ("edit", {"path": "u16", "old": "a", "new": "b"}),
        ("edit", {"path": "p", "old": "a", "new": "b"}),
        ("read", {"path": "empty"}),
        ("read", {"path": "folder"}),
        ("read", {"path": "p"}),
        bash("rm p"),
    )
    words = ("binary", "UTF-16", "is a FIFO", "(empty file)", "(a folder)", "is a FIFO")
    assert [word in text for word, text in zip(words, seen[1:7], strict=True)] == [True] * 6
    assert (agent.path / "bin").read_bytes() == b"k\0v"
    assert (agent.path / "u16").read_bytes() == b"\xff\xfea\0"


async def test_r42_a_tool_that_does_not_exist_is_answered_with_all_that_do(situation: Situation):
    (agent,) = await situation.begin(plain, "a")
    (told,) = await agent.turn(("browser", {"url": "x"}))
    tools = "bash, read, edit, write, apply_patch, submit"
    assert told == f"There is no tool 'browser' here. Tools: {tools}."


def released(home: Home) -> None:
    """A repository with tags and a remote, of which the base holds some."""
    home.make({"f": "1\n"})
    home.run("tag", "-a", "v1.0", "-m", "The first")
    home.run("update-ref", "refs/remotes/origin/main", "HEAD")
    home.commit({"f": "2\n"})
    home.run("tag", "v1.1-rc")
    base = home.commit({"f": "3\n"})
    home.run("checkout", "-q", "-b", "other")
    home.commit({"secret": "theirs\n"})
    home.run("tag", "-a", "v2.0", "-m", "Not in the base")
    home.run("update-ref", "refs/remotes/origin/other", "HEAD")
    home.run("checkout", "-q", "main")
    home.base = base


async def test_g24_tags_and_remote_names_of_the_base_are_readable_for_agents_and_gates(
    situation: Situation,
):
    (agent,) = await situation.begin(released, "a")
    short = situation.home.base[:7]
    asked = "git describe; git describe --tags; git diff --name-only origin/main...HEAD"
    assert await agent.turn(bash(asked)) == (
        f"v1.0-2-g{short}\nv1.1-rc-1-g{short}\nf\n[exit code 0]",
    )
    names = "git for-each-ref --format='%(refname)'; git cat-file -e v2.0 || echo none"
    (seen,) = await agent.turn(bash(names))
    assert seen.splitlines()[:3] == [
        "refs/remotes/origin/main",
        "refs/tags/v1.0",
        "refs/tags/v1.1-rc",
    ]
    assert "none" in seen
    assert "blueflame" not in seen
    result = await situation.gate(situation.home.base, "git", "describe", "--tags")
    assert (result.result, result.exit_code) == ("passed", 0)
    await agent.turn(bash("echo 4 > f"))
    assert isinstance(await agent.submit(), TaskCommitted)


async def test_g24_names_are_taken_in_again_where_the_base_is_there_already(situation: Situation):
    await situation.begin(released)
    home = situation.home
    home.run("tag", "v1.2")
    home.run("tag", "-f", "v1.1-rc")
    base, _ = await situation.known()
    assert base.commit == home.base
    listed = home.of_host("for-each-ref", "--format=%(refname) %(objectname)", "refs/tags")
    assert f"refs/tags/v1.2 {home.base}" in listed
    assert f"refs/tags/v1.1-rc {home.base}" in listed
    assert "v1.0" in listed


async def test_g34_a_file_that_a_gate_loads_first_is_a_finding_under_wide_claims(
    situation: Situation,
):
    """Field report G34: each of them turned a red gate green."""
    (agent,) = await situation.begin(plain, "a", claims=("**",))
    green = "import os; os._exit(0)"
    await agent.turn(
        ("write", {"path": "pytest.py", "content": green}),
        ("write", {"path": "sitecustomize.py", "content": green}),
        bash("mkdir -p x-1.dist-info && echo '[pytest11]' >x-1.dist-info/entry_points.txt"),
        bash("mkdir -p .cargo && echo '[build]' >.cargo/config.toml; echo script-shell=x >.npmrc"),
        ("write", {"path": "src/pkg/json.py", "content": "x = 1\n"}),
    )
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert [(each.rule, each.path) for each in done.findings] == [
        ("loaded", ".cargo/config.toml"),
        ("loaded", ".npmrc"),
        ("loaded", "pytest.py"),
        ("loaded", "sitecustomize.py"),
        ("loaded", "x-1.dist-info/entry_points.txt"),
    ]
    named = await situation.again("b", situation.home.base, claims=("**", "web/.npmrc"))
    await named.turn(("write", {"path": "web/.npmrc", "content": "fund=false\n"}))
    assert isinstance(await named.submit(), TaskCommitted)


async def test_g02_a_folder_lasts_from_turn_to_turn_and_rules_count_from_it(situation: Situation):
    def two(home: Home) -> None:
        home.make({"conf.ini": "a = 1\n", "pkg/conf.ini": "a = 1\n"})

    (agent,) = await situation.begin(two, "a")
    await agent.turn(bash("cd pkg && export A=1"))
    (said, denied) = await agent.turn(
        bash("sed -i s/1/2/ conf.ini; echo A=$A"), bash("echo x >../.github/workflows/ci.yml")
    )
    assert said == "A=\n[exit code 0]\n[folder: pkg]"
    assert "'.github/workflows/ci.yml' is protected" in denied
    work = await agent.commit()
    assert situation.home.of_host("show", f"{work}:conf.ini").strip() == "a = 1"
    assert situation.home.of_host("show", f"{work}:pkg/conf.ini").strip() == "a = 2"


async def test_g03_git_restores_what_an_earlier_turn_changed(situation: Situation):
    (agent,) = await situation.begin(plain, "a")
    await agent.turn(bash("echo bad >README.md; echo new >b.txt"))
    shown, restored = await agent.turn(
        bash("git diff --stat -- README.md | head -1; git status --short"),
        bash("git restore README.md && git mv .gitignore c.txt && git status --short"),
    )
    assert shown.startswith(" README.md | 2 +-\n M README.md\n?? b.txt\n")
    assert restored.startswith("R  .gitignore -> c.txt\n?? b.txt\n[exit code 0]")
    work = await agent.commit()
    assert sorted(situation.home.tree(work)) == ["README.md", "b.txt", "c.txt"]
    assert situation.home.of_host("show", f"{work}:README.md").strip() == "x"
