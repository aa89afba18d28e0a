"""What a test needs that its guest lacks is named, and nothing that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.suites.selftest.needs import lacking
from lab.machine.userland.cache import Userland

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
        ('dev_create(param_dev_tap_name, "macvtap", macvtap_fill_rtattr, NULL);', ("CONFIG_MACVTAP",)),
        ("gre_flags='gre'", ("CONFIG_NET_IPGRE",)),
        ('ip link add team0 type dummy; echo "a team of two"', ()),
        ("nsim=$(create_netdevsim $NSIM_ADDR $NS)", ("CONFIG_NETDEVSIM",)),
        ("ip link add name br0 type bridge vlan_filtering 1", ("CONFIG_BRIDGE_VLAN_FILTERING",)),
        ("ip link add name br0 type bridge vlan_filtering 0", ()),
        ('bridge -n "$NS" vlan add vid 10 dev dummy0', ("CONFIG_BRIDGE_VLAN_FILTERING",)),
        ("ip link add link br0 name br0.10 type vlan id 10", ()),
        ("proto ip flower ip_proto tcp action ct", ("CONFIG_NET_ACT_CT",)),
        ("-m length ! --length 0:$CHK_SIZE -j ACCEPT", ("CONFIG_NETFILTER_XT_MATCH_LENGTH",)),
        ("ASSERT_EQ(unshare(CLONE_NEWNET), 0);", ()),
        ("unshare -n ./in_a_namespace", ("unshare",)),
        ("ip6tables -A INPUT -m conntrack --ctstate INVALID -j ACCEPT", ()),
        ("nr_server = get_nprocs();", ("CONFIG_SMP",)),
        ("[ $(nproc) -gt 2 ] || exit 4", ("CONFIG_SMP",)),
        ("ip route add 203.0.113.0/24 nexthop via 198.51.100.2", ("CONFIG_IP_ROUTE_MULTIPATH",)),
        ('readonly BIN_TX="./io_uring_zerocopy_tx"', ("CONFIG_IO_URING",)),
        (".so_protocol = IPPROTO_SCTP,", ("CONFIG_IP_SCTP",)),
        ('BPF_FILE="lib/xdp_dummy.bpf.o"', ("lib/xdp_dummy.bpf.o",)),
        ("tc filter add dev v ingress bpf object-file nat6to4.bpf.o", ("nat6to4.bpf.o",)),
    ],
)
def test_what_lacks(text: str, lacks: tuple[str, ...], userland: Userland) -> None:
    assert lacking(text, CONFIGURATION, userland) == lacks
