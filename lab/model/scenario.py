"""Hold a prediction's inputs, which are all known before a run: path, hosts, kernel and programs, but no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import prod
from typing import Any, Literal, NamedTuple, Self

from msgspec import structs

from lab.base import version
from lab.errors import InputError, LabError
from lab.guest.middlebox import LoseSegments
from lab.guest.network import Direction, Interface, Kind, Network, Node, Offloads
from lab.guest.task import Interference, Reader, Traffic, Writer
from lab.spec.delays import delay_to
from lab.spec.prediction import Odd, Prediction
from lab.units import Duration, Rate, Size

PathEnd = Literal["sender", "receiver"]

_SYSCTLS: Mapping[str, str] = {  # Linux's defaults on a machine with enough memory (tcp_init)
    "tcp_adv_win_scale": "1",
    "tcp_comp_sack_nr": "44",
    "tcp_dsack": "1",
    "tcp_pingpong_thresh": "1",
    "tcp_rmem": "4096 131072 6291456",
    "tcp_sack": "1",
    "tcp_timestamps": "1",
    "tcp_wmem": "4096 16384 4194304",
}


class ModelError(LabError):
    """Raised if the model does not cover the scenario."""


@dataclass(frozen=True, slots=True)
class KernelTraits:
    """Describes the properties of a kernel that affect its TCP."""

    version: tuple[int, ...] = (7, 2)
    hz: int = 1000
    max_header: int = 32  # bytes reserved for headers (LL_MAX_HEADER, tunnels); 32 without wireless links and tunnels
    patches: tuple[str, ...] = ()  # names of the patches that it was built with

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self:
        """Return the traits from a trial's description of its kernel. Raises InputError for an invalid version."""
        numbers = version.order(version.series(described["version"]))
        if not numbers:
            raise InputError(f"'{described['version']}' is not a kernel version")
        known = {"max_header": described["max_header"]} if "max_header" in described else {}
        return cls(numbers, described["hz"], patches=tuple(described["patches"]), **known)


@dataclass(frozen=True, slots=True)
class Host:
    """Describes a host at an end of the path and the host's interface on the path."""

    node: Node = field(hash=False)
    interface: Interface

    def sysctl(self, name: str, index: int = 0) -> int:
        """Return a number in a net.ipv4 sysctl: the trial's value, or Linux's default."""
        return int(self.node.sysctls.get(f"net.ipv4.{name}", _SYSCTLS[name]).split()[index])

    @property
    def advmss(self) -> Size | None:
        """Return the advmss of the host's route over the interface, or None."""
        routes = (route for route in self.node.routes if route.interface == self.interface.name)
        return next((route.advmss for route in routes if route.advmss), None)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Describes the path from a sender to a receiver and back, with their kernels and programs."""

    forward: tuple[Direction, ...]  # in the order of a packet's way, like `reverse`
    reverse: tuple[Direction, ...]
    sender: Host
    receiver: Host
    kernel: KernelTraits = KernelTraits()
    writer: Writer = Writer()
    reader: Reader = Reader()
    client: PathEnd = "sender"  # the end that connects
    ip: int = 4
    middleboxes: tuple[Interference, ...] = ()
    flows: tuple[FlowScenario, ...] = ()  # the workloads that share the network; () for a single workload

    @classmethod
    def of(
        cls,
        network: Network,
        path: tuple[str, str],
        kernel: KernelTraits,
        workload: Traffic,
        middleboxes: tuple[Interference, ...] = (),
    ) -> Self:
        """Return the scenario on the shortest path between two nodes. Raises InputError if there is no path."""
        try:
            sender, receiver = (network.node(name) for name in path)
        except KeyError as error:
            raise InputError(f"the network '{network.name}' has no node {error}") from error
        if reason := _beyond(network):
            raise InputError(f"no prediction covers the network '{network.name}': {reason}")
        hops = _hops(network, sender.name, receiver.name)
        if name := next(_elsewhere(network, path, workload, hops), None):
            raise InputError(f"no prediction covers the way to '{name}': its address is not on the shortest path")
        near, far = (hops[0].near, hops[-1].far) if hops else (_loopback(sender), _loopback(receiver))
        return cls(
            tuple(_towards(far, hop.ahead, workload.ip) for hop in hops),
            tuple(_towards(near, hop.behind, workload.ip) for hop in reversed(hops)),
            Host(sender, near),
            Host(receiver, far),
            kernel,
            workload.writer(),
            workload.reader(),
            "receiver" if network.node_of(workload.client) == receiver.name != sender.name else "sender",
            workload.ip,
            middleboxes,
            tuple(
                FlowScenario(
                    part.name,
                    part.start,
                    cls.of(network, _data_path(part.workload), kernel, part.workload, middleboxes),
                )
                for part in workload.parts()
            ),
        )

    def check(self, prediction: Prediction) -> None:
        """Raise ModelError if the path has a setting that no model of the lab covers, or that the prediction does not.

        A definition holds on every path. A user's own prediction may cover all settings.
        """
        if prediction.kind == "definition" or not prediction.function.__module__.startswith(f"{__package__}."):
            return
        if any(isinstance(box, LoseSegments) for box in self.middleboxes):
            raise ModelError("the path loses listed segments: no model of the lab covers this")
        for each in (self, *(flow.scenario for flow in self.flows)):
            for hop in (*each.forward, *each.reverse):
                for what in _unmodelled(hop):
                    raise ModelError(f"{what}: no model of the lab covers this")
                for setting, what in _odd(hop):
                    if setting not in prediction.covers:
                        raise ModelError(f"{what}: {prediction.name} does not cover this")

    def reversed(self) -> Self:
        """Return the scenario with the path from the receiver to the sender. The programs keep their roles."""
        return replace(
            self,
            forward=self.reverse,
            reverse=self.forward,
            sender=self.receiver,
            receiver=self.sender,
            client="receiver" if self.client == "sender" else "sender",
        )

    @property
    def timestamps(self) -> bool:
        """Return whether segments carry timestamps: both ends must enable them (RFC 7323 3.2)."""
        return all(host.sysctl("tcp_timestamps") for host in (self.sender, self.receiver))

    @property
    def sndbuf_max(self) -> int:
        """Return the sender's tcp_wmem[2], in bytes."""
        return self.sender.sysctl("tcp_wmem", 2)

    @property
    def rcvbuf_max(self) -> int:
        """Return the receiver's tcp_rmem[2], in bytes."""
        return self.receiver.sysctl("tcp_rmem", 2)

    @property
    def rate(self) -> Rate | None:
        """Return the bottleneck's rate on the forward path, or None if no hop has a rate."""
        return min((hop.rate for hop in self.forward if hop.rate), default=None)

    @property
    def delay(self) -> Duration:
        """Return the sum of the forward hops' delays."""
        return Duration(sum(hop.delay.ns for hop in self.forward))

    @property
    def limit(self) -> int:
        """Return the number of frames that the bottleneck holds."""
        return min(hop.limit for hop in self.forward if hop.rate == self.rate)

    @property
    def loss(self) -> float:
        """Return the share of frames lost on the forward path, at random or regularly."""
        return 1 - prod(
            1 - each for each in (*(hop.loss for hop in self.forward), *(box.loss() for box in self.middleboxes))
        )


def _unmodelled(hop: Direction) -> Iterator[str]:
    if any(change.every or change.every_about for change in hop.changes):
        yield "changes of the path repeat"
    if hop.loss_correlation:
        yield "losses are correlated"
    if hop.reorder_gap:
        yield f"a frame overtakes others only after {hop.reorder_gap} frames"
    if hop.distribution:
        yield f"the jitter has the distribution {hop.distribution.name}"
    if hop.in_order:
        yield "frames stay in order, so that some wait for others"
    if hop.delays:
        yield "the delay depends on the destination"
    if hop.queue and hop.queue.is_bucket:
        yield f"a token bucket ({hop.queue.kind}) limits the rate"
    if hop.trace:
        yield "a trace decides when the link carries frames"
    if hop.slot:
        yield "the wire holds frames, and releases them together"


def _odd(hop: Direction) -> Iterator[tuple[Odd, str]]:
    """Yield the settings that only some predictions cover."""
    if hop.changes:
        yield "changes", "the path changes while the workload runs"
    if hop.corrupt:
        yield "corrupt", "the path flips bits of frames, so that they are lost"
    if hop.burst_loss:
        yield "burst_loss", "the path loses frames in bursts"


@dataclass(frozen=True, slots=True)
class FlowScenario:
    """Describes one of several workloads: its earliest start, and its own path from sender to receiver."""

    name: str
    start: Duration
    scenario: Scenario


def _data_path(workload: Traffic) -> tuple[str, str]:
    ends = workload.client, workload.server
    return ends[::-1] if workload.server_sends else ends


def _beyond(network: Network) -> str | None:
    """Return why a packet's path may differ from the shortest way over wires, or None if it cannot."""
    if network.overlays:
        return f"link '{network.overlays[0].name}' is a {network.overlays[0].kind.value}"
    if network.neighbours == "asked":
        return "its nodes ask for their neighbours' addresses first"
    for node in network.nodes:
        if node.vrfs:
            return f"'{node.name}' has VRFs"
        if any(route.declared and not route.is_multicast for route in node.routes):
            return f"the topology declares routes of '{node.name}'"
    return None


class _Hop(NamedTuple):
    near: Interface
    ahead: Direction
    behind: Direction
    far: Interface


def _towards(end: Interface, hop: Direction, version: int) -> Direction:
    """Return the direction with the delay of frames to this end."""
    own = next((each for each in end.addresses if (":" in each) == (version == 6)), None)
    return structs.replace(hop, delay=delay_to(hop, own)) if own and hop.delays else hop


def _hops(network: Network, start: str, goal: str) -> tuple[_Hop, ...]:
    """Return the hops of the shortest path."""
    ways: dict[str, tuple[_Hop, ...]] = {start: ()}
    reached = [start]
    for node in reached:  # the list grows
        for link in network.links:
            for (near, ahead, far), (_, behind, _) in permutations(link.directions()):
                if near.node == node and far.node not in ways:
                    ways[far.node] = (*ways[node], _Hop(near, ahead, behind, far))
                    reached.append(far.node)
    if goal not in ways:
        raise InputError(f"the network '{network.name}' has no path from {start} to {goal}")
    return ways[goal]


def _elsewhere(network: Network, path: tuple[str, str], workload: Traffic, hops: tuple[_Hop, ...]) -> Iterator[str]:
    """Yield the names whose address is at another end than those of the shortest path.

    The path to a router's other address may still be the shortest one to the router, so only NODE.LINK names it.
    """
    ends = (hops[0].near, hops[-1].far) if hops else ()
    nodes = {end.node: end for end in ends}
    for name in dict.fromkeys((*path, workload.client, workload.server)):
        if ends and (end := network.end(name)) is not None and end not in ends:
            yield name
    for node in network.nodes:
        if node.name == workload.server and node.name in nodes and node.kind is Kind.HOST:
            own = network.interfaces(node.name)
            first = (end for end in own if any((":" in text) == (workload.ip == 6) for text in end.addresses))
            if next(first, None) not in (None, nodes[node.name]):
                yield node.name


def _loopback(node: Node) -> Interface:
    return Interface(node.name, "lo", mac="", mtu=Size(65536), addresses=(), offloads=Offloads())
