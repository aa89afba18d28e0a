"""Sample the kernel's state of each TCP connection (struct tcp_info) at an interval, with sock_diag netlink.

The struct is stored raw, with the length that the running kernel gives it. `lab.metric` names its fields.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.guest import outputs
from lab.guest.probe.interval import check_interval, until_stopped
from lab.guest.task import Task
from lab.guest.testbed import Testbed
from lab.units import Duration

SOCK_DIAG_BY_FAMILY = 20
NETLINK_SOCK_DIAG = 4
INET_DIAG_INFO = 2
STATES = sum(1 << state for state in (1, 2, 3, 4, 5, 8, 9, 11))  # all but TIME_WAIT 6, CLOSE 7, LISTEN 10

_REQUEST = struct.Struct("=IHHII BBBBI 48s")  # nlmsghdr, inet_diag_req_v2 with its sockid
_HEADER = struct.Struct("=IHHII")
_MESSAGE = struct.Struct(">4xHH")  # inet_diag_msg: family, state, timer, retrans, then the two ports
_MESSAGE_BYTES = 72
_ATTRIBUTE = struct.Struct("=HH")


class TcpInfo(Task, frozen=True):
    """Samples every connection of `node` once per `interval`. Writes tcp_info.NODE.bin, of TCP_INFO_RECORDs."""

    node: str = "sender"
    interval: Duration = Duration.of("10 ms")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_interval(self.interval)

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Sample the connections within this context. Raises WorkloadError if sampling fails."""
        child = testbed.spawn(self.node, lambda: self._sample(testbed))
        yield
        child.stop("the tcp_info probe")

    def _sample(self, testbed: Testbed) -> None:
        request = _request()
        with (
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag,
            open(testbed.out / outputs.tcp_info(self.node), "wb") as file,
        ):
            for _ in until_stopped(self.interval):
                now = time.time_ns()
                for family in (socket.AF_INET, socket.AF_INET6):
                    diag.send(request[family])
                    for ports, info in _answers(diag):
                        file.write(outputs.TCP_INFO_RECORD.pack(now, ports, len(info)) + info)


def _request() -> dict[int, bytes]:
    dump, length = 0x301, _REQUEST.size
    return {
        family: _REQUEST.pack(
            *(length, SOCK_DIAG_BY_FAMILY, dump, 0, 0),
            *(family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0, STATES, bytes(48)),
        )
        for family in (socket.AF_INET, socket.AF_INET6)
    }


def _answers(diag: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Yield (local port << 16 | remote port, tcp_info) for each connection."""
    while True:
        data = diag.recv(1 << 17)
        offset = 0
        while offset < len(data):
            length, kind, _, _, _ = _HEADER.unpack_from(data, offset)
            if kind != SOCK_DIAG_BY_FAMILY:  # NLMSG_DONE, or an error: no such family
                return
            body = data[offset + _HEADER.size : offset + length]
            local, remote = _MESSAGE.unpack_from(body)
            place = _MESSAGE_BYTES
            while place + 4 <= len(body):
                size, attribute = _ATTRIBUTE.unpack_from(body, place)
                if attribute == INET_DIAG_INFO:
                    yield local << 16 | remote, body[place + 4 : place + size]
                place += size + (-size % 4)
            offset += length + (-length % 4)
