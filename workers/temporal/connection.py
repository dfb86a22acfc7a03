"""How every Blue Flame process reaches Temporal: one address, one data converter.

The address is the person's (`TEMPORAL_ADDRESS`, `TEMPORAL_PROFILE`) or the bundled server's, in
`<data>/server.json`. Nothing is started here; `workers.server.dev_server` does that.
"""

import asyncio
import dataclasses
import re
import shlex
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, ValidationError
from temporalio.client import Client, GrpcCompression
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, ExternalStorage, PayloadCodec
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from activities.adapters.blob_store import LocalStore
from workers.bounded_log import last_line
from workers.hosting import data_layout
from workers.payload_keys import read_keys
from workers.settings import Settings
from workers.temporal import failure_redaction
from workers.temporal.database_faults import database_fault
from workers.temporal.external_payloads import THRESHOLD_BYTES, LocalPayloadDriver
from workers.temporal.payload_encryption import EncryptingCodec, KeylessCodec
from workers.temporal.temporal_errors import NoServerError, TemporalUnavailableError
from workers.temporal.tolerant_outcomes import TolerantPayloadConverter

_POLL_SECONDS = 0.1


class ServerAddress(BaseModel, frozen=True, extra="ignore"):
    """The content of `<data>/server.json`."""

    schema_version: int = 1
    address: str
    """`host:port` of the gRPC service."""
    ui: str
    """The Web UI's URL."""
    playbook: str = ""
    """The playbook that the server was started with; empty: none."""


def payload_codec(settings: Settings) -> PayloadCodec:
    """Return the codec for a person's keys."""
    if settings.payload_keys is None:
        return KeylessCodec()
    return EncryptingCodec(read_keys(settings.payload_keys.get_secret_value()))


def data_converter(settings: Settings) -> DataConverter:
    """Return the one converter of CLI and workers.

    It is Pydantic's, with secrets removed from failures, large payloads stored outside, everything
    encrypted if the person gave keys, and tolerant of outcomes of a newer release.
    """
    return dataclasses.replace(
        pydantic_data_converter,
        payload_converter_class=TolerantPayloadConverter,
        payload_codec=payload_codec(settings),
        failure_converter_class=failure_redaction.Redacting
        if settings.payload_keys is None
        else failure_redaction.Sealed,
        external_storage=ExternalStorage(
            drivers=[LocalPayloadDriver(LocalStore(settings.store_dir))],
            payload_size_threshold=THRESHOLD_BYTES,
        ),
    )


def server_file(settings: Settings) -> Path:
    """Return the path of the file with the bundled server's address."""
    return settings.data_dir / "server.json"


def read_server_file(settings: Settings) -> ServerAddress | None:
    """Return the bundled server's last address; None if there is none."""
    try:
        return ServerAddress.model_validate_json(server_file(settings).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def target(settings: Settings) -> str:
    """Return `host:port` of the server that this process uses.

    Raises:
        NoServerError: no server is named and none was started here.
        TemporalUnavailableError: the named profile does not exist or has no address.
    """
    return _connect_config(settings).get("target_host", "")


async def connect(
    settings: Settings, wait: timedelta = timedelta(seconds=10), runtime: Runtime | None = None
) -> Client:
    """Connect to the server.

    Args:
        settings: the process's.
        wait: how long to retry while the server is starting.
        runtime: of the SDK, with its own metrics; None: the default, without metrics.

    Raises:
        NoServerError: no server is named and none was started here.
        TemporalUnavailableError: the server does not answer in time, or refuses.
    """
    config = _connect_config(settings)
    try:
        async with asyncio.timeout(wait.total_seconds()):
            client = await _first_answer(config, settings, runtime)
    except (RPCError, RuntimeError, TimeoutError, ValueError) as error:
        raise TemporalUnavailableError(
            f"the Temporal server at {config.get('target_host')!r} does not answer"
            f"{_reason(error)}; {_remedy(settings)}"
        ) from error
    # Only now, because a failed attempt must leave nothing behind.
    if not settings.store_dir.is_dir():
        data_layout.prepare(settings)
    return client


def _remedy(settings: Settings) -> str:
    if settings.has_external_server:
        return "check TEMPORAL_ADDRESS, its certificates and the network"
    database = data_layout.database(settings)
    if fault := database_fault(last_line(settings.logs_dir / "temporal.log"), database):
        return fault
    server = read_server_file(settings)
    played = f" --playbook {shlex.quote(server.playbook)}" if server and server.playbook else ""
    return f"`blueflame up --detach{played}` starts the bundled one again"


async def _first_answer(
    config: ClientConnectConfig, settings: Settings, runtime: Runtime | None
) -> Client:
    converter = data_converter(settings)
    # To the bundled server nothing crosses a network, so compressing costs more than it saves.
    compression = GrpcCompression.GZIP if settings.has_external_server else GrpcCompression.NONE
    while True:
        try:
            return await Client.connect(
                **config,
                data_converter=converter,
                grpc_compression=compression,
                runtime=runtime,
            )
        except RuntimeError as error:
            # A starting server opens its port before its services are ready.
            if "not healthy yet" not in str(error):
                raise
        await asyncio.sleep(_POLL_SECONDS)


def _connect_config(settings: Settings) -> ClientConnectConfig:
    if settings.has_external_server:
        return _external_config(settings)
    if settings.server is not None:
        return {"target_host": settings.server, "namespace": "default"}
    server = read_server_file(settings)
    if server is None:
        raise NoServerError(
            "no Temporal server was started here yet; `blueflame up --detach` starts the bundled "
            "one, TEMPORAL_ADDRESS names another"
        )
    return {"target_host": server.address, "namespace": "default"}


def _external_config(settings: Settings) -> ClientConnectConfig:
    profile = settings.temporal.get("TEMPORAL_PROFILE")
    try:
        # The table's keys are those of `Client.connect`.
        config = ClientConfig.load_client_connect_config(
            profile, override_env_vars=settings.temporal
        )
    except (RuntimeError, ValueError) as error:
        raise TemporalUnavailableError(
            f"Temporal profile {profile!r} cannot be read: {error}; "
            "`temporal config list` shows the profiles"
        ) from error
    if "target_host" not in config:
        raise TemporalUnavailableError(
            f"Temporal profile {profile!r} has no address; set it, or TEMPORAL_ADDRESS"
        )
    return config


def _reason(error: BaseException) -> str:
    # The SDK reports a failed connection as a dump of its own errors; the message is inside.
    found = re.search(r'message: "([^"]+)"', str(error))
    text = found[1] if found else str(error).strip().partition("\n")[0][:200]
    return f" ({text})" if text else ""
