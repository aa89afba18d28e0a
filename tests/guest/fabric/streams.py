"""Send frames through a network at chosen moments, and see when each comes out: `python streams.py`.

It runs in a guest. For each NAME.case of its folder, {"network", "seed", "ecn", "sends": [[ns, flow, bytes], ...]} with
moments since the start, it leaves NAME.out: {"came": [[ns, number], ...], "qdiscs", "timeline", "differences"}. With
"whole", "bytes" has all frames that came, in hexadecimal digits, and "sent" those that were sent.
A frame is UDP over IPv4, and has the ECN code point of the case.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from lab.guest.alarm import Alarm
from lab.guest.fabric import timeline
from lab.guest.fabric.fabric import Fabric
from lab.guest.network import Interface, Network
from lab.guest.testbed import Child
from lab.units import from_plain

SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
HEADERS = 14 + 20 + 8
MARK = b"streams!"  # tells our frames from all others
_TIME = struct.Struct("=qq")
_NUMBER = struct.Struct("=q")
DRAIN_SECONDS = 1.0  # after which nothing more is expected


def frame(sender: Interface, receiver: Interface, number: int, flow: int, size: int, ecn: int) -> bytes:
    """Return a frame of `size` bytes of a flow, which is its source port, from one end to the other."""
    ends = b"".join(socket.inet_aton(end.addresses[0].split("/")[0]) for end in (sender, receiver))
    ip = struct.pack(">BBHHHBBH", 0x45, ecn, size - 14, number & 0xFFFF, 0, 64, 17, 0) + ends
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    udp = struct.pack(">HHHH", 10_000 + flow, 9, size - 34, 0)
    macs = b"".join(bytes.fromhex(end.mac.replace(":", "")) for end in (receiver, sender))
    return (macs + b"\x08\x00" + ip + udp + MARK + _NUMBER.pack(number)).ljust(size, b"\0")


def stream(folder: Path, name: str) -> dict[str, Any]:
    """Send one case's frames and return what came."""
    case = json.loads((folder / f"{name}.case").read_text())
    network = from_plain(case["network"], Network)
    sender, receiver = network.links[0].ends
    done = folder / f"{name}.timeline"
    came: list[tuple[int, int]] = []
    everything: list[str] | None = [] if case["whole"] else None
    sent: list[str] = []
    with Fabric(network, seed=case["seed"]) as fabric, Alarm() as alarm:
        with fabric.namespace(receiver.node).entered():
            sink = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sink.bind((receiver.name, 3))
            sink.setblocking(False)
        with fabric.namespace(sender.node).entered():
            source = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            source.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
            source.bind((sender.name, 0))
        start, epoch = time.monotonic_ns(), time.time_ns()
        player = timeline.Player(fabric.spaces, start)
        child = Child.fork(fabric.namespace(sender.node), lambda: player.play(done))
        for number, (at, flow, size) in enumerate(case["sends"]):
            if at > time.monotonic_ns() - start:
                alarm.wait(start + at)
            made = frame(sender, receiver, number, flow, size, case["ecn"])
            source.send(made)
            if everything is not None:
                sent.append(made.hex())
            if number % 256 == 0:
                _drain(sink, epoch, came, everything)
        alarm.wait(time.monotonic_ns() + int(case.get("drain_s", DRAIN_SECONDS) * 1e9))
        _drain(sink, epoch, came, everything)
        queues = fabric.qdiscs()
        child.stop("the player")
        differences = fabric.differences()
    return {
        "came": came,
        "bytes": everything,
        "sent": sent,
        "qdiscs": queues,
        "timeline": json.loads(done.read_text()),
        "differences": differences,
    }


def _drain(sink: socket.socket, epoch: int, came: list[tuple[int, int]], everything: list[str] | None) -> None:
    while True:
        try:
            data, extra, _, _ = sink.recvmsg(128, 64)
        except BlockingIOError:
            return
        if everything is not None:
            everything.append(data.hex())
        if data[HEADERS : HEADERS + len(MARK)] == MARK:
            stamp = next(value for level, kind, value in extra if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS))
            seconds, ns = _TIME.unpack(stamp)
            came.append((seconds * 10**9 + ns - epoch, _NUMBER.unpack_from(data, HEADERS + len(MARK))[0]))


if __name__ == "__main__":
    for found in sorted(Path().glob("*.case")):
        (found.with_suffix(".out")).write_text(json.dumps(stream(Path(), found.stem)))
        sys.stdout.write(f"{found.stem}\n")
