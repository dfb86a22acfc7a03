"""Reads a report as a browser would, and compares each of its figures with `status --json`."""

from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "br", "link", "img", "input", "hr"}
_LOADING = {"script", "img", "iframe", "object", "link", "form", "base"}


@dataclass
class Page:
    """What a page has: its elements in order, each with its attributes, and its text."""

    elements: list[tuple[str, dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, str]]]
    )
    text: str = ""

    @property
    def tags(self) -> set[str]:
        """The names of all elements."""
        return {tag for tag, _ in self.elements}

    @property
    def names(self) -> set[str]:
        """The names of all attributes."""
        return {name for _, given in self.elements for name in given}

    @property
    def figures(self) -> list[tuple[str, str]]:
        """Each figure's name and exact value."""
        found = (given for _, given in self.elements if "data-figure" in given)
        return [(given["data-figure"], given["value"]) for given in found]

    def all(self, attribute: str) -> list[str]:
        """Return an attribute's values."""
        return [given[attribute] for _, given in self.elements if attribute in given]

    def figure(self, name: str) -> str:
        """Return the figure that stands once."""
        (found,) = [value for each, value in self.figures if each == name]
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> where another element is open"

    def handle_data(self, data: str) -> None:
        self.page.text += data


def read_page(html: str) -> Page:
    """Return what a page has; each element must be closed, in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader.page


def check_figures(page: Page, status: dict[str, Any]) -> None:
    """Hold every figure of a report against the document of `status --json`."""
    counted = ("tasks", "changesets", "decisions", "notices")
    expected = {
        **{name: str(status[name]) for name in ("session", "spent_usd", "cap_usd", "cycle")},
        **{name: str(len(status[name])) for name in counted},
        "outcome": status["outcome"] or "",
    }
    tables = {"cost-task", "cost-role", "cost-model"}
    names = {name for name, _ in page.figures}
    assert names <= expected.keys() | tables | {"notice-count"}, "a figure that nothing checks"
    assert expected.keys() - names <= {"cap_usd"}
    for name in names & expected.keys():
        assert page.figure(name) == expected[name], name
    for table in tables & names:
        parts = [Decimal(value) for name, value in page.figures if name == table]
        assert sum(parts) == Decimal(status["spent_usd"]), table
    times = [value for name, value in page.figures if name == "notice-count"]
    assert times == [str(each["count"]) for each in status["notices"]]
    assert page.all("data-task-state") == [each["state"] for each in status["tasks"]]
    attempts = [(each["id"], str(each["attempt"])) for each in status["tasks"]]
    marked = (given for _, given in page.elements if "data-task-attempt" in given)
    assert [(given["data-task-attempt"], given["value"]) for given in marked] == attempts
    assert page.all("data-changeset-state") == [each["state"] for each in status["changesets"]]
    assert page.all("data-decision") == [each["what"] for each in status["decisions"]]


def check_whole(page: Page) -> None:
    """Hold that a page needs nothing outside of it, and that each link leads somewhere in it."""
    ids = page.all("id")
    assert len(ids) == len(set(ids)), "an id twice"
    assert all(link.startswith("#") and link[1:] in ids for link in page.all("href"))
    assert page.tags.isdisjoint(_LOADING)
    assert page.names.isdisjoint({"src", "style", "srcset", "action", "xlink:href"})
    assert not [name for name in page.names if name.startswith("on")]
    policy = next(
        given["content"] for tag, given in page.elements if tag == "meta" and "http-equiv" in given
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
