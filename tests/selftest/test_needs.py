"""What a test needs that its guest lacks is named, and nothing that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.selftest.needs import lacking
from lab.userland.cache import Userland

CONFIGURATION = "CONFIG_NET=y\nCONFIG_VXLAN=m\n# CONFIG_NET_VRF is not set\n"


@pytest.fixture
def userland(tmp_path: Path) -> Userland:
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "jq").touch()
    return Userland("mine", tmp_path)


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("ip link add a type veth peer name b", ()),
        ("ip link add a type vrf table 10", ("CONFIG_NET_VRF",)),
        ("ip link add v type vxlan id 1", ()),
        ("ip link add g type gretap", ("CONFIG_NET_IPGRE",)),
        ("ip -6 route add x encap seg6 mode encap", ("CONFIG_IPV6_SEG6_LWTUNNEL",)),
        ("ip -j link | jq -r .x", ()),
        ("socat - TCP:x | conntrack -L", ("conntrack", "socat")),
        ("# needs socat, it says\ntrue", ()),
    ],
)
def test_what_lacks(text: str, lacks: tuple[str, ...], userland: Userland) -> None:
    assert lacking(text, CONFIGURATION, userland) == lacks
