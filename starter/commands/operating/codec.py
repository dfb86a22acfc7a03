"""`codec`: a key for encrypted histories, and the server that lets the Web UI read them."""

from typing import Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.terminal import command, write
from starter.machine.own_settings import read_settings


@command
async def codec(
    new_key: Annotated[
        str | None, typer.Option(metavar="ID", help="Print a new key with this id, and exit.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port on 127.0.0.1.")] = 8081,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Address of a Web UI to allow. Default: the bundled one's."
        ),
    ] = None,
) -> ExitCode:
    """Let the Web UI decrypt sessions, or print a new key.

    The keys are in the variable BLUEFLAME_PAYLOAD_KEYS.
    """
    if new_key is None:
        await _serve(port, tuple(origin or ()))
        return ExitCode.COMPLETE
    from workers import payload_keys

    try:
        write([payload_keys.new_key(new_key)])
    except payload_keys.PayloadKeyError as error:
        raise CommandError(str(error)) from None
    return ExitCode.COMPLETE


async def _serve(port: int, origins: tuple[str, ...]) -> None:
    from workers.payload_keys import read_keys
    from workers.temporal.codec_server import HOST, listen, secret_path, serve
    from workers.temporal.connection import payload_codec, read_server_file

    settings = read_settings()
    if settings.payload_keys is None:
        raise CommandError(
            "nothing is encrypted here: BLUEFLAME_PAYLOAD_KEYS is not set; "
            "`blueflame codec --new-key ID` makes a key"
        )
    if not origins:
        server = read_server_file(settings)
        if server is None:
            raise CommandError(
                "the address of the Web UI is not known; give it with --origin http://HOST:PORT"
            )
        # Both names under which a browser may have opened it on this machine.
        ui = server.ui.rstrip("/")
        origins = tuple(dict.fromkeys((ui, ui.replace("//127.0.0.1:", "//localhost:"))))
    secret = secret_path(read_keys(settings.payload_keys.get_secret_value()))
    try:
        listening = listen(port)
    except OSError as error:
        raise CommandError(f"port {port} cannot be served ({error.strerror})") from None
    with listening:
        write(
            [
                f"codec endpoint: http://{HOST}:{port}/{secret} (for {', '.join(origins)})",
                "In the Web UI: the glasses at the top, then this address as the codec endpoint.",
                "Anyone who knows this address can decrypt: keep it to yourself.",
            ]
        )
        await serve(payload_codec(settings), secret, origins, listening)
