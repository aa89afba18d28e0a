"""Measure the wires with test frames, before a real-time trial starts.

On each direction of each link, a few separate short frames measure the delay, and a burst of full frames measures the
rate. The frames go from interface to interface without IP, routes or bridges (with an experimental EtherType, to the
address that no bridge forwards), so that they leave no entry in any forwarding or ARP table. A single clock times both
ends, so the module can measure one-way delays.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.shaper import ETHERNET_HEADER, FRAME_OVERHEAD
from lab.guest.network import Direction, Interface, Shaper

ETHERTYPE = 0x88B5  # IEEE 802: local experimental
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
SHORTEST = 60
SINGLES, APART_NS = 10, 2_000_000
BURST_SECONDS, FEWEST, MOST = 0.02, 8, 1000
PATIENCE_SECONDS = 0.2  # beyond the moment when the last frame should arrive
SO_TIMESTAMPNS = 35
BUFFER = 8 << 20
TRUESIZE = 4096  # what the kernel may charge a receiver for a frame of 1500 bytes
_NUMBER = struct.Struct("=q")
_TIME = struct.Struct("=qq")


@dataclass(frozen=True, slots=True)
class _Way:
    """Holds one direction of a link, and the sockets at both ends."""

    direction: Direction
    sender: socket.socket
    receiver: socket.socket
    source: bytes

    def frame_seconds(self, size: int) -> float:
        """Return the seconds for which a frame of `size` kernel-counted bytes keeps the wire busy; 0 without a rate."""
        rate = self.direction.rate
        return 8 * (size + FRAME_OVERHEAD.bytes) / rate.bps if rate else 0.0

    def frame(self, number: int, size: int) -> bytes:
        """Return a frame of `size` bytes that contains this number."""
        head = NEAREST_BRIDGE + self.source + struct.pack(">H", ETHERTYPE) + _NUMBER.pack(number)
        return head.ljust(size, b"\0")


def measure(fabric: Fabric) -> list[dict[str, Any]]:
    """Measure each direction of each link: `link`, `direction`, and the measured and the requested times in seconds.

    `delay` is the median delay of the short frames, and `delay_wanted` the delay plus the frame time. `burst` is the
    time from the first to the last of `frames` full frames, which were sent within `sending`. `burst_wanted` is the
    time that they need at the requested rate. None means that no frame arrived, or that no time can be predicted,
    because there is no rate, or because jitter or reordering moves frames at random.
    """
    found = []
    for link in fabric.network.links:
        for name, (start, direction, end) in zip(("forward", "back"), link.directions(), strict=True):
            with ExitStack() as undo:
                way = _Way(
                    direction,
                    undo.enter_context(_socket(fabric, start)),
                    undo.enter_context(_socket(fabric, end)),
                    bytes.fromhex(start.mac.replace(":", "")),
                )
                found.append({"link": link.name, "direction": name, **_measured(way)})
    return found


def _socket(fabric: Fabric, end: Interface) -> socket.socket:
    with fabric.namespace(end.node).entered():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    for force, plain in ((33, socket.SO_RCVBUF), (32, socket.SO_SNDBUF)):  # SO_RCVBUFFORCE, SO_SNDBUFFORCE
        try:
            made.setsockopt(socket.SOL_SOCKET, force, BUFFER)
        except PermissionError:  # in a user namespace: as much as is allowed
            made.setsockopt(socket.SOL_SOCKET, plain, BUFFER)
    made.bind((end.name, ETHERTYPE))
    return made


def _measured(way: _Way) -> dict[str, Any]:
    direction = way.direction
    size = direction.mtu.bytes + ETHERNET_HEADER.bytes
    count = _burst(way, size)
    wild = any((direction.jitter, direction.reorder, direction.trace, direction.slot))
    wild |= direction.queue is not None and direction.queue.is_bucket  # which sends bursts
    sent = []
    for number in range(SINGLES):
        frame = way.frame(number, SHORTEST)
        sent.append(time.time_ns())
        way.sender.send(frame)
        time.sleep(max(APART_NS / 1e9, 2 * way.frame_seconds(SHORTEST)))
    start = time.monotonic_ns()
    if count:
        _send_all(way.sender, [way.frame(number, size) for number in range(SINGLES, SINGLES + count)])
    sending = (time.monotonic_ns() - start) / 1e9
    came = _received(way.receiver, SINGLES + count, direction.delay.seconds + count * way.frame_seconds(size))
    delays = [(when - sent[number]) / 1e9 for number, when in came if number < SINGLES]
    burst = [when for number, when in came if number >= SINGLES]
    # A card's shaper lets two frames go at once, and sends a short frame without the time that it takes.
    nic = direction.shaper is Shaper.NIC
    checked = count and not wild and len(burst) > 2
    return {
        "delay": median(delays) if delays else None,
        "delay_wanted": direction.delay.seconds + (0 if nic else way.frame_seconds(SHORTEST)) if not wild else None,
        "frames": len(burst),
        "sending": sending,
        "burst": (burst[-1] - burst[0]) / 1e9 if checked else None,
        "burst_wanted": (len(burst) - 1 - nic) * way.frame_seconds(size) if checked else None,
    }


def _burst(way: _Way, size: int) -> int:
    """Return the number of full frames for a burst that overflows neither the wire nor the receiver's buffer."""
    if not way.direction.rate:
        return 0
    room = way.receiver.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // (TRUESIZE + size)
    wanted = max(FEWEST, int(BURST_SECONDS / way.frame_seconds(size)))
    return min(wanted, MOST, room, way.direction.limit)


def _received(receiver: socket.socket, count: int, seconds: float) -> list[tuple[int, int]]:
    """Return (number, arrival time in ns by the kernel's clock) of up to `count` frames, in order of arrival."""
    deadline = time.monotonic() + seconds + PATIENCE_SECONDS
    came: list[tuple[int, int]] = []
    while len(came) < count and select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data, extra, _, _ = receiver.recvmsg(64, 64)
        stamp = next(value for level, kind, value in extra if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS))
        seconds_, ns = _TIME.unpack(stamp)
        came.append((_NUMBER.unpack_from(data, 14)[0], seconds_ * 10**9 + ns))
    return came


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """Mirrors struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """Mirrors struct mmsghdr."""

    _fields_ = (("header", _Header), ("sent", ctypes.c_uint))


def _send_all(sender: socket.socket, frames: list[bytes]) -> None:
    """Send all frames with one sendmmsg(2) call, so that the wire and not Python limits the rate. Raises OSError."""
    vectors = (_Vector * len(frames))(*(_Vector(frame, len(frame)) for frame in frames))
    messages = (_Message * len(frames))()
    for message, vector in zip(messages, vectors, strict=True):
        message.header.vectors, message.header.vector_count = ctypes.pointer(vector), 1
    libc = ctypes.CDLL(None, use_errno=True)
    done = 0
    while done < len(frames):
        rest = ctypes.byref(messages, done * ctypes.sizeof(_Message))
        count = libc.sendmmsg(sender.fileno(), rest, len(frames) - done, 0)
        if count <= 0:
            error = ctypes.get_errno()
            raise OSError(error, f"sending frames to measure a wire: {os.strerror(error)}")
        done += count
