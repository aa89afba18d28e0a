"""Hold what a prediction may know before anything runs: the path, the sysctls, the workload; never a record."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from lab.errors import InputError
from lab.units import Duration, Rate, Size

__all__ = ["End", "Hop", "Path"]

_SNDBUF_MAX, _RCVBUF_MAX = 4194304, 6291456  # Linux's, on a machine with memory to spare (tcp_init)
_MAX_HEADER = 32  # of a kernel without wireless links and tunnels, as the user-mode ones are
_WRITE_SIZES = {"iperf": "128 KiB", "iperf3": "128 KiB", "netcat": "16 KiB"}  # which their writers pass to one write()
_WRITES_PER_POLL = {"iperf3": 10, "netcat": 1}  # blocks that follow when select() or poll() says that there is room
_CONTROLLED = ("iperf3",)  # kinds whose programs first talk on a connection of their own
_HEADER_BYTES = {"iperf": 60}  # bytes of the header that it writes first, and its server answers


@dataclass(frozen=True, slots=True)
class Hop:
    """Describes one link in one direction, as `lab.spec.network.Direction` does."""

    rate: Rate | None
    delay: Duration
    mtu: Size
    limit: int
    loss: float

    @classmethod
    def of(cls, direction: Mapping[str, Any]) -> Hop:
        """Read the plain form of a direction."""
        rate = direction["rate"]
        return cls(
            None if rate is None else Rate.of(rate),
            Duration.of(direction["delay"]),
            Size.of(direction["mtu"]),
            direction["limit"],
            direction["loss"],
        )


@dataclass(frozen=True, slots=True)
class End:
    """Describes a host at an end of the path, and its interface there."""

    name: str = ""
    sysctls: Mapping[str, str] = field(default_factory=dict, hash=False)
    mtu: Size = Size(65536)  # the loopback's
    tso: bool = False
    gso: bool = False
    gro: bool = False
    gso_max_segs: int | None = None
    coalescing: Duration = Duration(0)
    advmss: Size | None = None  # of its route

    @classmethod
    def of(cls, node: Mapping[str, Any], interface: Mapping[str, Any] | None) -> End:
        """Read the plain form of a node and of its interface on the path, None for the loopback."""
        if interface is None:
            return cls(node["name"], node["sysctls"])
        routes = (route for route in node["routes"] if route["interface"] == interface["name"])
        advmss = next((route["advmss"] for route in routes if route.get("advmss")), None)
        return cls(
            name=node["name"],
            sysctls=node["sysctls"],
            mtu=Size.of(interface["mtu"]),
            gso_max_segs=interface["gso_max_segs"],
            coalescing=Duration.of(interface["gro_flush_timeout"]),
            advmss=None if advmss is None else Size.of(advmss),
            **interface["offloads"],
        )


@dataclass(frozen=True, slots=True)
class Path:
    """Describes the way from a sender to a receiver and back, and what their kernels and programs do on it."""

    forward: tuple[Hop, ...]  # in the order in which a packet takes them, as `back` is
    back: tuple[Hop, ...]
    timestamps: bool = True
    sndbuf_max: int = _SNDBUF_MAX  # tcp_wmem[2] of the sender, bytes
    rcvbuf_max: int = _RCVBUF_MAX  # tcp_rmem[2] of the receiver, bytes
    kernel: tuple[int, int] = (7, 2)  # the kernel's version
    hz: int = 1000
    max_header: int = _MAX_HEADER  # bytes that the kernel leaves free for headers: LL_MAX_HEADER and tunnels
    duration: Duration | None = None  # for which the workload sends
    version: int = 4  # of IP
    adv_win_scale: int = 1  # by which kernels before 6.6 shift the receive buffer: tcp_adv_win_scale
    writes_per_poll: int | None = None  # writes each time that there is room; None: the writer sleeps in write()
    control: bool = False  # whether a connection of their own tells the programs when to start, after a cookie
    write_size: int | None = None  # bytes of one write
    cpu_per_write: Duration = Duration(0)
    rcvlowat: int = 0  # bytes for which its reader wakes: SO_RCVLOWAT
    sendfile: bool = False
    header_bytes: int = 0  # bytes that its writer writes first, for its reader to answer
    size: Size | None = None  # of what the workload sends
    patches: tuple[str, ...] = ()  # names of those that the kernel was built with
    workload: Mapping[str, Any] = field(default_factory=dict, hash=False)  # as declared, in plain form, like the next
    middleboxes: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    sender: End = End()
    receiver: End = End()

    @classmethod
    def of(
        cls,
        network: Mapping[str, Any],
        sender: str,
        receiver: str,
        kernel: Mapping[str, Any],
        workload: Mapping[str, Any],
        middleboxes: Iterable[Mapping[str, Any]] = (),
    ) -> Path:
        """Find the shortest path between two nodes; all is in plain form. Raises InputError when there is none."""
        nodes = {node["name"]: node for node in network["nodes"]}
        try:
            sending, receiving = nodes[sender]["sysctls"], nodes[receiver]["sysctls"]
        except KeyError as error:
            raise InputError(f"the network '{network['name']}' has no node {error}") from error
        forward = _hops(network, sender, receiver)
        version = re.match(r"(\d+)\.(\d+)", kernel["version"])
        if version is None:
            raise InputError(f"'{kernel['version']}' is not the version of a kernel")
        duration = workload.get("duration")
        block = workload.get("block") or _WRITE_SIZES.get(workload.get("kind", ""))
        return cls(
            forward=tuple(Hop.of(link[ahead]) for link, ahead, _ in forward),
            back=tuple(Hop.of(link[behind]) for link, _, behind in reversed(forward)),
            timestamps=all(host.get("net.ipv4.tcp_timestamps", "1") != "0" for host in (sending, receiving)),
            sndbuf_max=_third(sending.get("net.ipv4.tcp_wmem"), _SNDBUF_MAX),
            rcvbuf_max=_third(receiving.get("net.ipv4.tcp_rmem"), _RCVBUF_MAX),
            kernel=(int(version[1]), int(version[2])),
            hz=kernel["hz"],
            max_header=kernel.get("max_header", _MAX_HEADER),
            duration=None if duration is None else Duration.of(duration),
            version=workload.get("ip", 4),
            writes_per_poll=_WRITES_PER_POLL.get(workload.get("kind", "")),
            control=workload.get("kind") in _CONTROLLED,
            write_size=None if block is None else Size.of(block).bytes,
            cpu_per_write=Duration.of(workload.get("effort", "0 s")),
            rcvlowat=Size.of(workload.get("watermark", Size(0))).bytes,
            sendfile=workload.get("kind") == "bulk",
            header_bytes=_HEADER_BYTES.get(workload.get("kind", ""), 0),
            size=None if workload.get("size") is None else Size.of(workload["size"]),
            patches=tuple(kernel["patches"]),
            adv_win_scale=int(receiving.get("net.ipv4.tcp_adv_win_scale", 1)),
            workload=workload,
            middleboxes=tuple(middleboxes),
            sender=End.of(nodes[sender], _end(forward[0][0], sender) if forward else None),
            receiver=End.of(nodes[receiver], _end(forward[-1][0], receiver) if forward else None),
        )

    def turned(self) -> Path:
        """Return the way from the receiver to the sender."""
        return replace(
            self,
            forward=self.back,
            back=self.forward,
            sender=self.receiver,
            receiver=self.sender,
            sndbuf_max=_third(self.receiver.sysctls.get("net.ipv4.tcp_wmem"), _SNDBUF_MAX),
            rcvbuf_max=_third(self.sender.sysctls.get("net.ipv4.tcp_rmem"), _RCVBUF_MAX),
        )

    @property
    def rate(self) -> Rate | None:
        """Return the bottleneck's rate on the way forward; None when no hop has one."""
        return min((hop.rate for hop in self.forward if hop.rate), default=None)

    @property
    def delay(self) -> Duration:
        """Return the sum of the forward hops' delays."""
        return Duration(sum(hop.delay.ns for hop in self.forward))

    @property
    def back_delay(self) -> Duration:
        """Return the sum of the back hops' delays."""
        return Duration(sum(hop.delay.ns for hop in self.back))

    @property
    def mtu(self) -> Size:
        """Return the smallest MTU of both ways."""
        return min((hop.mtu for hop in self.forward + self.back), default=self.sender.mtu)

    @property
    def limit(self) -> int:
        """Return how many frames the bottleneck holds."""
        slowest = self.rate
        return min(hop.limit for hop in self.forward if hop.rate == slowest)

    @property
    def loss(self) -> float:
        """Return the probability that a frame is lost on the way forward."""
        return 1 - prod(1 - hop.loss for hop in self.forward)


def _hops(network: Mapping[str, Any], start: str, goal: str) -> list[tuple[Mapping[str, Any], str, str]]:
    """Return (link, key of the direction ahead, key of the one behind) for each hop of the shortest way."""
    ways: deque[tuple[str, list[tuple[Mapping[str, Any], str, str]]]] = deque([(start, [])])
    seen = {start}
    while ways:
        at, way = ways.popleft()
        if at == goal:
            return way
        for following, hop in _links(network, at):
            if following not in seen:
                seen.add(following)
                ways.append((following, [*way, hop]))
    raise InputError(f"the network '{network['name']}' has no path from {start} to {goal}")


def _links(network: Mapping[str, Any], node: str) -> Iterator[tuple[str, tuple[Mapping[str, Any], str, str]]]:
    for link in network["links"]:
        first, second = (end["node"] for end in link["ends"])
        if node == first:
            yield second, (link, "forward", "back")
        elif node == second:
            yield first, (link, "back", "forward")


def _end(link: Mapping[str, Any], node: str) -> Mapping[str, Any]:
    """Return the interface of `link` that is the node's."""
    return next(end for end in link["ends"] if end["node"] == node)


def _third(buffer: str | None, default: int) -> int:
    return default if buffer is None else int(buffer.split()[2])
