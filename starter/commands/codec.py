"""`codec`: a key for encrypted histories, and the server that lets the Web UI read them."""

from typing import Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import execute, write
from starter.machine.engine import read_settings


def codec(
    new_key: Annotated[
        str | None, typer.Option(metavar="ID", help="Print a new key with this id, and exit.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port on 127.0.0.1.")] = 8081,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Web UI to allow. Default: the bundled server's."),
    ] = None,
) -> None:
    """Decrypt sessions for the Web UI, or make a key (BLUEFLAME_PAYLOAD_KEYS)."""
    execute(_new_key(new_key) if new_key is not None else _serve(port, tuple(origin or ())))


async def _new_key(name: str) -> ExitCode:
    from workers.payload_keys import PayloadKeyError, new_key

    try:
        write([new_key(name)])
    except PayloadKeyError as error:
        raise CommandError(str(error)) from None
    return ExitCode.COMPLETE


async def _serve(port: int, origins: tuple[str, ...]) -> ExitCode:
    from workers.temporal.codec_server import serve
    from workers.temporal.connection import payload_codec, read_server_file

    settings = read_settings()
    if settings.payload_keys is None:
        raise CommandError(
            "nothing is encrypted here: BLUEFLAME_PAYLOAD_KEYS is not set; "
            "`blueflame codec --new-key ID` makes a key"
        )
    server = read_server_file(settings)
    if not origins and server is None:
        raise CommandError(
            "which Web UI may ask is not known; name it by --origin http://HOST:PORT"
        )
    allowed = origins or _origins(server.ui if server else "")
    write(
        [
            f"codec server on http://127.0.0.1:{port} for {', '.join(allowed)}",
            "In the Web UI: the glasses at the top, then this address as the codec endpoint.",
        ]
    )
    try:
        await serve(payload_codec(settings), allowed, port)
    except OSError as error:
        raise CommandError(f"port {port} cannot be served ({error.strerror})") from None
    return ExitCode.COMPLETE


def _origins(ui: str) -> tuple[str, ...]:
    """Return both names under which a browser may have opened a Web UI on this machine."""
    ui = ui.rstrip("/")
    return tuple(dict.fromkeys((ui, ui.replace("//127.0.0.1:", "//localhost:"))))
