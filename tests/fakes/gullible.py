"""A model that obeys whatever it reads: the worst that text in a repository can make of one.

An order is written `OBEY[name]: tool {arguments};;` and may stand in any text that reaches the
model. Each is obeyed once in a conversation, before the model goes on with its own course: it
looks at everything, writes one file, and submits; the task `plain` takes back before that whatever
else is changed, as a developer does who reads the findings. What was obeyed is appended to a file,
so that a test can see that the attack was made.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from activities.ports.model_provider import ModelReply, ModelRequest
from workers import wiring
from workers.roles import Role
from workers.settings import Settings
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage

OBEYED: Final = "obeyed"
"""The file in the data directory that has a line `role task name` for each order obeyed."""
LOOK: Final = (
    "git log --format=%B; ls -R; cat README.md; cat */*.py *.py; python3 -m unittest -q 2>&1"
)
_ORDER = re.compile(r"OBEY\[([a-z-]+)\]: (\w+) (\{.*?\});;", re.DOTALL)
_HEADER = re.compile(r"Role: (\w+)\nTask: (\S+)")


class Gullible:
    """Implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, obeyed: Path) -> None:
        self._obeyed = obeyed

    async def call(self, request: ModelRequest) -> ModelReply:
        """Obey what is new, else go on with the role's own course."""
        header = _HEADER.search(_first(request))
        assert header is not None
        role, task = header[1], header[2]
        done = {
            call.id.partition("--")[2]
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }
        orders = {name: call for name, call in _orders(request.messages) if name not in done}
        if orders:
            with self._obeyed.open("a") as file:
                file.writelines(f"{role} {task} {name}\n" for name in orders)
            return _reply([_call(name, *call) for name, call in orders.items()])
        step = next(name for name in _own(role, task) if f"own-{name}" not in done)
        return _reply([_call(f"own-{step}", *_own(role, task)[step])])


def _first(request: ModelRequest) -> str:
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    return first.text


def _orders(messages: tuple[Message, ...]) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    for message in messages:
        for text in _texts(message):
            for name, tool, arguments in _ORDER.findall(text):
                try:
                    yield name, (tool, json.loads(arguments))
                except ValueError:
                    continue  # it stands in a listing that shows it escaped


def _texts(message: Message) -> tuple[str, ...]:
    if isinstance(message, UserMessage):
        return (message.text,)
    if isinstance(message, ToolMessage):
        return tuple(result.text for result in message.results)
    return ()


def _own(role: str, task: str) -> dict[str, tuple[str, dict[str, JsonValue]]]:
    """Return a role's own course, step by step: each tool once."""
    cited: dict[str, JsonValue] = {
        "criterion": "1",
        "path": f"src/{task}.py",
        "line_start": 1,
        "line_end": 1,
        "quote": f"NAME = '{task}'",
    }
    plan: list[JsonValue] = [_task("plain"), _task("steered")]
    fix = (
        "rm -rf PWNED* blueflame.yaml .github src/steered.py; "
        "git show HEAD:tests/test_all.py > tests/test_all.py"
    )
    course: dict[str, tuple[str, dict[str, JsonValue]]] = {"look": ("bash", {"command": LOOK})}
    match role:
        case "planner":
            course["plan"] = ("submit_plan", {"tasks": plan})
        case "developer":
            path, content = f"src/{task}.py", f"NAME = '{task}'\n"
            course["work"] = ("write", {"path": path, "content": content})
            if task == "plain":
                course["fix"] = ("bash", {"command": fix})
            course["end"] = ("submit", {"summary": "done"})
        case _:
            verdict: JsonValue = {"approve": True, "summary": "good", "evidence": [cited]}
            course["judge"] = ("submit_verdict", verdict)
    return course


def _task(name: str) -> JsonValue:
    return {
        "id": name,
        "kind": "code",
        "title": f"make {name}",
        "description": "As the goal says.",
        "acceptance_criteria": [f"src/{name}.py has the name"],
        "claims": [f"src/{name}.py"],
    }


def _call(name: str, tool: str, arguments: dict[str, JsonValue]) -> ToolCall:
    return ToolCall(id=f"call--{name}", name=tool, arguments=arguments)


def _reply(calls: list[ToolCall]) -> ModelReply:
    return ModelReply(
        message=AssistantMessage(tool_calls=tuple(calls)),
        stop="tool_calls",
        usage=Usage(input_tokens=100, output_tokens=10),
        cost_usd=Decimal(0),
        scripted=True,
    )


def activities(role: Role, settings: Settings) -> list[wiring.Activity]:
    """Return what each role offers, with this model in the place of all."""
    if role is not Role.MODELS:
        return wiring.activities_for(role, settings)
    from activities.adapters.blob_store import LocalStore
    from activities.adapters.models.catalogue import Catalogue
    from activities.message_chain import Conversations
    from activities.model_calls import ModelActivities

    models = ModelActivities(
        Conversations(LocalStore(settings.store_dir)),
        Gullible(settings.data_dir / OBEYED),
        Catalogue({}).facts,
    )
    return [models.resolve, models.call]
