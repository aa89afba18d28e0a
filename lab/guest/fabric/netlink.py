"""Implement the part of rtnetlink that wires need: requests, attributes, and errors that name the request.

pyroute2 implements all of netlink, but importing it takes a guest 0.45 s, a third of the time that an empty trial may
take. The dozen message types below need almost no time. Constants and layouts come from the kernel's uapi headers
(linux/netlink.h, rtnetlink.h, if_link.h, pkt_sched.h).
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from lab.errors import LabError

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 0x1, 0x4, 0x300
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLA_TYPE = 0x3FFF
DATAGRAM = 1 << 16  # the kernel sends at most half of it; a larger buffer would be mapped and unmapped each time
BATCH = 64  # requests sent at once: even if the kernel refuses all, the answers fit in a socket's buffer

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")


class NetlinkError(LabError):
    """Raised if the kernel refuses a request. `code` is the errno."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what}: {os.strerror(code)} ({errno.errorcode.get(code, code)})")
        self.code = code


def attribute(kind: int, value: bytes | int | str | Iterable[bytes]) -> bytes:
    """Return one attribute in binary form, padded.

    An int becomes 32 bits, a str gets a final NUL, and an iterable becomes nested attributes.
    """
    match value:
        case bytes():
            payload = value
        case int():
            payload = struct.pack("=I", value)
        case str():
            payload = value.encode() + b"\0"
        case _:
            payload = b"".join(value)
    return _ATTRIBUTE.pack(4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes in `data` by type. Raises struct.error if `data` is truncated."""
    return dict(each_attribute(data))


def each_attribute(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the payload of each attribute in `data`. Raises struct.error if `data` is truncated."""
    offset, last = 0, len(data) - 4
    unpack = _ATTRIBUTE.unpack_from
    while offset <= last:
        length, kind = unpack(data, offset)
        yield kind & NLA_TYPE, data[offset + 4 : offset + length]
        offset += length + 3 & ~3 or 4


class Request(NamedTuple):
    """Holds one request to the kernel."""

    what: str  # the description that an error quotes
    message: int
    body: bytes
    flags: int = 0


class Netlink:
    """Holds a netlink socket in the network namespace of the caller that creates it."""

    def __init__(self, protocol: int = socket.NETLINK_ROUTE) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def do(self, what: str, message: int, body: bytes, flags: int = 0) -> None:
        """Send one request and wait for its acknowledgement. Raises NetlinkError, which quotes `what`."""
        self.do_all([Request(what, message, body, flags)])

    def do_all(self, requests: Sequence[Request]) -> None:
        """Send many requests in the given order, and wait.

        Raises NetlinkError for the first request that the kernel refuses. The kernel acknowledges only the last request
        of a batch, but it always reports the requests that it refuses.
        """
        for start in range(0, len(requests), BATCH):
            batch = requests[start : start + BATCH]
            first, last = self._sequence + 1, self._sequence + len(batch)
            packed = [self._packed(each, each.flags) for each in batch[:-1]]
            self._socket.send(b"".join([*packed, self._packed(batch[-1], batch[-1].flags | NLM_F_ACK)]))
            refused: dict[int, int] = {}
            while last not in refused:
                for kind, sequence, payload in self._received():
                    if kind == NLMSG_ERROR and sequence >= first:
                        refused[sequence] = -struct.unpack_from("=i", payload)[0]
            for sequence, code in sorted(refused.items()):
                if code:
                    raise NetlinkError(batch[sequence - first].what, code)

    def dump(self, what: str, message: int, body: bytes) -> list[bytes]:
        """Return the bodies of all answers to a dump request. Raises NetlinkError if the kernel refuses it."""
        return list(self._replies(Request(what, message, body), NLM_F_DUMP))

    def tell(self, message: int, body: bytes) -> None:
        """Send one request without waiting for an answer."""
        self._socket.send(self._packed(Request("", message, body)))

    def ioctl(self, command: int, request: bytes) -> bytes:
        """Make a device ioctl in the socket's namespace, even if the caller is in another namespace.

        Raises OSError if the call fails.
        """
        return fcntl.ioctl(self._socket, command, request)

    def unasked(self) -> Iterator[bytes]:
        """Yield the bodies of unsolicited messages from the kernel, as they arrive, forever."""
        while True:
            for _, sequence, payload in self._received():
                if sequence == 0:
                    yield payload

    def _packed(self, request: Request, flags: int = 0) -> bytes:
        """Return the request as a message, with a number and padding."""
        self._sequence += 1
        length = _HEADER.size + len(request.body)
        header = _HEADER.pack(length, request.message, flags | NLM_F_REQUEST, self._sequence, 0)
        return header + request.body + b"\0" * (-length % 4)

    def _replies(self, request: Request, flags: int) -> Iterator[bytes]:
        self._socket.send(self._packed(request, flags))
        while True:
            for kind, sequence, payload in self._received():
                if sequence != self._sequence:
                    continue
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    raise NetlinkError(request.what, -struct.unpack_from("=i", payload)[0])
                yield payload

    def _received(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (type, sequence number, body) of each message in the next datagram."""
        data = self._socket.recv(DATAGRAM)
        offset = 0
        while offset < len(data):
            length, kind, _, sequence, _ = _HEADER.unpack_from(data, offset)
            yield kind, sequence, data[offset + _HEADER.size : offset + length]
            offset += length + (-length % 4)
