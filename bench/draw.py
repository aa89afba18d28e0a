"""Draw the cases of `make holdout` from a date: networks, workloads, kernels and seeds that no model was tuned to.

The distribution is what stands here. Whatever spans decades is drawn evenly on a logarithmic scale. A case depends on
the date and on its number alone, so that it can be drawn again without the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lab import metric, model
from lab.guest.network import Network
from lab.guest.probe import Capture, TcpInfo
from lab.guest.task import IpNumber, Observer
from lab.guest.workload import (
    Bulk,
    Flent,
    Iperf,
    Iperf3,
    Netcat,
    PacedReader,
    Ping,
    Qperf,
    RequestResponse,
    SmallWrites,
)
from lab.metric import DeclaredMetric
from lab.spec import find
from lab.spec.case import Case
from lab.spec.changes import Changes
from lab.spec.prediction import Predictor, declared
from lab.spec.tolerance import STEADY
from lab.units import Duration, Rate, Size, Value

CLAIM = "holdout"
KERNELS = ("7.2", "6.12", "6.1")

RATES = (8e6, 1.2e9)  # bit/s
DELAYS = (50e-6, 0.15)  # seconds, one way
BUFFERS = (32 << 10, 16 << 20)  # bytes: the largest that tcp_rmem or tcp_wmem lets a buffer grow to
MTUS = (576, 9000)  # bytes
LIMITS = (10, 10_000)  # frames
CHANCES = (1e-4, 0.1)  # of a frame to be lost, reordered or duplicated; jitter, as a share of the delay
DURATIONS = (0.5, 10.0)  # seconds
SIZES = (20e3, 32e6)  # bytes
FRAMES = 50_000  # full ones, that a trial carries at most: it should take seconds
LONGEST = 30.0  # seconds that a transfer of a size takes at least: its workload waits for two minutes

_T = TypeVar("_T")


class Dice:
    """Makes choices that follow from a text, the same on every version of Python."""

    def __init__(self, text: str) -> None:
        self._next = random.Random(text).random

    def happens(self, probability: float) -> bool:
        """Return True with that probability."""
        return self._next() < probability

    def choose(self, among: Sequence[_T]) -> _T:
        """Return one of these."""
        return among[int(self._next() * len(among))]

    def between(self, bounds: tuple[float, float]) -> float:
        """Return a number between these, evenly on a logarithmic scale."""
        low, high = map(math.log, bounds)
        return math.exp(low + (high - low) * self._next())


@dataclass(frozen=True)
class Path:
    """Holds the network that was drawn, and what a workload has to know to fit it."""

    network: Network
    ip: IpNumber
    bottleneck: str  # the slowest link's name
    frames_per_second: float  # full ones, that the slowest link carries
    bytes_per_second: float


@dataclass(frozen=True)
class Figure:
    """Says what is measured and predicted, and of which workload."""

    workload: Any
    metric: DeclaredMetric
    prediction: Predictor
    probes: tuple[Observer, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """Holds a case with its number, and what it runs on."""

    number: int
    case: Case
    kernel: str
    seed: int
    allowed: float = 0.01  # error, of the measured figure: a prediction that is further off is named
    naive: Value | None = None  # the figure that takes no model, to compare a law with


def draw(date: str, number: int) -> Drawn:
    """Draw one case."""
    dice = Dice(f"{date} {number}")
    kernel, seed = dice.choose(KERNELS), round(dice.between((1, 1e6)))
    kind = dice.choose([name for name, (weight, _) in _FIGURES.items() for _ in range(weight)])
    path = _path(dice)
    figure = _FIGURES[kind][1](dice, path)
    return Drawn(number, case_of(kind, f"{date}/{number}", path.network, figure), kernel, seed)


def case_of(kind: str, point: str, network: Network, figure: Figure) -> Case:
    """Return the case of a figure of this kind."""
    return Case(
        claim=CLAIM,
        arm=kind.replace(" ", "-").replace("'", ""),
        title="",
        point=point,
        value=None,
        network=network,
        workload=figure.workload,
        probes=figure.probes,
        middleboxes=(),
        kernel=None,
        userland="guest",
        clock="virtual",
        samples=1,
        path=("sender", "receiver"),
        metric=figure.metric,
        prediction=declared(figure.prediction),
        tolerance=STEADY,
        accuracy=STEADY,
        claimed=None,
        explains=None,
        relative_to="",
    )


def _path(dice: Dice) -> Path:
    """Draw a network: one link, or two with a router between them."""
    routed = dice.happens(0.2)
    links = {name: _link(dice) for name in (("access", "path") if routed else ("path",))}
    topology = find.topology("routed-1g" if routed else "two-hosts")
    network = topology.resolve(Changes(links=links, sysctls=_sysctls(dice), hosts=_hosts(dice)))
    ways = [way for link in network.links for way in (link.forward, link.back)]
    ip: IpNumber = 6 if dice.happens(0.2) and min(way.mtu.bytes for way in ways) >= 1280 else 4
    rates = {link.name: link.forward.rate.bps for link in network.links if link.forward.rate}
    bottleneck = min(rates, key=lambda name: rates[name])
    smallest = min(link.forward.mtu.bytes for link in network.links)
    bytes_per_second = rates[bottleneck] / 8
    return Path(network, ip, bottleneck, bytes_per_second / (smallest + 38), bytes_per_second)


def _link(dice: Dice) -> dict[str, Any]:
    """Draw a link: half of them are the same both ways."""
    there = _way(dice)
    back = there if dice.happens(0.5) else _way(dice)
    return {"rate": None, "delay": None, "forward": there, "back": back}


def _way(dice: Dice) -> dict[str, Any]:
    """Draw a direction: one in eight has no delay; half have Ethernet's MTU; of a queue, one in four is short.

    One in thirty loses, reorders or duplicates frames or has jitter, and in one in thirty the rate is the sender's NIC.
    """
    delay = 0.0 if dice.happens(1 / 8) else dice.between(DELAYS)
    way: dict[str, Any] = {
        "rate": Rate(1000 * round(dice.between(RATES) / 1000)),
        "delay": Duration(1000 * round(1e6 * delay)),
        "mtu": Size(1500 if dice.happens(0.5) else round(dice.between(MTUS))),
    }
    if dice.happens(1 / 4):
        way["limit"] = round(dice.between(LIMITS))
    if dice.happens(1 / 30):
        what = dice.choose(("loss", "duplicate", "reorder", "jitter") if delay else ("loss", "duplicate"))
        share = dice.between(CHANCES)
        way[what] = Duration(1000 * round(1e6 * share * delay)) if what == "jitter" else f"{100 * share:.3f} %"
    if dice.happens(1 / 30):
        way["shaper"] = "nic"
    return way


def _sysctls(dice: Dice) -> dict[str, str]:
    """Draw the hosts' settings: a third of the buffers have Linux's own bounds; one host pair in six, no timestamps."""
    sysctls = {}
    if not dice.happens(1 / 3):
        largest = round(dice.between(BUFFERS))
        sysctls["net.ipv4.tcp_rmem"] = f"4096 {min(131072, largest)} {largest}"
    if not dice.happens(1 / 3):
        largest = round(dice.between(BUFFERS))
        sysctls["net.ipv4.tcp_wmem"] = f"4096 {min(16384, largest)} {largest}"
    if dice.happens(1 / 6):
        sysctls["net.ipv4.tcp_timestamps"] = "0"
    return sysctls


def _hosts(dice: Dice) -> dict[str, Any]:
    """Draw offloads: one sender in twenty puts super-packets on the wire, and one receiver in twenty joins frames."""
    hosts: dict[str, Any] = {}
    if dice.happens(1 / 20):
        hosts["sender"] = {"offloads": {"tso": True, "gso": True}}
    if dice.happens(1 / 20):
        hosts["receiver"] = {"offloads": {"gro": True}, "coalescing": "20 us"}
    return hosts


def _bulk(dice: Dice, path: Path) -> Bulk:
    return Bulk(duration=_duration(dice, path), ip=path.ip)


def _duration(dice: Dice, path: Path) -> Duration:
    return Duration(10**6 * round(1000 * min(dice.between(DURATIONS), FRAMES / path.frames_per_second)))


def _seconds(dice: Dice, path: Path) -> Duration:
    return Duration(10**9 * max(1, _duration(dice, path).ns // 10**9))


def _size(dice: Dice, path: Path) -> Size:
    carried = min(LONGEST * path.bytes_per_second, FRAMES * path.bytes_per_second / path.frames_per_second)
    return Size(round(min(dice.between(SIZES), carried)))


def _goodput(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.bulk_goodput(), model.goodput_bulk)


def _steady(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.steady_goodput(), model.goodput_steady, (TcpInfo(),))


def _idle(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.steady_idle_share(), model.idle_share, (_captured("receiver"),))


def _drops(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.any_drops(path.bottleneck), model.any_drops)


def _window(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.window_plateau(), model.window_reached, (_captured("sender"),))


def _payload(dice: Dice, path: Path) -> Figure:
    return Figure(_bulk(dice, path), metric.largest_payload(), model.largest_payload, (_captured("sender"),))


def _transfer(dice: Dice, path: Path) -> Figure:
    workload = Bulk(size=_size(dice, path), duration=Duration.of("2 min"), ip=path.ip)
    return Figure(workload, metric.transfer_time(), model.transfer_time)


def _netcat(dice: Dice, path: Path) -> Figure:
    return Figure(Netcat(size=_size(dice, path)), metric.transfer_time(), model.transfer_time)


def _iperf(dice: Dice, path: Path) -> Figure:
    return Figure(Iperf(duration=_seconds(dice, path), ip=path.ip), metric.iperf_goodput(), model.goodput_iperf)


def _iperf3(dice: Dice, path: Path) -> Figure:
    return Figure(Iperf3(duration=_seconds(dice, path), ip=path.ip), metric.iperf3_goodput(), model.goodput_iperf3)


def _qperf(dice: Dice, path: Path) -> Figure:
    return Figure(Qperf(duration=_seconds(dice, path), ip=path.ip), metric.qperf_goodput(), model.goodput_bulk)


def _flent(dice: Dice, path: Path) -> Figure:
    return Figure(Flent(length=_seconds(dice, path)), metric.flent_goodput(), model.goodput_steady)


def _small_writes(dice: Dice, path: Path) -> SmallWrites:
    """Draw messages of up to 20 writes, one in four of them with a file behind."""
    return SmallWrites(
        messages=round(dice.between((3, 100))),
        writes=round(dice.between((1, 20))),
        size=Size(round(dice.between((1, 3000)))),
        way=dice.choose(("plain", "plain", "nodelay", "cork", "writev", "one-buffer")),
        file=Size(round(dice.between((100, 30_000)))) if dice.happens(1 / 4) else Size(0),
        ip=path.ip,
    )


def _latency(dice: Dice, path: Path) -> Figure:
    return Figure(_small_writes(dice, path), metric.message_latency(), model.message_latency)


def _exchange(dice: Dice, path: Path) -> Figure:
    return Figure(_small_writes(dice, path), metric.exchange_time(), model.exchange_time)


def _packets(dice: Dice, path: Path) -> Figure:
    return Figure(_small_writes(dice, path), metric.data_packets(), model.data_packets, (_captured("sender"),))


def _lone_acks(dice: Dice, path: Path) -> Figure:
    return Figure(_small_writes(dice, path), metric.lone_acks(), model.lone_acks, (_captured("sender"),))


def _unread(dice: Dice, path: Path) -> Figure:
    """Nobody reads a request, so that a timer sends its ACK."""
    interval = Duration(10**3 * round(1e6 * dice.between((0.06, 0.5))))
    workload = RequestResponse(count=40, interval=interval, asleep=Duration.of("30 s"), ip=path.ip)
    return Figure(workload, metric.ack_delay("mean", skip=16), model.ack_delayed_mean, (_captured("receiver"),))


def _paced(dice: Dice, path: Path) -> Figure:
    """The reader is slower than the link, or up to twice as fast."""
    most = 8 * path.bytes_per_second * min(1.0, FRAMES / (4 * path.frames_per_second))
    workload = PacedReader(
        duration=Duration.of("4 s"),
        rate=Rate(round(most * dice.between((0.05, 2.0)))),
        block=Size(round(dice.between((16e3, 128e3)))),
        ip=path.ip,
    )
    read = metric.segments_per_ack(start=2.0, end=3.5)
    return Figure(workload, read, model.segments_per_read, (_captured("receiver"),))


def _ping(dice: Dice, path: Path) -> Figure:
    return Figure(Ping(count=round(dice.between((1, 10))), ip=path.ip), metric.ping_rtt(), model.rtt_of_ping)


def _captured(node: str) -> Capture:
    return Capture(node=node, snap=Size(128))  # holds the headers of IPv6 with all of TCP's options


_FIGURES: Mapping[str, tuple[int, Callable[[Dice, Path], Figure]]] = {  # and how often each is drawn
    "bulk goodput": (6, _goodput),
    "steady goodput": (3, _steady),
    "idle share": (2, _idle),
    "drops or none": (3, _drops),
    "window": (2, _window),
    "largest payload": (1, _payload),
    "transfer time": (5, _transfer),
    "netcat time": (2, _netcat),
    "iperf goodput": (3, _iperf),
    "iperf3 goodput": (3, _iperf3),
    "qperf goodput": (1, _qperf),
    "flent goodput": (1, _flent),
    "message latency": (4, _latency),
    "exchange time": (2, _exchange),
    "data packets": (3, _packets),
    "lone ACKs": (2, _lone_acks),
    "ACK delay": (2, _unread),
    "segments per ACK": (2, _paced),
    "ping": (2, _ping),
}
