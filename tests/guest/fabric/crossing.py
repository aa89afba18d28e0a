"""Send what could cross a wire as a super-packet, and look at every frame on every wire: `python crossing.py`.

It runs in a guest. draws.json holds a list of draws (`test_frames.Draw`); found.json gets one answer for each: {"over":
[frames above the MTU, by a look of our own at the wires], "reasons": [what the fabric itself reports], "frames": how
many there were, "largest": bytes, "skipped": what this kernel cannot make, or null}.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from lab.guest.fabric.fabric import Fabric
from lab.guest.network import Network
from lab.units import from_plain

ETHERNET, TAGS = 14, (0x8100, 0x88A8)
UDP_SEGMENT, VNET_HDR, IPPROTO_MPTCP, IPPROTO_SCTP = 103, 15, 262, 132
GSO_TCP4, GSO_UDP_L4, NEEDS_CHECKSUM = 1, 5, 1
TUNSETIFF, IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x1, 0x1000, 0x4000
MOST = 60_000  # bytes of a super-packet
NEAR, FAR = "10.77.0.1", "10.77.0.2"  # the addresses of a tunnel's ends
SETTLE = 0.4  # seconds of virtual time, in which all arrives

# How to make one end of each kind of tunnel with `ip`, as its device v0; {here} and {there} are the ends' addresses.
TUNNELS = {
    "vlan": "link add v0 link eth0 type vlan id 5",
    "qinq": "link add v1 link eth0 type vlan protocol 802.1ad id 6\nlink set v1 up\nlink add v0 link v1 type vlan id 5",
    "macvlan": "link add v0 link eth0 type macvlan mode bridge",
    "vxlan": "link add v0 type vxlan id 5 local {here} remote {there} dstport 4789",
    "geneve": "link add v0 type geneve id 5 remote {there}",
    "gre": "link add v0 type gre local {here} remote {there}",
    "gretap": "link add v0 type gretap local {here} remote {there}",
    "ipip": "link add v0 type ipip local {here} remote {there}",
    "bond": "link add v0 type bond mode active-backup\nlink set eth0 down\nlink set eth0 master v0\nlink set eth0 up",
}


class Missing(Exception):
    """Raised with what this kernel does not have."""


def tunnel(draw: Mapping[str, Any], node: str, near: str, here: str, there: str) -> None:
    """Make one end of the draw's tunnel in a node's namespace."""
    lines = [TUNNELS[draw["tunnel"]].format(here=here, there=there), f"address add {near}/24 dev v0", "link set v0 up"]
    if draw["tunnel_mtu"]:
        lines.insert(1, f"link set v0 mtu {draw['tunnel_mtu']}")
    done = subprocess.run(["ip", "-n", node, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
    if "nknown device type" in done.stderr or "not supported" in done.stderr or "No such device" in done.stderr:
        raise Missing(draw["tunnel"])


def checksum(data: bytes) -> int:
    """Return the ones' complement sum of `data`, not inverted."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def super_packet(draw: Mapping[str, Any], source: str, target: str, offset: int) -> bytes:
    """Return a virtio header and an IPv4 packet of many segments; `offset` is what stands before the packet."""
    tcp = draw["protocol"].endswith("tcp")
    header = 20 if tcp else 8
    segment = min(draw["segment"], draw["mtu"] - 20 - header)
    size = header + min(draw["bytes"], MOST, segment * 60)
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    kind = 6 if tcp else 17
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, 1, 0x4000, 64, kind, 0) + ends
    ip = ip[:10] + struct.pack(">H", 0xFFFF ^ checksum(ip)) + ip[12:]
    pseudo = checksum(ends + struct.pack(">HH", kind, size))
    if tcp:
        transport = struct.pack(">HHIIBBHHH", 5002, 9, 1, 1, 0x50, 0x10, 500, pseudo, 0)
    else:
        transport = struct.pack(">HHHH", 5002, 9, size, pseudo)
    start, field = offset + 20, 16 if tcp else 6
    gso = GSO_TCP4 if tcp else GSO_UDP_L4
    virtio = struct.pack("=BBHHHH", NEEDS_CHECKSUM, gso, start + header, segment, start, field)
    return virtio + bytes(offset) + ip + transport + bytes(size - header)


def packet_socket(draw: Mapping[str, Any], network: Network, source: str, target: str) -> None:
    """Write a super-packet to the sender's interface, as a virtual machine monitor does."""
    (end,), hop = network.interfaces("a"), network.links[0].ends[1]
    far = hop if hop.addresses else network.interfaces("b")[0]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.setsockopt(263, VNET_HDR, 1)
        raw.bind((end.name, 0))
        made = super_packet(draw, source, target, ETHERNET)
        macs = bytes.fromhex((far.mac + end.mac).replace(":", ""))
        raw.send(made[:10] + macs + b"\x08\x00" + made[10 + ETHERNET :])


def tun(draw: Mapping[str, Any], _: Network, __: str, target: str) -> None:
    """Write a super-packet to a TUN device of the sender, which forwards it."""
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    device = os.open("/dev/net/tun", os.O_RDWR)
    try:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"t0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
        subprocess.run(["ip", "-batch", "-"], input="address add 10.99.0.1/24 dev t0\nlink set t0 up", text=True)
        os.write(device, super_packet(draw, "10.99.0.2", target, 0))
        time.sleep(SETTLE / 2)
    finally:
        os.close(device)


def datagrams(draw: Mapping[str, Any], _: Network, __: str, target: str) -> None:
    """Send datagrams with UDP_SEGMENT."""
    v6 = ":" in target
    segment = min(draw["segment"], draw["mtu"] - (48 if v6 else 28))
    with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment)
        with suppress(OSError):  # EMSGSIZE: the tunnel's MTU is smaller
            udp.sendto(bytes(min(draw["bytes"], MOST, 60 * segment)), (target, 9))


def stream(protocol: int) -> Callable[[Mapping[str, Any], Network, str, str], None]:
    """Return what sends a stream of this protocol."""

    def send(draw: Mapping[str, Any], _: Network, __: str, target: str) -> None:
        family = socket.AF_INET6 if ":" in target else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM, protocol) as sender:
            sender.settimeout(3)
            with suppress(OSError):
                sender.connect((target, 5001))
                sender.setblocking(False)
                sender.send(bytes(draw["bytes"]))
                time.sleep(SETTLE / 2)

    return send


PROTOCOLS: Mapping[str, Callable[[Mapping[str, Any], Network, str, str], None]] = {
    "udp": datagrams,
    "tcp": stream(socket.IPPROTO_TCP),
    "mptcp": stream(IPPROTO_MPTCP),
    "sctp": stream(IPPROTO_SCTP),
    "packet-tcp": packet_socket,
    "packet-udp": packet_socket,
    "tun-tcp": tun,
    "tun-udp": tun,
}


def listener(protocol: int, version: int) -> socket.socket:
    """Return a socket that takes a stream of this protocol. Raises Missing when the kernel has none."""
    try:
        made = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET, socket.SOCK_STREAM, protocol)
    except OSError as error:
        raise Missing(f"protocol {protocol}: {error.strerror}") from None
    made.bind(("::" if version == 6 else "0.0.0.0", 5001))
    made.listen()
    return made


def crossed(draw: Mapping[str, Any]) -> dict[str, Any]:
    """Perform one draw and return what was on the wires."""
    network = from_plain(draw["network"], Network)
    limits = {
        f"w{number}{'ab'[side]}": direction.mtu.bytes + ETHERNET
        for number, link in enumerate(network.links)
        for side, (_, direction, _) in enumerate(link.directions())
    }
    with Fabric(network) as fabric, ExitStack() as undo:
        with fabric.namespace("wires").entered():
            look = undo.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
            look.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
        version = draw["ip"]
        source, target = network.address("a", version), network.address("b", version)
        try:
            if draw["tunnel"]:
                tunnel(draw, "a", NEAR, source, target)
                tunnel(draw, "b", FAR, target, source)
                source, target = NEAR, FAR
            with fabric.namespace("b").entered():
                for protocol in {"tcp": 6, "mptcp": IPPROTO_MPTCP, "sctp": IPPROTO_SCTP}.items():
                    if draw["protocol"] == protocol[0]:
                        undo.enter_context(listener(protocol[1], version))
        except Missing as missing:
            return {"skipped": str(missing)}
        with fabric.namespace("a").entered():
            PROTOCOLS[draw["protocol"]](draw, network, source, target)
        time.sleep(SETTLE)
        over, count, largest = seen(look, limits)
        # A bond changes what the fabric set itself, which is not the question here.
        reasons = [each for each in fabric.differences() if "above" in each]
    return {"skipped": None, "over": over, "frames": count, "largest": largest, "reasons": reasons}


def seen(look: socket.socket, limits: Mapping[str, int]) -> tuple[list[str], int, int]:
    """Return (frames above their wire's limit, how many frames there were, bytes of the largest)."""
    over: list[str] = []
    count, largest, data = 0, 0, bytearray(64)
    while True:
        try:
            size, address = look.recvfrom_into(data, 0, socket.MSG_DONTWAIT | socket.MSG_TRUNC)
        except BlockingIOError:
            return over, count, largest
        name, _, direction, _, _ = address
        if name in limits and direction != socket.PACKET_OUTGOING:
            inner = 4 if struct.unpack_from(">H", data, 12)[0] in TAGS else 0
            count, largest = count + 1, max(largest, size)
            if size - inner > limits[name]:
                over.append(f"{name}: {size} B, {limits[name]} B at most")


if __name__ == "__main__":
    found = [crossed(draw) for draw in json.loads(Path("draws.json").read_text())]
    Path("found.json").write_text(json.dumps(found))
    sys.stdout.write(f"{len(found)}\n")
