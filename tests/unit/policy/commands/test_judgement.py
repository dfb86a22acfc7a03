"""Commands in a table with what is expected, as read by the real grammar."""

import pytest

from activities.adapters.shell.bash_parser import parse
from tests.unit.policy.commands.command_table import ALLOWED, DENIED
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Denied, Standing, ToolPolicy
from workflows.policy.commands.judgement import MOST_TEXTS, command_denial

DEVELOPER = Standing(role=Role.DEVELOPER, claims=("src/**", "tests/**"))
READER = Standing(role=Role.REVIEWER, claims=())


def judged(command: str, standing: Standing = DEVELOPER) -> Denied | None:
    return command_denial(command, standing, parse)


def ruled(command: str, **rules: object) -> str | None:
    standing = DEVELOPER.model_copy(update={"rules": ToolPolicy.model_validate(rules)})
    denied = judged(command, standing)
    return denied.rule if denied else None


@pytest.mark.parametrize("command", ALLOWED)
def test_honest_commands_run(command: str):
    assert judged(command) is None


@pytest.mark.parametrize(("command", "rule"), DENIED)
def test_a_denial_names_its_rule(command: str, rule: str):
    denied = judged(command)
    assert denied is not None
    assert denied.rule == rule
    assert denied.about
    assert denied.instead


def test_a_denial_says_what_was_meant_and_what_would_be_allowed():
    denied = judged("env g\\it push")
    assert denied is not None
    assert denied.text == (
        "Denied by rule 'git-remote': 'git push': it deals with another repository, and nothing "
        "leaves this worktree. Allowed: reading with git log, diff, show, status and blame; the "
        "work in the worktree is collected."
    )


def test_unreadable_text_is_denied_with_its_place():
    denied = judged("cat <<EOF\nx\ny\nEOF\nls\necho (")
    assert denied is not None
    assert denied.about.startswith("line 6, column 6: ")


def test_a_reader_writes_only_scratch_files():
    assert judged("pytest -q > /tmp/log 2>&1; ls | tee /dev/null", READER) is None
    denied = judged("echo x > src/a.py", READER)
    assert denied is not None
    assert (denied.rule, denied.instead) == (
        "claims",
        "reading, and scratch files below /tmp: this role writes nothing here",
    )


def test_texts_in_texts_are_followed_only_so_deep():
    nested = "ls"
    for _ in range(MOST_TEXTS - 1):
        nested = f"eval {nested}"
    assert judged(nested) is None
    denied = judged(f"eval eval {nested}")
    assert denied is not None
    assert denied.rule == "hidden-program"


# --- what a person configures -------------------------------------------------------------------

ALLOW = ("git status *", "git log *", "python -m pytest *", "ls *", "cat src/*")


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status", None),
        ("git log -3 --stat", None),
        ("/usr/bin/git status", None),
        ("./git status", "allow-commands"),
        ("git diff", "allow-commands"),
        ("git -C x status", "allow-commands"),
        ("cat src/a.py", None),
        ("cat src/a.py b", "allow-commands"),
        ("cat $x", "allow-commands"),
        ("ls $x", None),
        ("timeout 5 nice python -m pytest -q", None),
        ("timeout 5 python -m unittest", "allow-commands"),
        ("cd src && echo hi && [ -f a ] && export A=1", None),
        ("f() { ls; }; f", None),
        ("f() { rm -r src; }; f", "allow-commands"),
        ("ls | xargs git log", None),
        ("ls | xargs rm", "allow-commands"),
        ("find . -exec ls {} +", "allow-commands"),
        ("bash -c 'git status'", "allow-commands"),
    ],
)
def test_an_allow_list_allows_only_what_certainly_fits(command: str, rule: str | None):
    assert ruled(command, allow_commands=ALLOW) == rule


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("make deploy", "deny-commands"),
        ("make -C src deploy now", "deny-commands"),
        ("make $x", "deny-commands"),
        ("make dep*", "deny-commands"),
        ("echo deploy | xargs make", "deny-commands"),
        ("make test", None),
        ("make test deploy", None),
        ("rm -fr src", None),
        ("rm src -rf", "deny-commands"),
        ("npm run release:all", "deny-commands"),
        ("npm run build", None),
    ],
)
def test_a_deny_list_denies_what_may_fit(command: str, rule: str | None):
    deny = ("make deploy", "rm -rf", "npm run release*")
    assert ruled(command, deny_commands=deny) == rule
    assert ruled(command, deny_commands=deny, allow_commands=("make *", "rm *", "npm *")) in {
        rule,
        "allow-commands",
    }


def test_a_rule_that_is_lifted_does_not_hold_and_the_others_do():
    assert ruled("curl https://x.test", lift=("network",)) is None
    assert ruled("git push", lift=("network",)) == "git-remote"
    assert ruled("LD_PRELOAD=x ls", lift=("environment",)) is None
    assert ruled("git config core.hooksPath x", lift=("git-config",)) is None
    assert ruled("git commit -m x", lift=("git-history",)) is None
    assert ruled("echo x > .git/config", lift=("git-history", "git-config")) == "protected"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("cat secret/key", "blocked"),
        ("cd secret && cat key", "blocked"),
        ("grep x src/a.py secret/key", "blocked"),
        ("ls < secret/key", "blocked"),
        ("echo x > src/private.txt", "blocked"),
        ("echo x > src/tests/base.py", "protected"),
        ("rm -r src/tests", "protected"),
        ("cat src/tests/base.py", None),
        ("echo x > src/a.py", None),
        ("echo x > tests/a.py", "write-paths"),
        ("cat docs/a.md", None),
        ("cat lib/a.py", "read-paths"),
        ("head -n 5 lib/a.py", "read-paths"),
        ("head -n 5 src/a.py /etc/hosts", None),
    ],
)
def test_paths_that_a_person_names(command: str, rule: str | None):
    paths = {
        "blocked_paths": ("secret", "**/private.txt"),
        "protected_paths": ("src/tests/base.py",),
        "write_paths": ("src/**",),
        "read_paths": ("src/**", "docs/**"),
    }
    assert ruled(command, **paths) == rule


def test_a_file_that_a_gate_starts_is_written_only_where_a_claim_names_it():
    gated = DEVELOPER.model_copy(update={"claims": ("**",), "gate_files": ("ci/check",)})
    denied = judged("echo exit 0 > ci/check", gated)
    assert denied is not None
    assert denied.rule == "named-only"
    named = gated.model_copy(update={"claims": ("**", "ci/*")})
    assert judged("echo exit 0 > ci/check", named) is None
