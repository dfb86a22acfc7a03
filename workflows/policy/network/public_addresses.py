"""Which IP addresses set-up commands may reach: only public addresses of single machines.

A list of names protects little if a name may lead into the person's own network: the owner of a
listed name's DNS could then reach services there. So every address that a name resolves to is
judged here, as are addresses inside others (IPv4-mapped, NAT64, 6to4). A registry that the person
marks as private may be anywhere except where no one serves packages. The tables follow IANA's
registries of special-purpose addresses (RFC 6890 and its successors). They do not use
`ipaddress`, because its answers differ between versions of Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_FOUR: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider's customers"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's metadata"),
        ("169.254.0.0/16", "link-local, where clouds keep metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_SIX: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
    )
)
_NEVER_FOUR: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "192.0.0.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_NEVER_SIX: Final = tuple(
    map(IPv6Network, ("::/128", "fd00:ec2::/32", "fe80::/10", "fec0::/10", "ff00::/8"))
)
"""Refused even for a private registry: no machine is there, or a cloud's metadata service."""
_GLOBAL: Final = IPv6Network("2000::/3")
"""The part of IPv6 that is assigned to single machines on the Internet."""
_EMBEDDING: Final = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
"""IPv4-mapped, NAT64 (RFC 6052), 6to4 (RFC 3056), each with the bits after the inner address."""


def address_fault(address: str) -> str | None:
    """Say why set-up may not reach an address; None for a public one.

    Args:
        address: in its usual form, as a resolver returns it; IPv6 without brackets.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no address"
    return _four(parsed) if isinstance(parsed, IPv4Address) else _six(parsed)


def private_address_fault(address: str) -> str | None:
    """Say why not even a private registry may be at an address; None if it may.

    Args:
        address: as in `address_fault`.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id is not None or any(parsed in each for each in _NEVER_SIX):
            return address_fault(address) or "a cloud's metadata"
        inner = _inner(parsed)
        if inner is None:
            return None
        parsed = inner
    is_never = any(parsed in each for each in _NEVER_FOUR)
    return (_four(parsed) or "reserved") if is_never else None


def _four(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _FOUR if address in network), None)


def _six(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "link-local"
    inner = _inner(address)
    if inner is not None:
        kind = _four(inner)
        return None if kind is None else f"{kind} ({inner} within it)"
    named = next((kind for network, kind in _SIX if address in network), None)
    return named or (None if address in _GLOBAL else "reserved")


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address within an IPv6 one; None if there is none."""
    for network, behind in _EMBEDDING:
        if address in network:
            return IPv4Address(int(address) >> behind & 0xFFFFFFFF)
    return None
