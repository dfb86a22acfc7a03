"""Which convention a history shows, and which subject follows it."""

from typing import NamedTuple

import pytest

from workflows.domain.plan import TaskKind
from workflows.policy.delivery.commit_convention import Convention, convention_of, subject

TYPED = (
    "feat(cart): show the number of items",
    "fix(cart): keep items after a reload",
    "docs: describe the price rules (#214)",
    "feat(checkout)!: drop the old form",
    "Merge pull request #213 from ann/reload",
    "chore(deps): update the lock file",
    "refactor(cart): split the total from its view (#209)",
    "test(checkout): cover an empty cart",
    'Revert "feat(cart): show the number of items"',
    "fix(checkout): round to cents",
)
UNSCOPED = (
    "feat: add a search box",
    "fix: handle an empty query",
    "chore: release 1.4.0",
    "docs: fix a link",
    "feat(api): add paging",
    "fix: close the file",
)
TICKETS = (
    "SHOP-141: Show the number of items",
    "SHOP-138: Keep items after a reload",
    "SHOP-139: Update the lock file",
    "Merge branch 'SHOP-138'",
    "OPS-7: Rotate the log",
    "SHOP-137: Round to cents",
)
BRACKETED = tuple(f"[#{number}] fix rounding of prices." for number in range(40, 46))
AREAS = (
    "net/http: close idle connections",
    "net: do not retry a lookup that was cancelled",
    "os: return the path in errors",
    "net/http: document the limit",
    "encoding/json: avoid a copy",
)
PLAIN = (
    "Add a search box",
    "Close the file",
    "Handle an empty query",
    "Update the lock file",
    "Keep items after a reload (#12)",
)
MIXED = (
    "feat: add a search box",
    "wip",
    "Fix the build",
    "SHOP-1: Try again",
    "cart: total",
    "update",
)


class Work(NamedTuple):
    """A task whose commit needs a subject."""

    title: str
    paths: str
    kind: str = "code"
    named: str = ""


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (TYPED, ("typed", "lower", True)),
        (UNSCOPED, ("typed", "lower", False)),
        (TICKETS, ("ticket", "upper", False)),
        (BRACKETED, ("ticket", "lower", False)),
        (AREAS, ("area", "lower", False)),
        (PLAIN, ("plain", "upper", False)),
        (MIXED, ("plain", "any", False)),
        (PLAIN[:4], ("plain", "any", False)),
        ((), ("plain", "any", False)),
    ],
)
def test_a_history_shows_its_convention(history: tuple[str, ...], expected: tuple[str, str, bool]):
    found = convention_of(history)
    assert (found.style, found.case, bool(found.scopes)) == expected


@pytest.mark.parametrize(
    ("history", "work", "expected"),
    [
        (TYPED, Work("Add a currency", "src/cart/total.py"), "feat(cart): add a currency"),
        (TYPED, Work("Add a currency", "src/cart/a.py src/x.py"), "feat: add a currency"),
        (TYPED, Work("Fix rounding", "checkout.py"), "fix(checkout): fix rounding"),
        (TYPED, Work("HTTPS for the shop", "a.py"), "feat: HTTPS for the shop"),
        (TYPED, Work("Describe rounding", "README.md", "docs"), "docs: describe rounding"),
        (TYPED, Work("Cover rounding", "t.py", "tests"), "test: cover rounding"),
        (TYPED, Work("Escape names", "a.py", "security"), "fix: escape names"),
        (TYPED, Work("fix(cart): keep it", "a.py"), "fix(cart): keep it"),
        (UNSCOPED, Work("Add paging", "api/page.py"), "feat: add paging"),
        (TICKETS, Work("add it", "a.py", named="do SHOP-142"), "SHOP-142: Add it"),
        (TICKETS, Work("Add it", "a.py", named="UTF-8 for OPS-9"), "OPS-9: Add it"),
        (TICKETS, Work("Add it", "a.py", named="UTF-8 names"), "Add it"),
        (BRACKETED, Work("Add it", "a.py", named="see SHOP-1 and #51"), "[#51] add it."),
        (AREAS, Work("Retry it", "src/net/http/c.go src/net/http/d.go"), "net/http: retry it"),
        (AREAS, Work("Retry it", "cmd/main.go"), "retry it"),
        (PLAIN, Work("retry it", "cmd/main.go", named="SHOP-1"), "Retry it"),
        (MIXED, Work("retry it", "cmd/main.go", named="SHOP-1"), "retry it"),
    ],
)
def test_a_subject_follows_it(history: tuple[str, ...], work: Work, expected: str):
    paths, kind = work.paths.split(), TaskKind(work.kind)
    assert subject(convention_of(history), work.title, kind, paths, work.named) == expected


def test_only_the_newest_count():
    assert convention_of((*PLAIN * 10, *TYPED * 10)).style == "plain"


def test_nothing_is_put_before_a_title_without_a_convention():
    assert subject(Convention(), "Add x", TaskKind.CODE, [], "SHOP-1 #2") == "Add x"
