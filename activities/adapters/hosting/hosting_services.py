"""The hosting services that a person allows, and the one that a repository is on."""

from functools import partial

from activities.adapters.hosting import gitea, github, gitlab
from activities.adapters.hosting.configured_services import ConfiguredServices
from activities.adapters.hosting.hosting_http import HostingHttp
from activities.adapters.hosting.hosting_tokens import read_token
from activities.ports.land.hosting_entries import HostingService, RemoteAddress
from activities.ports.land.hosting_port import HostingRefusedError, PullService


class HostingServices(ConfiguredServices):
    """What role `land` may speak to; see the port `Hosting`."""

    def allowed(self, address: RemoteAddress) -> HostingService:
        """Return the service that a repository is on, if branches may be pushed to it."""
        service = self._services.get(address.host)
        if service is None or not service.may_push(address.repository):
            entry = f"hosting: {{{address.host}: {{repositories: [{address.repository}]}}}}"
            raise HostingRefusedError(
                f"you do not allow pushes to {address.repository!r} on {address.host!r}; to allow "
                f"them, put this line into your own configuration and start the workers again: "
                f"`{entry}`"
            )
        return service

    async def token(self, service: HostingService) -> str:
        """Return the token of a service."""
        return await read_token(service, self._environment)

    def pulls(self, service: HostingService, repository: str) -> PullService:
        """Return the pull requests of a repository."""
        token = partial(self.token, service)
        match service.api:
            case "github":
                http = HostingHttp(service, token, github.headers, self._wire)
                return github.GitHubPulls(http, repository)
            case "gitlab":
                http = HostingHttp(service, token, gitlab.headers, self._wire)
                return gitlab.GitLabPulls(http, repository)
            case "gitea":
                http = HostingHttp(service, token, gitea.headers, self._wire)
                return gitea.GiteaPulls(http, repository)
