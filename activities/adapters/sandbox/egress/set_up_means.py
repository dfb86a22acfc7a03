"""What a set-up command with a network gets besides the proxy: indexes and certificates."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.adapters.sandbox.egress.inner_authority import InnerAuthority
from activities.ports.registry_access import ReachableRegistries
from workflows.policy.network.host_list import normal_name

BUNDLE: Final = "/etc/registries/certificates.pem"
_TRUST: Final = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("npm_config_cafile", "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO"),
)
"""Variables that name trusted certificates: for OpenSSL, Go and uv, requests, pip, curl, Node, npm
(if its own file sets `cafile`), cargo and git. Java reads none of them."""
_SYSTEM: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


class SetUpMeans:
    """The variables and files of one command."""

    def __init__(self, registries: ReachableRegistries) -> None:
        """Make the authority, if a registry needs credentials."""
        self._registries = registries
        named = [each.host for each in registries.access.registries if each.token_from is not None]
        hosts = [normal_name(each.partition(":")[0]).name for each in named]
        self.authority = InnerAuthority(hosts) if hosts else None

    @property
    def _is_trusting(self) -> bool:
        return self.authority is not None or bool(self._registries.tools.authorities)

    def variables(self, shown: Mapping[str, Path]) -> dict[str, str]:
        """Return the variables; none of them holds a credential.

        Args:
            shown: directories that the sandbox shows, by name, with their real paths.
        """
        places = (*map(Path, shown), *shown.values(), Path("/usr"))
        trust = dict.fromkeys(_TRUST, BUNDLE) if self._is_trusting else {}
        # npm would ask about vulnerabilities by POST, which is refused and reported to the person.
        silent = {} if self.authority is None else {"npm_config_audit": "false"}
        return {**self._registries.variables(places), **trust, **silent}

    @property
    def files(self) -> dict[str, str]:
        """The files, by their paths inside."""
        if not self._is_trusting:
            return self._registries.tools.files
        own = "" if self.authority is None else self.authority.certificate
        bundle = f"{_system_certificates()}{self._registries.tools.authorities}{own}"
        return {**self._registries.tools.files, BUNDLE: bundle}


def _system_certificates() -> str:
    """Return this machine's trusted certificates, PEM; empty if they are not in one file."""
    for name in (*_SYSTEM, ssl.get_default_verify_paths().cafile or ""):
        if (path := Path(name)).is_file():
            return path.read_text(encoding="utf-8").rstrip() + "\n"
    return ""
