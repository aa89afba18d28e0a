"""Read the options of links that other links carry: bonds, VLANs, tunnels and VRFs.

Sources: iproute2's ip/iplink_bond.c, iplink_vlan.c, iplink_vxlan.c, iplink_vrf.c, link_gre.c and link_iptnl.c, and
the kernel's Documentation/networking/bonding.rst.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from lab.ext.importing import quantities
from lab.ext.importing.found import Device

TUNNELS = ("gre", "ipip", "vxlan")
CARRIED = ("bond", "vlan", *TUNNELS)
KINDS = (*CARRIED, "vrf", "macvlan", "ipvlan")
MODES = {"gre": "gre", "gre/ip": "gre", "ipip": "ipip", "any": "ipip", "any/ip": "ipip"}  # of `ip tunnel`
LARGEST = {"vlan": 4094, "gre": 2**32 - 1, "vxlan": 2**24 - 1, "vrf": 2**32 - 1}  # the numbers of links

_MODES = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")
_CLOSEST_MODE = {
    "balance-xor": "802.3ad",
    "broadcast": "active-backup",
    "balance-tlb": "802.3ad",
    "balance-alb": "802.3ad",
}
_HASHES = ("layer2", "layer3+4", "layer2+3")
# Options of a bond that change nothing in the lab: its wires keep their carrier, and LACP agrees at once.
_BOND_QUIET = {"miimon", "use_carrier", "arp_ip_target", "arp_validate", "arp_all_targets", "lacp_rate", "lacp_active"}
_BOND_QUIET |= {"ad_select", "fail_over_mac", "num_grat_arp", "num_unsol_na", "updelay", "downdelay", "min_links"}
_BOND_QUIET |= {"peer_notif_delay", "all_slaves_active", "primary_reselect", "resend_igmp", "ad_user_port_key"}
_BOND_QUIET |= {"ad_actor_sys_prio", "ad_actor_system", "tlb_dynamic_lb"}
_FLAGS = {"nolearning", "learning", "noproxy", "norsc", "nol2miss", "nol3miss", "noudpcsum", "udpcsum", "gbp"}
_FLAGS |= {"external", "noudp6zerocsumtx", "noudp6zerocsumrx", "udp6zerocsumtx", "udp6zerocsumrx", "vnifilter"}
_FLAGS |= {"pmtudisc", "nopmtudisc", "ignore-df", "noignore-df", "csum", "icsum", "ocsum", "seq", "iseq", "oseq"}
_FLAGS |= {"nocsum", "noicsum", "noocsum", "noseq", "noiseq", "nooseq", "noencap"}


def configure(device: Device, words: list[str], leave: Callable[[str], None]) -> None:
    """Apply the options after `type KIND`. `leave` notes what has no counterpart. Raises ValueError."""
    if device.kind == "bond":
        _bond(device, words, leave)
    elif device.kind == "vlan":
        given = _pairs(words)
        if "id" in given:
            device.number = number(given["id"], "vlan")
        if given.get("protocol", "802.1q").lower() == "802.1ad":
            leave(f"802.1ad of {device.name}: the tag has the type of 802.1Q")
    elif device.kind == "vrf":
        device.number = number(_pairs(words).get("table", "0"), "vrf")
    elif device.kind in TUNNELS:
        _tunnel(device, words, leave)


def number(text: str, kind: str) -> int:
    """Return the number of a link. Raises ValueError for one that is too large."""
    found = quantities.count(text)
    if found > LARGEST[kind]:
        raise ValueError(f"{text[:40]} is more than {LARGEST[kind]}, the largest number of a {kind}")
    return found


def _pairs(words: list[str]) -> dict[str, str]:
    """Return options with their values. Flags have none."""
    found: dict[str, str] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        if word in _FLAGS:
            found[word] = ""
        elif left:
            found[word] = left.pop()
    return found


def _bond(device: Device, words: list[str], leave: Callable[[str], None]) -> None:
    for name, value in _pairs(words).items():
        if name == "mode":
            mode = _MODES[int(value)] if value in tuple("0123456") else value
            if mode not in _MODES:
                raise ValueError(f"a bond has no mode '{value[:40]}'")
            closest = _CLOSEST_MODE.get(mode, mode)
            if closest != mode:
                leave(f"the mode {mode} of {device.name}: {closest} takes its place")
            device.options["mode"] = closest
        elif name == "xmit_hash_policy":
            policy = _HASHES[int(value)] if value in tuple("012") else value
            if policy in _HASHES:
                device.options["hash"] = policy
            else:
                leave(f"the hash {policy} of {device.name}: the lab has {', '.join(_HASHES)}")
        elif name == "arp_interval" and quantities.count(value):
            device.options["probe"] = f"{quantities.count(value)} ms"
        elif name in ("primary", "active_slave"):
            device.options["primary"] = value
        elif name not in _BOND_QUIET and name != "arp_interval":
            leave(f"{name} of {device.name} has no counterpart")


def _tunnel(device: Device, words: list[str], leave: Callable[[str], None]) -> None:
    given = _pairs(words)
    for end in ("local", "remote"):
        text = given.get(end, given.get("group", "") if end == "remote" else "")
        if text in ("", "any"):
            continue
        address = ipaddress.ip_address(text)
        if address.version == 6:
            raise ValueError(f"{device.name} through IPv6: the lab's tunnels go through IPv4")
        if not address.is_multicast and not address.is_unspecified:
            device.outer[end] = str(address)
    if device.kind == "vxlan" and {"id", "vni"} & set(given):
        device.number = number(given.get("id", given.get("vni", "")), "vxlan")
    if device.kind == "gre" and (key := given.get("key", given.get("okey"))):
        device.number = int(ipaddress.IPv4Address(key)) if "." in key else number(key, "gre")
    for option in ("csum", "seq", "ocsum", "oseq", "icsum", "iseq"):
        if option in words:
            leave(f"{option} of {device.name} has no counterpart: GRE carries no such field here")
    if given.get("encap", "none") != "none":
        leave(f"encap {given['encap']} of {device.name}: the tunnel's packets follow the IP header directly")


def file_of(path: str) -> tuple[str, str] | None:
    """Return (the bond's name, the option) of a file such as /sys/class/net/bond0/bonding/mode, or None."""
    parts = path.split("/")
    if path.startswith("/sys/class/net/") and len(parts) == 7 and parts[5] == "bonding":
        return parts[4], parts[6]
    return None
