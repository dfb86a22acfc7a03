"""Claiming a host: the shared queue answers with the queue that leads to one host's disk."""

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.ports.registry_access import RegistryError
from activities.ports.toolchain_places import ToolchainError
from activities.repository.host_data import Host
from workflows.contracts.host_contracts import ClaimHost, HostClaim
from workflows.errors import FailureType


class HostActivities:
    """Activity `hosts.claim`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="hosts.claim")
    async def claim(self, request: ClaimHost) -> HostClaim:
        """Answer for this host, or refuse: without a sandbox nothing starts unless it was accepted.

        Raises:
            ApplicationError: SandboxUnavailable, with the reason and how to fix it; a toolchain
                or registry that the session wants and this host was not told of is one.
        """
        probe = await self._host.sandbox.probe()
        if not probe.usable:
            raise ApplicationError(
                probe.reason or "there is no usable sandbox on this host",
                type=FailureType.SANDBOX_UNAVAILABLE,
                non_retryable=True,
            )
        if probe.name == "none" and request.sandbox == "required":
            raise ApplicationError(
                f"host {self._host.name!r} confines nothing (it was started with sandbox: none); "
                "start its worker with the sandbox, or say `sandbox: none` in the configuration",
                type=FailureType.SANDBOX_UNAVAILABLE,
                non_retryable=True,
            )
        try:
            self._host.toolchains.wanted(request.environment)
            self._host.registries.wanted(request.environment.access)
        except (ToolchainError, RegistryError) as error:
            raise ApplicationError(
                f"host {self._host.name!r}: {error}",
                type=FailureType.SANDBOX_UNAVAILABLE,
                non_retryable=True,
            ) from error
        return HostClaim(
            host=self._host.name,
            queue=self._host.queue,
            sandbox=probe.name,
            warnings=probe.warnings,
        )
