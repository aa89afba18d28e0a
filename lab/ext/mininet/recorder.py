"""Record the networks that a Mininet script builds, and their packets: SOCKET FOLDER PACKETS.

`reporter.py` reports each network through the Unix socket SOCKET, until standard input ends. FOLDER/1.json gets the
first network's nodes, links and interfaces at each reported moment, and FOLDER/1/ its captures. The recorder starts no
process, and it sleeps while packets pass: the kernel copies them to rings, which hold PACKETS packets in all. So
neither the script's process numbers nor its time depend on the captures.

An interface of a host that has no qdisc gets the rate that a veth reports. Without a rate, a transfer would send any
number of bytes at one instant, so virtual time would stand still until the transfer is found to spin.
"""

import json
import os
import resource
import select
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any

from lab.guest import outputs
from lab.guest.fabric import device, qdisc
from lab.guest.fabric.netlink import Netlink, attributes
from lab.units import Rate, Size

MOST_NETWORKS = 20  # that are recorded
MOST_PACKETS = 1 << 16  # of one interface
SNAP = 128  # bytes of a packet: all headers of TCP over IPv6, with the timestamps
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

# linux/if_packet.h and linux/if_ether.h
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 263, 5, 6, 10
TPACKET_V2, TP_STATUS_USER, ETH_P_ALL = 1, 1, 3
FRAME, BLOCK = 256, 1 << 16  # bytes of a ring's slot, and of the memory that the kernel allocates at a time
_SLOT = struct.Struct("=IIIHHII")  # struct tpacket2_hdr: status, length, captured, MAC header, IP header, s, ns
_PCAP, _PACKET = struct.Struct("=IHHiIII"), struct.Struct("=4I")  # in nanoseconds
# linux/rtnetlink.h, linux/pkt_sched.h
RTM_GETADDR, IFA_ADDRESS, IFA_LOCAL, RT_SCOPE_LINK = 22, 1, 2, 253
TCA_HTB_PARMS, TCA_HTB_RATE64 = 1, 6
_TCMSG, _IFADDR, _IFINFO = struct.Struct("=BxxxiIII"), struct.Struct("=BBBBi"), struct.Struct("=BxHiII")
_RATE_OF_SPEC = 8  # the place of the rate in struct tc_ratespec
# drivers/net/veth.c, veth_get_link_ksettings: SPEED_10000. programs/tc removes this qdisc by its handle.
CARD, CARD_HANDLE = qdisc.tbf(Rate(10 * 10**9), Size((1 << 16) - 1), 1000), 0x7FFF0000
setns: Any = os.setns  # type: ignore[attr-defined]  # the guest's Python is newer


class Ring:
    """Holds the first packets that pass an interface. It is made in the network namespace of the interface."""

    def __init__(self, interface: str, packets: int) -> None:
        self.packets = packets
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        size = packets * FRAME
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=4I", BLOCK, size // BLOCK, FRAME, packets))
        self._slots = mmap(self._socket.fileno(), size)
        self._socket.bind((interface, ETH_P_ALL))

    def close(self, file: Path) -> tuple[int, int]:
        """Write the packets to a pcap file, and return their number and the number of packets that did not fit."""
        _, dropped = struct.unpack("=2I", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        kept = 0
        with file.open("wb") as pcap:
            pcap.write(_PCAP.pack(0xA1B23C4D, 2, 4, 0, 0, SNAP, 1))
            for start in range(0, self.packets * FRAME, FRAME):
                status, length, captured, at, _, seconds, ns = _SLOT.unpack_from(self._slots, start)
                if not status & TP_STATUS_USER:
                    break
                size = min(captured, SNAP)
                pcap.write(_PACKET.pack(seconds, ns, size, length) + self._slots[start + at : start + at + size])
                kept += 1
        self._slots.close()
        self._socket.close()
        return kept, dropped


@dataclass
class Recorded:
    """Holds one network of the script."""

    number: int
    moments: list[dict[str, Any]] = field(default_factory=list)
    ends: set[tuple[str, str]] = field(default_factory=set)  # node and interface of each host's interface seen so far
    rings: dict[tuple[str, str], Ring] = field(default_factory=dict)  # by node and interface
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)  # by file name


class Recorder:
    """Answers the reports of a script's processes."""

    def __init__(self, folder: Path, packets: int, is_exact: bool) -> None:
        self._folder, self._left, self._is_exact = folder, packets, is_exact
        self._networks: dict[tuple[int, int], Recorded] = {}  # by process, and the network's identity there
        self._count = 0

    def note(self, report: dict[str, Any]) -> None:
        """Record what a report describes."""
        key = report["process"], report["network"]
        if key not in self._networks:
            if self._count == MOST_NETWORKS or report["moment"] != "build":
                return
            self._count += 1
            self._networks[key] = Recorded(self._count)
        network = self._networks[key]
        match report["moment"]:
            case "build":
                if not self._is_exact:
                    self._limit(network, report["nodes"])
                self._capture(network, report["nodes"])
            case "terminate":
                self._close(network, [each for each in network.rings if each[0] == report["node"]])
            case "start":
                network.moments.append(moment(report))
            case "stop" | "exit":
                network.moments.append(moment(report))
                self._close(network, list(network.rings))
                self._write(self._networks.pop(key))

    def end(self) -> None:
        """Write the networks that the script did not stop."""
        for network in self._networks.values():
            self._close(network, list(network.rings))
            self._write(network)

    def _limit(self, network: Recorded, nodes: list[dict[str, Any]]) -> None:
        """Give each new interface of a host its rate, unless the script has given it a qdisc."""
        for node in nodes:
            fresh = {(node["name"], name) for name in node["interfaces"]} - network.ends
            if node["kind"] != "host" or not node["pid"] or not fresh:
                continue
            network.ends |= fresh
            with suppress(OSError), inside(node["pid"]), Netlink() as netlink:
                roots = device.qdiscs(netlink)
                for _, name in sorted(fresh):
                    if name in roots and roots[name]["kind"] == "noqueue":
                        device.add_qdisc(netlink, name, CARD, handle=CARD_HANDLE)

    def _capture(self, network: Recorded, nodes: list[dict[str, Any]]) -> None:
        """Capture on the interfaces of all nodes that are neither switches nor controllers."""
        ends = [
            (node, name)
            for node in nodes
            if node["kind"] == "host" and node["pid"]
            for name in node["interfaces"]
            if (node["name"], name) not in network.rings and NAME.issuperset(node["name"] + name)
        ]
        slots = min(MOST_PACKETS, self._left // max(len(ends), 1)) // (BLOCK // FRAME) * (BLOCK // FRAME)
        for node, name in ends if slots else ():
            with suppress(OSError), inside(node["pid"]):  # a script may have removed it
                network.rings[node["name"], name] = Ring(name, slots)
                self._left -= slots

    def _close(self, network: Recorded, ends: list[tuple[str, str]]) -> None:
        for node, interface in ends:
            name = outputs.capture(node, interface)
            place = self._folder / str(network.number)
            place.mkdir(exist_ok=True)
            ring = network.rings.pop((node, interface))
            kept, dropped = ring.close(place / name)
            self._left += ring.packets - kept
            network.captures[name] = {"node": node, "interface": interface, "packets": kept, "missed": dropped}

    def _write(self, network: Recorded) -> None:
        plain = {"moments": network.moments, "captures": network.captures}
        (self._folder / f"{network.number}.json").write_text(json.dumps(plain, indent=1, sort_keys=True) + "\n")


@contextmanager
def inside(process: int | None) -> Iterator[None]:
    """Enter the network namespace of a process; None: stay here. Raises OSError if the process has ended."""
    if process is None:
        yield
        return
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        there = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
        try:
            setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            setns(own)
    finally:
        os.close(own)


def moment(report: dict[str, Any]) -> dict[str, Any]:
    """Return the reported nodes and links, with the kernel's report about each interface."""
    spaces: dict[int | None, dict[str, Any]] = {}
    nodes = []
    for node in report["nodes"]:
        if node["pid"] not in spaces:
            spaces[node["pid"]] = {}
            with suppress(OSError), inside(node["pid"]), Netlink() as netlink:
                spaces[node["pid"]] = interfaces(netlink)
        there = spaces[node["pid"]]
        own = {name: there.get(name) for name in node["interfaces"]}
        nodes.append({key: node[key] for key in ("name", "kind", "class")} | {"interfaces": own})
    return {"moment": report["moment"], "nodes": nodes, "links": report["links"]}


def interfaces(netlink: Netlink) -> dict[str, dict[str, Any]]:
    """Return the kernel's report about each interface of a namespace: addresses, and qdiscs from the root down."""
    names = {state.index: name for name, state in device.links(netlink).items()}
    found: dict[str, dict[str, Any]] = {
        name: {"mac": state.mac, "mtu": state.mtu, "up": state.running, "addresses": [], "qdiscs": []}
        for name, state in device.links(netlink).items()
    }
    for body in netlink.dump("listing addresses", RTM_GETADDR, _IFADDR.pack(0, 0, 0, 0, 0)):
        family, length, _, scope, index = _IFADDR.unpack_from(body)
        given = attributes(body[_IFADDR.size :])
        if scope != RT_SCOPE_LINK:
            text = socket.inet_ntop(family, given.get(IFA_LOCAL, given[IFA_ADDRESS]))
            found[names[index]]["addresses"].append(f"{text}/{length}")
    for body in netlink.dump("listing qdiscs", device.RTM_GETQDISC, _TCMSG.pack(0, 0, 0, 0, 0)):
        _, index, handle, parent, _ = _TCMSG.unpack_from(body)
        plain = qdisc.describe(attributes(body[_TCMSG.size :]))
        if plain["kind"] == "htb":
            plain["options"] = {"rate": htb_rate(netlink, index)}
        found[names[index]]["qdiscs"].append({"handle": f"{handle >> 16:x}:", "root": parent == device.TC_ROOT} | plain)
    return found


def htb_rate(netlink: Netlink, index: int) -> str | None:
    """Return the largest rate of the HTB classes of an interface."""
    rates = []
    for body in netlink.dump("listing classes", device.RTM_GETTCLASS, _TCMSG.pack(0, index, 0, 0, 0)):
        options = attributes(attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b""))
        if TCA_HTB_RATE64 in options:
            rates.append(struct.unpack("=Q", options[TCA_HTB_RATE64])[0])
        elif TCA_HTB_PARMS in options:
            rates.append(struct.unpack_from("=I", options[TCA_HTB_PARMS], _RATE_OF_SPEC)[0])
    return str(Rate(8 * max(rates))) if rates else None


def open_many() -> None:
    """Allow this process as many open files as it may have. Each capture has two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main(place: str, folder: Path, packets: int) -> None:
    """Answer reports until standard input ends, then write the rest."""
    recorder = Recorder(folder, packets, is_exact="EXACT_SEED" in os.environ)
    open_many()
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in (ready := select.select([server, sys.stdin], [], [])[0]) or server in ready:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as said:
                recorder.note(json.loads(said.readline()))
    recorder.end()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
