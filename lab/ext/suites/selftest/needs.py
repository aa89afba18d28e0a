"""Find the needs of a selftest that a guest does not meet: kernel options, and programs, including BPF programs.

The module finds the needs in the test's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lab.machine.userland.cache import Userland

# A pattern in a test's own text -> the kernel option that it needs.
_LINKS = {
    "amt": "AMT",
    "bareudp": "BAREUDP",
    "bond": "BONDING",
    "erspan|ip6erspan|ip6gre|ip6gretap": "IPV6_GRE",
    "geneve": "GENEVE",
    "gre|gretap": "NET_IPGRE",
    "gtp": "GTP",
    "hsr": "HSR",
    "ip6tnl": "IPV6_TUNNEL",
    "ipip": "NET_IPIP",
    "ipvlan": "IPVLAN",
    "ipvtap": "IPVTAP",
    "macsec": "MACSEC",
    "macvlan": "MACVLAN",
    "macvtap": "MACVTAP",
    "netdevsim": "NETDEVSIM",
    "netkit": "NETKIT",
    "nlmon": "NLMON",
    "sit": "IPV6_SIT",
    "team": "NET_TEAM",
    "vrf": "NET_VRF",
    "vti": "NET_IPVTI",
    "vti6": "IPV6_VTI",
    "vxlan": "VXLAN",
    "wireguard": "WIREGUARD",
    "xfrm": "XFRM_INTERFACE",
}
_WORDS = {
    # `type vxlan` in a script; "vxlan" as an argument of a program or of the script's function
    **{rf"\btype ['\"]?(?:{kinds})\b|(['\"])(?:{kinds})\1": option for kinds, option in _LINKS.items()},
    r"\bencap seg6|\bseg6local\b": "IPV6_SEG6_LWTUNNEL",
    r"\bip l2tp\b|\bl2tp add\b": "L2TP",
    r"\bip xfrm\b|\bxfrm (?:state|policy)\b": "XFRM_USER",
    r"netdevsim\b": "NETDEVSIM",
    r"\bvlan_filtering 1|\bbridge\b.* vlan (?:add|del|set|show|global)\b": "BRIDGE_VLAN_FILTERING",
    r"\baction ct\b": "NET_ACT_CT",
    r"-m length\b": "NETFILTER_XT_MATCH_LENGTH",
    r"io_uring": "IO_URING",
    r"\bioam6?\b": "IPV6_IOAM6_LWTUNNEL",
    r"IPPROTO_SCTP|\bsctp\b": "IP_SCTP",
    r"drop_monitor|\bdropmon\b": "NET_DROP_MONITOR",
    r'"tls"': "TLS",
    r"\bpktgen\b": "NET_PKTGEN",
    r"\bnexthop (?:via|dev)\b": "IP_ROUTE_MULTIPATH",
    r"\bnproc\b|\bget_nprocs\b": "SMP",  # a test that asks for the number of CPUs may need a second one
    r"\btest_bpf\b": "TEST_BPF",
    r"\bPF_KEY\b|\bNETLINK_XFRM\b": "XFRM_USER",
}
# Programs that guests do not have, unless their userland has them.
_PROGRAMS = (
    *("arping", "bpftool", "clang", "conntrack", "dropwatch", "jq", "modprobe", "ndisc6", "openssl", "perl", "rdisc6"),
    *("socat", "teamd", "traceroute6", "traceroute", "tshark", "unshare", "wg"),
)
_BPF = r"[\w./-]*\w\.bpf\.o\b"  # an object for the kernel's own machine, which the locked compiler cannot make


def lacking(text: str, configuration: str, userland: Userland) -> tuple[str, ...]:
    """Return the options and programs that a test's text mentions but that are missing in the kernel and the
    userland.
    """
    return (*_options(text, configuration), *_programs(text, userland))


def _options(text: str, configuration: str) -> Iterator[str]:
    there = set(re.findall(r"^CONFIG_(\w+)=[ym]$", configuration, re.MULTILINE))
    needed = (option for words, option in _WORDS.items() if option not in there and re.search(words, text))
    yield from (f"CONFIG_{option}" for option in dict.fromkeys(needed))


def _programs(text: str, userland: Userland) -> Iterator[str]:
    plain = re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE)
    # unshare() is a system call, `-m conntrack` a match of iptables
    named = (name for name in _PROGRAMS if re.search(rf"(?<!-m )\b{name}\b(?!\()", plain))
    yield from (name for name in named if not userland.has(name))
    yield from sorted({*re.findall(_BPF, plain)})
