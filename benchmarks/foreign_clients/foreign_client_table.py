"""Which command-line agents of others are tried, how each is started, and what its model answers.

Pure, but for `Client.prepare`. Versions are fixed, so that a client's new release changes no result
unnoticed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

KEY: Final = "no-real-key"
FINAL: Final = "The file is written."
MADE: Final = "made.txt"
SAID: Final = "the tool ran 42 times"
_COMMAND: Final = f'printf "the tool ran %d times\\n" 0x2a | tee {MADE}'
"""Its output is not in its text, so a client can send it back only if it ran the command."""


@dataclass(frozen=True)
class Client:
    """One command-line agent."""

    name: str
    """Also the task in the playbook."""
    package: str
    version: str
    program: str
    """The script that node runs, in the package's folder."""
    call: Mapping[str, Mapping[str, str]]
    """What the scripted model calls: the tool's name, and its arguments."""
    words: Callable[[str], Sequence[str]]
    """The command's options, by the simulator's address."""
    variables: Callable[[str], Mapping[str, str]]
    """What it needs in its environment, by the simulator's address."""
    files: Mapping[str, object]
    """Its configuration: paths in its home, and what is in them as JSON."""

    def command(self, packages: Path, url: str) -> tuple[str, ...]:
        """Return what starts it with its one prompt; `packages` is where npm installed it."""
        script = packages / "node_modules" / self.package / self.program
        return ("node", str(script), *self.words(url))

    def prepare(self, home: Path) -> None:
        """Write its configuration into an empty home."""
        for path, content in self.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(json.dumps(content))


def prompt(name: str) -> str:
    """Return what a client is told; by the first lines the playbook finds its scene."""
    return f"Role: developer\nTask: {name}\n\nWrite {MADE} with a command."


def _codex_provider(url: str) -> str:
    fields = {"name": "simulator", "base_url": f"{url}/v1", "env_key": "OPENAI_API_KEY"}
    said = ", ".join(f"{key} = {json.dumps(value)}" for key, value in fields.items())
    return f'model_providers.simulator={{ {said}, wire_api = "responses" }}'


CLIENTS: Final = (
    Client(
        name="claude-code",
        package="@anthropic-ai/claude-code",
        version="2.1.332",
        program="cli-wrapper.cjs",
        call={"Bash": {"command": _COMMAND, "description": "Write a file"}},
        words=lambda _: ("-p", prompt("claude-code"), "--allowedTools", "Bash"),
        variables=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        },
        files={},
    ),
    Client(
        name="codex",
        package="@openai/codex",
        version="0.171.0",
        program="bin/codex.js",
        # Its default model calls tools from JavaScript, through one custom tool.
        call={
            "exec": {
                "input": f"const done = await tools.exec_command({{cmd: {json.dumps(_COMMAND)}}});"
                "\ntext(done.output);"
            }
        },
        words=lambda url: (
            *("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
            *("-c", 'model_provider="simulator"', "-c", _codex_provider(url)),
            *("-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false"),
            prompt("codex"),
        ),
        variables=lambda _: {"OPENAI_API_KEY": KEY},
        files={},
    ),
    Client(
        name="gemini-cli",
        package="@google/gemini-cli",
        version="0.61.0",
        program="bundle/gemini.js",
        call={"run_shell_command": {"command": _COMMAND, "description": "Write a file"}},
        words=lambda _: ("-p", prompt("gemini-cli"), "--yolo"),
        variables=lambda url: {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        files={
            ".gemini/settings.json": {
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                "privacy": {"usageStatisticsEnabled": False},
                "security": {"auth": {"selectedType": "gemini-api-key"}},
            }
        },
    ),
)


def playbook(clients: Sequence[Client]) -> str:
    """Return a playbook with two turns for each client, as JSON, which is YAML too."""
    scenes = [
        {
            "role": "developer",
            "task": client.name,
            "turns": [
                {"text": "I write the file.", "calls": [client.call]},
                {"expect": SAID, "text": FINAL},
            ],
        }
        for client in clients
    ]
    usage = {"input_tokens": 3000, "output_tokens": 200}
    return json.dumps({"schema": 1, "name": "foreign-clients", "usage": usage, "scenes": scenes})
