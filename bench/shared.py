"""Draw the cases of `make holdout ARGS='--of queues'`: queues and several flows, which laws predict and no simulation.

As in `bench.draw`, a case depends on the date and on its number alone. Networks are those of home-uplink and
shared-bottleneck, with rates, delays, queues and flows that nobody chose. A law answers, or refuses a path that is
outside its range: both are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.draw import KERNELS, Dice, Drawn, Figure, case_of
from lab import metric, model
from lab.guest.network import Network
from lab.guest.probe import QueueState, TcpInfo
from lab.guest.workload import Bulk, Flow, Flows, OnOff, Ping
from lab.spec import find
from lab.spec.changes import Changes
from lab.spec.metric import DeclaredMetric
from lab.units import Duration, Rate, Size

MISS = 0.2  # of the measured figure: laws of several flows claim no more

RATES = (4e6, 100e6)  # bit/s
DELAYS = (2e-3, 60e-3)  # seconds, one way
QUEUES = (0.3, 4.0)  # of a tail-drop queue, in bandwidth-delay products
FLOWS = (2, 12)
LOSSES = (5e-4, 1.5e-2)
LOADS = (1.02, 2.0)  # of what does not answer, over the rate
SECONDS = 20
FULL = 1538 * 8  # bits of a full frame on the wire


def draw(date: str, number: int) -> Drawn:
    """Draw one case."""
    dice = Dice(f"{date} queues {number}")
    kernel, seed = dice.choose(KERNELS[:1]), round(dice.between((1, 1e6)))
    kind = dice.choose(list(_KINDS))
    network, figure = _KINDS[kind](dice)
    return Drawn(number, case_of(kind, f"{date}/q{number}", network, figure), kernel, seed, MISS)


def _uplink(dice: Dice, queue: dict[str, Any] | None = None, **more: Any) -> tuple[Network, float, float]:
    """Return home-uplink with this queue, its rate in bit/s, and its round trip in seconds."""
    rate, delay = 1000 * round(dice.between(RATES) / 1000), dice.between(DELAYS)
    forward = {"queue": queue} if queue else {"queue": None, "limit": _limit(dice, rate, delay)}
    link = {"rate": Rate(rate), "delay": _duration(delay), "forward": {**forward, **more}}
    return find.topology("home-uplink").resolve(Changes(links={"uplink": link})), rate, 2 * delay


def _limit(dice: Dice, rate: float, delay: float) -> int:
    """Draw how many frames a wire holds, those in flight among them."""
    product = rate * 2 * delay / FULL
    return max(8, round(product * (0.5 + dice.between(QUEUES))))


def _duration(seconds: float) -> Duration:
    return Duration(1000 * round(1e6 * seconds))


def _flows(dice: Dice, congestion: str, *others: Flow) -> Flows:
    """Draw several bulk flows of one congestion control, from both senders in turn."""
    lasts, spread = Duration(10**9 * SECONDS), Duration.of("1 s")
    hosts = [("sender", "rival")[each % 2] for each in range(round(dice.between(FLOWS)))]
    bulk = [
        Flow(f"bulk-{number}", Bulk(client=host, congestion=congestion, duration=lasts), spread=spread)
        for number, host in enumerate(hosts)
    ]
    return Flows((*bulk, *others))


def _full(dice: Dice) -> tuple[Network, Figure]:
    size = Size(round(dice.between((30e3, 600e3))))
    network, _, _ = _uplink(dice, {"kind": "bfifo", "limit": size})
    ping = Flow("ping", Ping(client="rival", count=190, interval=Duration.of("100 ms")))
    workload = Flows((Flow("bulk", Bulk(duration=Duration(10**9 * SECONDS))), ping))
    longest = metric.of_flow("ping", metric.ping_rtt("max"))
    return network, Figure(workload, longest, model.rtt_through_full_queue)


def _codel(dice: Dice) -> tuple[Network, Figure]:
    network, rate, _ = _uplink(dice, {"kind": "codel", "limit": 10_000})
    seconds = 1 + round(dice.between((1, 6)))
    offered = Rate(round(rate * dice.between(LOADS)))
    lasts = Duration(10**9 * (seconds + 2))
    workload = OnOff(duration=lasts, rate=offered, on=lasts, off=Duration(0), even=True)
    probes = (QueueState(link="uplink", interval=Duration.of("1 ms")),)
    return network, Figure(
        workload, metric.queue_drops_since_first("uplink", seconds), model.codel_drops(seconds), probes
    )


def _sparse(dice: Dice) -> tuple[Network, Figure]:
    network, _, _ = _uplink(dice, {"kind": dice.choose(("fq_codel", "cake", "fq_pie"))})
    ping = Flow("ping", Ping(client="rival", count=190, interval=Duration.of("101 ms")))
    longest = metric.of_flow("ping", metric.ping_rtt("max"))
    return network, Figure(_flows(dice, "cubic", ping), longest, model.rtt_of_sparse_flow)


def _shared(
    measure: DeclaredMetric, law: Any, congestions: tuple[str, ...]
) -> Callable[[Dice], tuple[Network, Figure]]:
    def make(dice: Dice) -> tuple[Network, Figure]:
        network, _, _ = _uplink(dice)
        probes = (TcpInfo(node="receiver", interval=Duration.of("100 ms")),)
        return network, Figure(_flows(dice, dice.choose(congestions)), measure, law, probes)

    return make


def _response(dice: Dice) -> tuple[Network, Figure]:
    network, _, _ = _uplink(dice, {"kind": "pfifo", "limit": 10_000}, loss=f"{100 * dice.between(LOSSES):.3f} %")
    workload = Bulk(congestion="reno", duration=Duration(3 * 10**9 * SECONDS))
    probes = (TcpInfo(node="sender", interval=Duration.of("200 ms")),)
    return network, Figure(workload, metric.acked_goodput(SECONDS, 3 * SECONDS), model.goodput_response_reno, probes)


_KINDS: Mapping[str, Callable[[Dice], tuple[Network, Figure]]] = {
    "full queue": _full,
    "CoDel's drops": _codel,
    "sparse flow": _sparse,
    "fairness index": _shared(metric.jain_index(SECONDS / 4, SECONDS), model.fairness_index, ("reno", "cubic")),
    "total goodput": _shared(metric.total_goodput(SECONDS / 4, SECONDS), model.total_goodput, ("reno", "cubic")),
    "square root": _response,
}
