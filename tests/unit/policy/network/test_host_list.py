"""`policy.network`: the hosts that set-up may reach, and nothing that only looks like them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.network.host_list import (
    covers,
    entry_fault,
    host_refusal,
    normal_name,
    registry_fault,
)
from workflows.policy.network.public_addresses import address_fault, private_address_fault

LIST = (
    "pkg.example",
    "git.example.org:8443",
    "*.npm.example",
    "BÜCHER.example.",
    "*.one.example:81",
)


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("pkg.example", 443),
        ("pkg.example", 80),
        ("Pkg.Example", 443),
        ("pkg.example.", 443),
        ("\uff30\uff2bG.example", 443),
        ("pkg。example", 443),
        ("git.example.org", 8443),
        ("a.npm.example", 443),
        ("a.b.npm.example", 80),
        ("bücher.example", 443),
        ("xn--bcher-kva.example", 443),
        ("a.one.example", 81),
    ],
)
def test_a_listed_host_is_reached(host: str, port: int):
    assert host_refusal(host, port, LIST) is None


@pytest.mark.parametrize(
    ("host", "port", "wanted"),
    [
        ("files.other.example", 443, "'files.other.example'"),
        ("evilpkg.example", 443, "'evilpkg.example'"),
        ("pkg.example.evil.example", 443, "'pkg.example.evil.example'"),
        ("www.pkg.example", 443, "'www.pkg.example'"),
        ("npm.example", 443, "'npm.example'"),
        ("evilnpm.example", 443, "'evilnpm.example'"),
        ("other.example", 9000, "'other.example:9000'"),
        ("pkg.example", 22, "'pkg.example:22'"),
        ("git.example.org", 443, "'git.example.org:443'"),
        ("a.one.example", 443, "'a.one.example:443'"),
    ],
)
def test_a_refusal_names_the_entry_that_is_missing(host: str, port: int, wanted: str):
    refusal = host_refusal(host, port, LIST)
    assert refusal is not None
    assert f"add {wanted} there" in refusal.text
    assert host_refusal(host, port, (*LIST, wanted.strip("'"))) is None


ADDRESSES = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "8.8.8.8",
    "8.8.8.8.",
    "\uff11\uff12\uff17.0.0.1",
    "127。0。0。1",
    "0X7F.1",
    "1.2.3.0x",
    "[::1]",
    "::1",
    "[::ffff:127.0.0.1]",
    "[fe80::1%eth0]",
    "pkg.example.1",
]


@pytest.mark.parametrize("host", ADDRESSES)
def test_an_address_is_refused_in_every_spelling(host: str):
    refusal = host_refusal(host, 443, ("pkg.example", host, f"{host}:443", "*.org"))
    assert refusal is not None
    assert "it is an address" in refusal.text
    assert entry_fault(host) is not None


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            " ",
            ".",
            "..",
            "pkg..example",
            ".pkg.example",
            "pkg.example..",
            "-pkg.example",
            "pkg-.example",
        ),
        *(
            "pkg.example/",
            "a@pkg.example",
            "pkg.example\0",
            "pkg.example\n",
            "pkg.example#",
            "*.org.example",
        ),
        *("localhost", "intranet", "straße.example", "a\u200db.example", f"{'a' * 64}.example"),
        f"{'a.' * 130}example",
    ],
)
def test_an_incomplete_host_name_is_refused(host: str):
    refusal = host_refusal(host, 443, (*LIST, host))
    assert refusal is not None
    assert normal_name(host).name == ""


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("", "empty"),
        ("*", "whole labels"),
        ("py*.example", "whole labels"),
        ("*.*.example.org", "whole labels"),
        ("a.*.example", "whole labels"),
        ("*.org", "not a full name"),
        ("localhost", "not a full name"),
        ("https://pkg.example", "not a host name"),
        ("pkg.example/simple", "not a host name"),
        ("10.0.0.1", "an address"),
        ("[::1]:443", "an address"),
        ("pkg.example:", "its port ''"),
        ("pkg.example:0", "its port '0'"),
        ("pkg.example:65536", "its port '65536'"),
        ("pkg.example:https", "its port 'https'"),
        ("straße.example", "xn--"),
    ],
)
def test_an_entry_that_cannot_be_taken_says_why_and_allows_nothing(entry: str, said: str):
    assert said in (entry_fault(entry) or "")
    assert host_refusal("pkg.example", 443, (entry,)) is not None


@pytest.mark.parametrize("entry", [*LIST, "_srv.example.org", "pkg.example:65535"])
def test_a_good_entry_is_taken(entry: str):
    assert entry_fault(entry) is None


@given(st.text(max_size=40), st.integers(0, 70_000))
def test_no_text_raises_and_without_a_list_nothing_is_reached(host: str, port: int):
    assert host_refusal(host, port, ()) is not None
    assert isinstance(entry_fault(host), str | None)


@given(st.text(alphabet="abAB.-*:019xüß。[]", max_size=20), st.sampled_from([80, 443, 8443]))
def test_an_allowed_name_is_in_the_list(host: str, port: int):
    if host_refusal(host, port, ("a.b", "*.ab.b:8443")) is None:
        name = normal_name(host).name
        assert name == "a.b" or (name.endswith(".ab.b") and port == 8443)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_a_public_address_is_reached(address: str):
    assert address_fault(address) is None


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "shared"),
        ("100.100.100.200", "shared"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("168.63.129.16", "metadata"),
        ("192.0.0.192", "reserved"),
        ("198.18.0.1", "benchmarks"),
        ("203.0.113.9", "documentation"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::127.0.0.1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::8.8.8.8", "reserved"),
        ("2002:7f00:1::1", "loopback"),
        ("2002:a00:1::", "private"),
        ("2001:0:808:808::1", "reserved"),
        ("2001:db8::1", "documentation"),
        ("fc00::1", "private"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("2606:4700::1111%eth0", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("100::1", "reserved"),
        ("4000::1", "reserved"),
        ("host.example", "no address"),
        ("", "no address"),
        ("127.1", "no address"),
    ],
)
def test_any_other_address_is_not(address: str, kind: str):
    assert kind in (address_fault(address) or "")


@given(st.ip_addresses())
def test_what_python_knows_as_local_is_never_reached(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
):
    if address_fault(str(address)) is None:
        # A 6to4 address is as public as what it holds; older Pythons call all of them private.
        address = getattr(address, "sixtofour", None) or address
        local = (address.is_loopback, address.is_link_local, address.is_private)
        assert not any((*local, address.is_multicast, address.is_unspecified))


@pytest.mark.parametrize(
    ("entry", "host", "port", "is_meant"),
    [
        ("mirror.example.org", "mirror.example.org", 443, True),
        ("mirror.example.org", "mirror.example.org", 80, True),
        ("mirror.example.org", "mirror.example.org", 8443, False),
        ("mirror.example.org:8443", "mirror.example.org", 8443, True),
        ("mirror.example.org:8443", "mirror.example.org", 443, False),
        ("mirror.example.org", "a.mirror.example.org", 443, False),
        ("10.0.0.1", "10.0.0.1", 443, False),
    ],
)
def test_a_registry_is_exactly_its_host_and_port(entry: str, host: str, port: int, is_meant: bool):
    assert covers(entry, host, port) is is_meant


@pytest.mark.parametrize("host", ["*.example.org", "10.0.0.1", "localhost", "https://a.example"])
def test_a_registry_is_one_host_by_its_name(host: str):
    assert registry_fault(host) is not None


@pytest.mark.parametrize(
    "address",
    [
        *("10.1.2.3", "192.168.0.9", "172.16.0.1", "127.0.0.1", "203.0.113.80", "100.64.0.1"),
        *("::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
        *("8.8.8.8", "2606:4700::1111", "198.18.0.1"),
    ],
)
def test_a_private_registry_may_be_at_any_machine(address: str):
    assert private_address_fault(address) is None


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"),
        *("fe80::1", "fe80::1%eth0", "fd00:ec2::254", "168.63.129.16", "100.100.100.200"),
        *("192.0.0.192", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "fec0::1"),
        "text",
    ],
)
def test_not_even_a_private_registry_is_reached_where_metadata_is_kept_or_no_one_is(address: str):
    assert private_address_fault(address)
    assert address_fault(address)
