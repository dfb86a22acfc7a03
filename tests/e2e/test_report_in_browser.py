"""The report in a real browser: it says nothing, asks for nothing, and its links lead somewhere.

Needs Chromium, which is spoken to by its own protocol; see CONTRIBUTING.md.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from starter.demo.wording import STAYS
from starter.reports.page import render
from tests.e2e.processes import ROOT
from tests.report_reader import check_figures, read_page
from tests.unit.starter.reports.sessions import session
from tests.waiting import LONG_PATIENCE, ends

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
ATTACK = "</title></style><script>document.title='hit'</script><img src=//x/y onerror=alert(1)>"
LINKS = """(() => {
    const links = [...document.querySelectorAll('a')];
    const lost = links.filter((each, number) => {
        const wanted = each.getAttribute('href');
        if (number >= 100)
            return !document.getElementById(wanted.slice(1));
        each.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
        return location.hash !== wanted || !document.querySelector(':target');
    });
    return {links: links.length, lost: lost.map(each => each.getAttribute('href'))};
})()"""
"""Follows the first 100 links and looks up the others: a browser refuses 200 moves in a row."""


class Tab:
    """One page of a browser: commands, and all that it reported."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    async def open(self) -> None:
        """Open an empty page and listen to what it logs, runs and requests."""
        target = await self.ask("Target.createTarget", url="about:blank")
        attached = await self.ask(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.ask(f"{domain}.enable")
        self.events.clear()

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        await self._socket.send(json.dumps(command))
        while (told := await self._told()).get("id") != number:
            self.events.append(told)
        assert "error" not in told, told
        return told["result"]

    async def until(self, method: str) -> None:
        """Wait for an event."""
        while not any(each.get("method") == method for each in self.events):
            self.events.append(await self._told())

    async def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"]["value"]

    def said(self, *methods: str) -> list[dict[str, Any]]:
        """Return the events of these kinds."""
        return [each["params"] for each in self.events if each.get("method") in methods]

    async def _told(self) -> dict[str, Any]:
        return json.loads(await ends(self._socket.recv(), "an answer of the browser"))


@asynccontextmanager
async def browser(folder: Path) -> AsyncGenerator[Tab]:
    """Start a browser without a window and a network, and open a page."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "about:blank"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )
    try:
        address = await ends(_address(process), "the browser's start")
        async with connect(address, max_size=None) as socket:
            tab = Tab(socket)
            await tab.open()
            yield tab
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        if line.startswith(b"DevTools listening on "):
            return line.decode().split()[-1]
    raise AssertionError("the browser ended at its start")


async def shown(tab: Tab, html: str, folder: Path) -> str:
    """Open a page from its file, as a person would; return its address."""
    path = folder / "report.html"
    path.write_text(html)
    await tab.ask("Page.navigate", url=path.as_uri())
    await tab.until("Page.loadEventFired")
    return path.as_uri()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("tasks", "text"), [(1, ""), (30, ""), (500, ""), (3, ATTACK)], ids=["1", "30", "500", "attack"]
)
async def test_a_browser_has_nothing_to_say_and_nothing_to_fetch(
    tmp_path: Path, tasks: int, text: str
) -> None:
    async with browser(tmp_path) as tab:
        address = await shown(tab, render(session(tasks, text), "blueflame"), tmp_path)
        assert await tab.value("document.compatMode") == "CSS1Compat"
        found = await tab.value(LINKS)
        assert found["links"] > 10
        assert found["lost"] == []
        # The style sheet counts, in light, dark and on paper.
        assert await tab.value("getComputedStyle(document.body).maxWidth") == "1180px"
        backs = [await _back(tab, scheme) for scheme in ("light", "dark")]
        assert backs == ["rgb(255, 255, 255)", "rgb(15, 19, 24)"]
        await tab.ask("Emulation.setEmulatedMedia", media="print")
        nav = "getComputedStyle(document.querySelector('nav')).display"
        assert await tab.value(nav) == "none"
        assert (await tab.value("document.title")).startswith("Session ")
        check_silent(tab, address)


def check_silent(tab: Tab, address: str) -> None:
    """The browser asked for the page and nothing else, and said nothing."""
    requests = [each["request"]["url"] for each in tab.said("Network.requestWillBeSent")]
    assert requests == [address]
    assert tab.said("Log.entryAdded") == []
    assert tab.said("Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.timeout(900)
async def test_the_report_of_the_demo_is_silent_and_has_the_figures_of_status(
    tmp_path: Path,
) -> None:
    async with kept_demo(tmp_path) as said:
        report = Path(said.rpartition("Report     ")[2].splitlines()[0])
        status = await _status(report)
        page = _text(report)
    assert status["outcome"] == "complete"
    check_figures(read_page(page), status)
    async with browser(tmp_path) as tab:
        check_silent(tab, await shown(tab, page, tmp_path))


@asynccontextmanager
async def kept_demo(folder: Path) -> AsyncGenerator[str]:
    """Play the demo, and keep its server; return what it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starter", "demo", "--keep"),
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        until_kept = process.stdout.readuntil(STAYS[-1].encode())
        yield (await ends(until_kept, "the demo plays to its end", LONG_PATIENCE)).decode()
    finally:
        process.send_signal(signal.SIGINT)
        await ends(process.communicate(), "the demo ends")


def _text(report: Path) -> str:
    return report.read_text()


async def _status(report: Path) -> dict[str, Any]:
    """Return the document of `status --json` for the session of a report in its usual place."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starter", "status", report.stem, "--json"),
        env={**os.environ, "BLUEFLAME_DATA_DIR": str(report.parents[1]), "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await ends(process.communicate(), "`status` ends")
    return json.loads(told)


async def _back(tab: Tab, scheme: str) -> str:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    await tab.ask("Emulation.setEmulatedMedia", media="", features=[feature])
    return await tab.value("getComputedStyle(document.body).backgroundColor")
