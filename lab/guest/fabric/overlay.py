"""Build the links that other links carry: bonds, VLANs and tunnels, and VRFs; and read them back.

The numbers of attributes come from uapi linux/if_link.h and linux/if_tunnel.h.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from lab.guest.fabric import device, routes
from lab.guest.fabric.netlink import Netlink, attribute, attributes
from lab.guest.fabric.spaces import Spaces
from lab.guest.network import Bonding, Carried, Interface, Overlay, Vrf
from lab.units import Duration

IFLA_LINK = 5
BOND_MODES = {Bonding.BALANCE_RR: 0, Bonding.ACTIVE_BACKUP: 1, Bonding.LACP: 4}
BOND_HASHES = {"layer2": 0, "layer3+4": 1, "layer2+3": 2}
MII_INTERVAL = 100  # ms between two looks at a wire's carrier
FAST = 1  # of IFLA_BOND_AD_LACP_RATE: a message each second
TTL = 64  # of the packets that carry a tunnel, so that a hello with TTL 1 inside also arrives
VXLAN_PORT = 4789  # IANA's, RFC 7348
GRE_KEY = struct.pack("=H", socket.htons(0x2000))
RUNNING = (Carried.BOND, Carried.VLAN)  # kinds whose carrier is that of the links below

_Data = dict[int, bytes]
_IFINFO = struct.Struct("=BxHiII")
_AD_INFO, _AD_PORTS = 23, 2


def build_vrf(netlink: Netlink, vrf: Vrf) -> None:
    """Create a VRF's device, and a last route that refuses destinations without a route in its table.

    Without this route, the kernel would continue in the main table.
    """
    device.create(netlink, vrf.name, "vrf", [attribute(1, vrf.table)], [])
    device.up(netlink, vrf.name)
    for family in (socket.AF_INET, socket.AF_INET6):
        routes.refuse(netlink, family, vrf.table)


def build(spaces: Spaces, overlay: Overlay) -> None:
    """Create both ends of a bond, a VLAN or a tunnel. They get an MTU and a hardware address, but no IP address."""
    for end, side in overlay.sides():
        with spaces.inside(end.node) as netlink:
            more = [attribute(device.IFLA_MTU, end.mtu.bytes)]
            if overlay.kind is Carried.VLAN:
                more.append(attribute(IFLA_LINK, device.index(netlink, overlay.below[side][0])))
            if end.mac:
                more.append(attribute(device.IFLA_ADDRESS, bytes.fromhex(end.mac.replace(":", ""))))
            data = [attribute(kind, value) for kind, value in _wanted(overlay, side).items()]
            device.create(netlink, end.name, overlay.kind.value, data, more)
            if overlay.kind is Carried.BOND:
                for wire in overlay.below[side]:
                    device.down(netlink, wire)
                    device.enslave(netlink, wire, end.name)


def always_on(name: str) -> tuple[str, ...]:
    """Return the offloads that the kernel does not let a bond switch off.

    Without other offloads, the bond builds no super-packets.
    """
    return ("tx-gso-partial",) if name.startswith(Carried.BOND.value) else ()


def is_ready(netlink: Netlink, overlay: Overlay, end: Interface) -> bool:
    """Return whether an end carries frames: it has a carrier, and both ends of an 802.3ad bond agree on its wires."""
    if overlay.kind not in RUNNING:
        return True
    if overlay.mode is Bonding.LACP:
        found = attributes(_read(netlink, end.name)[1].get(_AD_INFO, b""))
        if found.get(_AD_PORTS) != struct.pack("=H", len(overlay.below[0])):
            return False
    return end.name in set(device.connected(netlink))


def differences(spaces: Spaces) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for the kind and the settings of every overlay and VRF."""
    for overlay in spaces.network.overlays:
        for end, side in overlay.sides():
            where = f"{end.node}: {end.name}"
            with spaces.inside(end.node) as netlink:
                kind, found = _read(netlink, end.name)
                yield f"{where} kind", overlay.kind.value, kind
                for number, wanted in _wanted(overlay, side).items():
                    yield f"{where} setting {number}", wanted.hex(), found.get(number, b"").hex()
                index = device.index(netlink, end.name)
                for name in overlay.below[side] if overlay.kind is Carried.BOND else ():
                    yield f"{where} carries {name}", index, _related(netlink, name, device.IFLA_MASTER)
                if overlay.kind is Carried.VLAN:
                    parent = device.index(netlink, overlay.below[side][0])
                    yield f"{where} is carried by", parent, _related(netlink, end.name, IFLA_LINK)
    for node in spaces.network.nodes:
        for vrf in node.vrfs:
            with spaces.inside(node.name) as netlink:
                kind, found = _read(netlink, vrf.name)
                yield f"{node.name}: VRF {vrf.name} kind", "vrf", kind
                yield f"{node.name}: VRF {vrf.name} table", struct.pack("=I", vrf.table), found.get(1)
                index = device.index(netlink, vrf.name)
                for name in vrf.interfaces:
                    master = _related(netlink, name, device.IFLA_MASTER)
                    yield f"{node.name}: VRF {vrf.name} has {name}", index, master


def _wanted(overlay: Overlay, side: int) -> _Data:
    """Return the settings of one end by the numbers of their attributes."""
    local, remote = (_ip(overlay.outer[each]) for each in (side, 1 - side)) if overlay.outer else (b"", b"")
    match overlay.kind:
        case Carried.BOND:
            return _bond(overlay, side)
        case Carried.VLAN:
            return {1: struct.pack("=H", overlay.number)}
        case Carried.GRE:
            key = struct.pack(">I", overlay.number)
            keyed = {2: GRE_KEY, 3: GRE_KEY, 4: key, 5: key} if overlay.number else {}
            return {**keyed, 6: local, 7: remote, 8: bytes([TTL]), 10: b"\1"}
        case Carried.IPIP:
            return {2: local, 3: remote, 4: bytes([TTL]), 10: b"\1"}
        case Carried.VXLAN:
            identifier = struct.pack("=I", overlay.number)
            return {1: identifier, 2: remote, 4: local, 5: bytes([TTL]), 15: struct.pack(">H", VXLAN_PORT)}


def _bond(overlay: Overlay, side: int) -> _Data:
    assert overlay.mode is not None
    mode = {1: bytes([BOND_MODES[overlay.mode]])}
    if overlay.probe:
        peer = next(text.split("/")[0] for text in overlay.ends[1 - side].addresses if ":" not in text)
        interval = struct.pack("=I", overlay.probe.ns // Duration.of("1 ms").ns)
        return {**mode, 7: interval, 8: attribute(0, _ip(peer))}
    watched = {**mode, 3: struct.pack("=I", MII_INTERVAL)}
    if overlay.mode is Bonding.LACP:
        return {**watched, 14: bytes([BOND_HASHES[overlay.hash]]), 21: bytes([FAST])}
    return watched


def _ip(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET, text)


def _read(netlink: Netlink, name: str) -> tuple[str, _Data]:
    """Return an interface's kind and data."""
    info = attributes(_attributes(netlink, name).get(device.IFLA_LINKINFO, b""))
    kind = info.get(device.IFLA_INFO_KIND, b"").rstrip(b"\0").decode()
    return kind, attributes(info.get(device.IFLA_INFO_DATA, b""))


def _attributes(netlink: Netlink, name: str) -> _Data:
    for body in netlink.dump("listing interfaces", device.RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0)):
        found = attributes(body[_IFINFO.size :])
        if found.get(device.IFLA_IFNAME, b"").rstrip(b"\0").decode() == name:
            return found
    return {}


def _related(netlink: Netlink, name: str, kind: int) -> int | None:
    """Return the number of the interface that the attribute `kind` of an interface names."""
    found = _attributes(netlink, name).get(kind)
    return struct.unpack("=I", found)[0] if found else None
