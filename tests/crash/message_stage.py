"""A stage whose messages go to both kinds of targets, on a local server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from activities.adapters.models.scripted.playbook import Playbook
from tests.crash.stage import Stage, stage
from tests.receiver import Receiver, receiving
from workers.roles import Role


class MessageStage:
    """A running stage, and what receives its messages."""

    def __init__(self, running: Stage, receiver: Receiver, own: Path) -> None:
        self.running = running
        self.receiver = receiver
        self._own = own

    async def restart(self, **more: str) -> None:
        """Start the worker of role `land` again, which sends the messages.

        Args:
            more: variables, for this life only.
        """
        await self.running.restart(Role.LAND, XDG_CONFIG_HOME=str(self._own), **more)


@asynccontextmanager
async def message_stage(folder: Path, book: Playbook) -> AsyncGenerator[MessageStage]:
    """Start server, workers and receiver."""
    with receiving() as receiver:
        own = _own_file(folder, receiver.port)
        async with stage(folder, book) as running:
            made = MessageStage(running, receiver, own)
            await made.restart()
            yield made


def _own_file(folder: Path, port: int) -> Path:
    """Write a person's configuration with both kinds of targets; return its folder."""
    key, own = folder / "ops.key", folder / "own" / "blueflame" / "blueflame.yaml"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    own.parent.mkdir(parents=True)
    own.write_text(
        f"version: 1\nnotifications:\n  targets: {{phone: 'json://127.0.0.1:{port}/phone'}}\n"
        f"  webhooks: {{ops: {{url: 'http://127.0.0.1:{port}/ops', secret_file: '{key}'}}}}\n"
    )
    return own.parents[1]
