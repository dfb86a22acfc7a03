"""The full-screen view of a session: rows on a terminal, and keys that decide.

Textual draws; `live_model` says what, `key_decisions` says what a key means. The view asks the
session again twice a second, so several persons may watch and decide at once.
"""

import asyncio
from bisect import insort
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final, get_args

from temporalio.service import RPCError
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.filter import LineFilter, NoColor
from textual.widgets import ContentSwitcher, Static

from starter.console.command_errors import CommandError
from starter.console.terminal import one_line
from starter.decisions import decision_checks
from starter.live import key_decisions
from starter.live.key_decisions import Act, Decided, Prompt, Selected
from starter.live.live_model import TASK, Known, LiveModel, live_model
from starter.live.live_source import Source
from starter.live.prompt_screens import DiffScreen, PromptScreen, TextScreen
from starter.live.row_list import RowList
from starter.live.rows import Row, told
from starter.live.task_graph import graph_rows
from starter.sessions.open_questions import plan_question
from starter.sessions.shown_session import ShownSession
from starter.sessions.turn_history import Happening
from starter.views import plan_words, session_words, turn_words
from workflows.domain.line_comment import LineComment
from workflows.domain.session.session_modes import SessionPhase

_LOOK_SECONDS: Final = 0.5
_KNOWN_SECONDS: Final = 2.0
_HAPPENINGS: Final = 300
"""How many events of agents are kept on the screen."""
_ASKS_SHOWN: Final = 5
_WIDE: Final = 120
"""From so many columns on, the agent's work stands beside the tasks."""
_PARTS: Final = ("tasks", "graph", "agent", "notices", "decisions", "pulls")
_TEXTS: Final = ("head", "asks-title", "parts", "headings", "said", "keys")
_KEYS: Final = "a approve r reject d diff w answer s skip t retry m tell p pause ? more q leave"
_HELP: Final = (
    "a  approve the selected plan or changeset, or the only one that waits",
    "r  reject it; your notes go to the next attempt",
    "d  show the plan that waits, or the changeset's diff; in the diff, c comments on a line",
    "e  edit the plan in $VISUAL or $EDITOR",
    "w  answer an agent's question",
    "s  skip the selected task",
    "t  retry the selected task",
    "b  go back: start a new attempt from an earlier turn",
    "u  undo: take back the merged work of the selected task, in a new changeset",
    "m  send a message to the task's agent",
    "p  pause the session, or resume it",
    "",
    "1 tasks   2 graph   3 agent   4 notices   5 decisions   6 pulls",
    "Enter   on a task: follow its agents' work",
    "Tab     between what waits for you and the rest",
    "arrows, PgUp, PgDn, Home, End   move; left and right show cut text",
    "q, Ctrl-C   leave; the session continues",
    "",
    "Without this view: watch --plain",
)


class LiveApp(App[ShownSession]):
    """Shows one session; returns its last view once it has ended, None if the person leaves."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"act('{act}')", show=False)
            for key, act in zip(
                "arwstbump",
                get_args(key_decisions.Act),
                strict=True,
            )
        ),
        *(
            Binding(str(number), f"part('{part}')", show=False)
            for number, part in enumerate(_PARTS, 1)
        ),
        Binding("d", "diff", show=False),
        Binding("e", "edit", show=False),
        Binding("question_mark", "keys", show=False),
        Binding("q,ctrl+c", "leave", show=False),
    ]
    CSS: ClassVar[str] = """
    Static { height: auto; }
    #asks { height: auto; max-height: 5; }
    #asks-title, #parts { height: 1; text-style: bold; }
    #headings, #said, #keys { height: 1; }
    #left { width: 2fr; height: 100%; }
    #body { height: 1fr; }
    #agent { width: 3fr; height: 100%; }
    #tasks, #graph, #notices, #decisions, #pulls { height: 100%; }
    """

    def __init__(self, source: Source, by: str, told: Sequence[str] = ()) -> None:
        """Prepare it.

        Args:
            source: the session.
            by: who decides, for decisions.
            told: what to say first, as the result of an edit.
        """
        super().__init__()
        self._source = source
        self._by = by
        self._now: ShownSession | None = None
        self._known = Known()
        self._wake = asyncio.Event()
        self._part = "tasks"
        self._followed = ""
        self._comments: dict[str, list[LineComment]] = {}
        self._texts = {part: Static(id=part, markup=False) for part in _TEXTS}
        self._lists = {part: RowList(id=part) for part in ("asks", *_PARTS)}
        self._lists["agent"] = RowList(id="agent", follows=True)
        self._told = told
        self.has_decided = False
        self.wants_edit = False
        """Whether it was left to edit the plan, which needs the terminal."""

    def compose(self) -> ComposeResult:
        """Lay out the parts, from what needs attention first to the keys."""
        texts, lists = self._texts, self._lists
        yield texts["head"]
        yield texts["asks-title"]
        yield lists["asks"]
        yield texts["parts"]
        yield texts["headings"]
        with Horizontal(id="body"):
            with ContentSwitcher(initial="tasks", id="left"):
                yield from (lists[part] for part in _PARTS if part != "agent")
            yield lists["agent"]
        yield texts["said"]
        yield texts["keys"]

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of what is drawn; Textual's own for NO_COLOR fits no ANSI theme."""
        return [NoColor()] if self.no_color else super().get_line_filters()

    def on_mount(self) -> None:
        """Begin to ask the session."""
        self.theme = "ansi-dark"  # the terminal's own colours, on light and dark ones
        self._line("head", "asking the session ...")
        self._line("keys", _KEYS)
        self._rows("tasks").focus()
        self._arrange()
        self.run_worker(self._follow_session())
        self.run_worker(self._follow_work())
        if len(self._told) > 1:
            self.push_screen(TextScreen("The plan  (q closes)", told(self._told)))
        elif self._told:
            self._say(self._told[0])

    def on_resize(self) -> None:
        """Give the agent's work a place of its own where there is room."""
        self._arrange()

    # --- what is shown --------------------------------------------------------------------------

    async def _follow_session(self) -> None:
        while True:
            for line in self._source.news():
                self._say(line)
            try:
                self._now = await self._source.look()
            except RPCError as error:
                self._say(f"the server does not answer, asking again: {error.message}")
            else:
                self._show()
                if self._now.outcome:
                    self.exit(self._now)
                    return
            self._wake.clear()
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _follow_work(self) -> None:
        while True:
            if self._now is not None:
                try:
                    self._known = await self._source.known(self._now)
                except RPCError as error:
                    self._say(f"the server does not answer, asking again: {error.message}")
                self._wake.set()
            await asyncio.sleep(_KNOWN_SECONDS if self._now else _LOOK_SECONDS)

    def _show(self) -> None:
        assert self._now is not None
        model = live_model(self._now, self._known, datetime.now(UTC))
        self._line("head", "\n".join(row.text[: self.size.width] for row in model.head))
        self._show_asks(model, self._now)
        self._line("headings", f"  {model.headings}" if self._part == "tasks" else "")
        self._rows("tasks").put(model.tasks)
        if self._part == "graph":  # of a thousand tasks it costs as much as all the rest
            graph = graph_rows(self._now.tasks, self._known.plan)
            self._rows("graph").put(graph or (Row("", "(no plan yet)"),))
        self._rows("notices").put(model.notices or (Row("", "(none)"),))
        self._rows("decisions").put(model.decisions or (Row("", "(none)"),))
        self._rows("pulls").put(model.pulls or (Row("", "(none)"),))

    def _show_asks(self, model: LiveModel, now: ShownSession) -> None:
        rows = self._rows("asks")
        offer = key_decisions.offered(now, [row.key for row in model.asks])
        waiting = f"Waiting for you ({len(model.asks)}): {offer}"
        self._line("asks-title", waiting if model.asks else "Nothing waits for you")
        rows.display = bool(model.asks)
        rows.styles.height = min(len(model.asks), _ASKS_SHOWN)
        rows.put(model.asks)

    def _arrange(self) -> None:
        is_wide = self.size.width >= _WIDE
        self._rows("agent").display = is_wide or self._part == "agent"
        self.query_one("#left").display = is_wide or self._part != "agent"
        named = " ".join(
            f"[{number} {part}]" if part == self._part else f" {number} {part} "
            for number, part in enumerate(_PARTS, 1)
        )
        self._line("parts", f"{named}  {f'following {self._followed}' if self._followed else ''}")

    def _rows(self, part: str) -> RowList:
        return self._lists[part]

    def _line(self, part: str, text: str) -> None:
        # A last look may come back while the view closes.
        if (line := self._texts[part]).is_attached:
            line.update(text)

    def _say(self, text: str) -> None:
        self._line("said", one_line(text, max(self.size.width, 20)))

    # --- keys -----------------------------------------------------------------------------------

    def action_part(self, part: str) -> None:
        """Show another part of the session."""
        self._part = part
        if part != "agent":
            self.query_one("#left", ContentSwitcher).current = part
        self._arrange()
        self._rows(part).focus()
        if self._now is not None:
            self._show()

    @on(RowList.Opened)
    def follow(self, event: RowList.Opened) -> None:
        """Follow the agents of the task that was opened."""
        if not event.key.startswith(TASK):
            return
        self._followed = event.key.removeprefix(TASK)
        self.run_worker(self._follow_agent(self._followed), group="agent", exclusive=True)
        self.action_part("agent")

    async def _follow_agent(self, wanted: str) -> None:
        self._rows("agent").put((Row("", f"(no agent of {wanted} has done anything yet)"),))
        happenings: list[Happening] = []
        try:
            async for happening in self._source.turns(wanted):
                # Several agents are read side by side, so an earlier event may come later.
                insort(happenings, happening, key=lambda each: each.at)
                del happenings[:-_HAPPENINGS]
                lines = [line for each in happenings for line in turn_words.happening(each)]
                self._rows("agent").put(told(lines))
        except RPCError as error:
            self._say(
                f"the work of {wanted} cannot be read now: {error.message}; Enter tries again"
            )

    def action_act(self, act: Act) -> None:
        """Ask about a decision, and send it if the person agrees."""
        if self._now is None:
            return
        try:
            prompt = key_decisions.prompt(act, self._now, self._selected(), self._by)
        except CommandError as error:
            self._say(str(error))
        else:
            self.push_screen(
                PromptScreen(prompt.question, prompt.text), partial(self._answered, prompt)
            )

    def _selected(self) -> Selected:
        part = self._part if self._part in {"tasks", "graph"} else "tasks"
        ask, task = self._rows("asks"), self._rows(part)
        # A row that the person stands on counts more than one that happens to be first.
        is_on_task = task.has_focus and bool(task.chosen)
        return Selected("" if is_on_task else ask.chosen, task.chosen, self._comments)

    def _answered(self, prompt: Prompt, said: str | None) -> None:
        if said is None:
            self._say("left undecided")
            return
        if prompt.plan and self._now and plan_question(self._now) != prompt.plan:
            self._say(session_words.OTHER_PLAN)
            return
        try:
            decision = prompt.decide(said)
        except CommandError as error:
            self._say(str(error))
        else:
            self.run_worker(self._send(decision))

    async def _send(self, decision: Decided) -> None:
        self.has_decided = True
        name = decision[0].replace("_", " ")
        self._say(f"{name}: sending ...")
        try:
            follows = await self._source.decide(*decision)
        except CommandError as error:
            with suppress(RPCError):
                self._now = await self._source.look()
            assert self._now is not None
            self._say(key_decisions.lost(self._now, decision, str(error), self._by))
        except RPCError as error:
            self._say(f"{name} was not sent: {error.message}; look before you repeat it")
        else:
            self._say(f"{name}: {follows or 'done'}")
        self._wake.set()

    async def action_diff(self) -> None:
        """Show the diff of the chosen changeset, or the plan while it waits."""
        if self._now is None:
            return
        if self._now.phase is SessionPhase.AWAITING_PLAN and self._now.tasks:
            self._show_plan()
            return
        try:
            chosen = key_decisions.changeset_of(self._now, self._selected())
            diffs = await self._source.diff(chosen)
        except CommandError as error:
            self._say(str(error))
        else:
            made = self._comments.setdefault(chosen.digest or "", [])
            title = f"{chosen.id} {(chosen.digest or '')[:12]}  c comments on a line, q closes"
            self.push_screen(DiffScreen(title, diffs, made))

    def _show_plan(self) -> None:
        if self._known.plan is None:
            self._say("the plan is being read, press d again")
            return
        rows = told(plan_words.tasks(self._known.plan.tasks))
        self.push_screen(TextScreen("The plan  (q closes)", rows))

    def action_edit(self) -> None:
        """Leave the screen to the person's editor, if there is a plan to change."""
        if self._now is None:
            return
        try:
            decision_checks.editable(self._now)
        except CommandError as error:
            self._say(str(error))
        else:
            self.wants_edit = True
            self.exit(None)

    def action_keys(self) -> None:
        """List the keys."""
        self.push_screen(TextScreen("Keys  (q closes)", tuple(Row("", line) for line in _HELP)))

    def action_leave(self) -> None:
        """Leave the session to itself."""
        self.exit(None)
