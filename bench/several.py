"""Draw the cases of `make holdout-flows`: several flows at one queue, which laws of shares, queues and losses predict.

As in `bench.draw`, a case depends on the date and on its number alone. Each law declares its accuracy
(`lab.spec.prediction`). Beside the law stands a naive figure, which takes no model: equal shares, a full queue, Mathis'
formula on the idle path. A law is worth having only if it is nearer than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from rich.table import Table

from bench.draw import KERNELS, Dice, Drawn, Figure, case_of
from bench.scores import Score
from lab import metric, model
from lab.guest.network import Network
from lab.guest.probe import QueueState, TcpInfo
from lab.guest.workload import Bulk, Flow, Flows
from lab.spec import find
from lab.spec.changes import Changes
from lab.spec.metric import DeclaredMetric
from lab.spec.prediction import Prediction
from lab.spec.steady import Steady
from lab.units import Duration, Rate, Size, Value

RATES = (4e6, 30e6)  # bit/s
DELAYS = (10e-3, 50e-3)  # seconds, one way, of the bottleneck
FARTHER = (1.0, 3.0)  # the second sender's round trip, in those of the first
FLOWS = (2, 6)
MANY = (3, 10)  # flows at RED, whose law is for queues that no single cut decides
QUEUES = (0.4, 4.0)  # of a FIFO, in bandwidth-delay products
DEEP = (0.8, 12.0)  # the same beside BBR
FRAMES = 60_000  # full ones, that a trial carries at most
SECONDS = (30.0, 90.0)  # that a trial lasts
START = 1 / 3  # of a trial, that no figure counts: slow start, and the first cuts
FULL = 1538 * 8  # bits of a full frame on the wire
HELD = 1514 * 8  # the same in a queue
LATE = Duration.of("10 s")  # when the last flow of a convergence starts


@dataclass(frozen=True)
class _Path:
    """Holds what a kind of case is drawn on."""

    rate: float  # bit/s
    rtt: float  # of the nearer sender, in seconds
    farther: float  # what the other sender's round trip is longer, in seconds
    seconds: float

    @property
    def product(self) -> float:
        """Return the bandwidth-delay product in frames."""
        return self.rate * self.rtt / FULL

    def network(self, **forward: Any) -> Network:
        """Return the network with this forward direction of its bottleneck."""
        link = {"rate": Rate(round(self.rate)), "delay": _duration(self.rtt / 2), "forward": {"limit": None, **forward}}
        links: dict[str, dict[str, Any]] = {"bottleneck": link, "rival-access": {"delay": _duration(self.farther / 2)}}
        return find.topology("shared-bottleneck").resolve(Changes(links=links))


def draw(date: str, number: int) -> Drawn:
    """Draw one case."""
    dice = Dice(f"{date} flows {number}")
    seed = round(dice.between((1, 1e6)))
    kind = dice.choose(list(_KINDS))
    network, figure, naive = _KINDS[kind](dice)
    law = figure.prediction
    assert isinstance(law, Prediction)
    assert law.accuracy is not None
    return Drawn(number, case_of(kind, f"{date}/f{number}", network, figure), KERNELS[0], seed, law.accuracy, naive)


def skills(scores: Sequence[Score]) -> Table:
    """Make a table of how often each law answers and holds its accuracy, and of its skill beside the naive figure.

    An interval that a law predicts is shown with half of its width, as a share of its mean: half of all are narrower.
    Skill is the part of the naive figure's error that the law takes away: 1 - Σ |ln law / measured| / Σ |ln naive /
    measured|.
    """
    made = Table(
        "law", "drawn", "answered", "interval", "stated", "within it", "median off", "most off", "skill", box=None
    )
    groups: dict[str, list[Score]] = {}
    for score in sorted(scores, key=lambda each: each.drawn.case.arm):
        groups.setdefault(score.drawn.case.arm, []).append(score)
    for name, group in [*groups.items(), ("all", list(scores))]:
        stated = {score.drawn.allowed for score in group}
        errors = sorted(score.law for score in group if score.law is not None)
        held = sum(score.law is not None and not score.missed for score in group)
        known = [each for score in group if (each := _logs(score)) is not None]
        widths = sorted(_half_width(score.result.predicted) for score in group if score.result.predicted)
        made.add_row(
            name,
            str(len(group)),
            str(sum(score.answered for score in group)),
            f"± {100 * widths[len(widths) // 2]:.0f} %" if widths else "",
            f"{100 * stated.pop():.0f} %" if len(stated) == 1 else "",
            f"{held} of {len(errors)}",
            f"{100 * errors[len(errors) // 2]:.2g} %" if errors else "",
            f"{100 * errors[-1]:.2g} %" if errors else "",
            f"{1 - sum(law for law, _ in known) / sum(naive for _, naive in known):.2f}" if known else "none beside it",
        )
    return made


def _half_width(predicted: Value) -> float:
    """Return half of the width of a predicted interval, as a share of its mean."""
    low, high = predicted.bounds
    return (high - low) / (high + low)


def _logs(score: Score) -> tuple[float, float] | None:
    """Return how far the law and the naive figure are from the measured one, as logarithms of their ratios.

    Return None if one of the three is missing, or is not above 0.
    """
    figures = (score.result.predicted, score.drawn.naive, score.result.measured)
    law, naive, measured = (each.number if each is not None else 0.0 for each in figures)
    return (abs(log(law / measured)), abs(log(naive / measured))) if min(law, naive, measured) > 0 else None


def _path(dice: Dice, farther: bool = True) -> _Path:
    """Draw a path; in half of the cases with different round trips, the second sender is farther away."""
    rate, rtt = 1000 * round(dice.between(RATES) / 1000), 2 * dice.between(DELAYS)
    ratio = dice.between(FARTHER) if farther and dice.happens(0.5) else 1.0
    return _Path(rate, rtt, rtt * (ratio - 1), min(max(FRAMES * FULL / rate, SECONDS[0]), SECONDS[1]))


def _duration(seconds: float) -> Duration:
    return Duration(1000 * round(1e6 * seconds))


def _flows(path: _Path, kinds: Sequence[str]) -> Flows:
    """Return a flow of each kind, from both senders in turn, that start within a second."""
    lasts = _duration(path.seconds)
    return Flows(
        tuple(
            Flow(
                f"flow-{number}",
                Bulk(client=("sender", "rival")[number % 2], congestion=kind, duration=lasts),
                spread=Duration.of("1 s"),
            )
            for number, kind in enumerate(kinds)
        )
    )


def _count(dice: Dice) -> int:
    return round(dice.between(FLOWS))


def _mixed(dice: Dice, *kinds: str) -> list[str]:
    """Draw the congestion control of each flow: half of the time one for all."""
    if dice.happens(0.5):
        return [dice.choose(kinds)] * _count(dice)
    return [dice.choose(kinds) for _ in range(_count(dice))]


def _share(path: _Path, kinds: Sequence[str], law: Prediction) -> Figure:
    """Return the first flow's share in the long run."""
    probes = (TcpInfo(node="receiver", interval=Duration.of("100 ms")),)
    measure = metric.flow_share("flow-0", START * path.seconds, path.seconds)
    return Figure(_flows(path, kinds), measure, law, probes)


def _counted(path: _Path) -> float:
    """Return the seconds of a trial in which shares are counted."""
    return (1 - START) * path.seconds


def _of_queue(path: _Path, kinds: Sequence[str], measure: DeclaredMetric, law: Prediction) -> Figure:
    """Return a figure of the bottleneck's queue in the long run."""
    probes = (QueueState(link="bottleneck", interval=Duration.of("50 ms")),)
    cut = Steady(after=_duration(START * path.seconds), because="slow start, and the first cuts")
    return Figure(_flows(path, kinds), measure.cut_by(cut), law, probes)


def _wire(path: _Path, deep: float) -> dict[str, Any]:
    """Return a plain wire with a FIFO of so many bandwidth-delay products, and the frames in flight."""
    return {"limit": max(8, round(path.product * (0.5 + deep)))}


def _full_share(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), _mixed(dice, "reno", "cubic")
    network = path.network(**_wire(path, dice.between(QUEUES)))
    return network, _share(path, kinds, model.share_at_full_queue_in(_counted(path))), Value(1 / len(kinds), "1")


def _full_wait(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), _mixed(dice, "reno", "cubic")
    limit = max(4, round(path.product * dice.between(QUEUES)))
    network = path.network(queue={"kind": "pfifo", "limit": limit})
    measure = metric.mean_queue_delay("bottleneck")
    return network, _of_queue(path, kinds, measure, model.wait_at_full_queue), Value(limit * FULL / path.rate, "s")


def _beside_bbr(dice: Dice) -> tuple[Network, Figure, Value]:
    path, other = _path(dice, farther=False), dice.choose(("reno", "cubic"))
    kinds = ["bbr"] * round(dice.between((1, 2))) + [other] * (_count(dice) - 1)
    network = path.network(**_wire(path, dice.between(DEEP)))
    figure = _share(path, kinds, model.share_beside_bbr_in(START * path.seconds, path.seconds))
    return network, figure, Value(1 / len(kinds), "1")


def _fair(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), _mixed(dice, "reno", "cubic", "bbr")
    network = path.network(queue={"kind": dice.choose(("fq_codel", "cake", "fq_pie"))})
    return network, _share(path, kinds, model.share_of_fair_queue("flow-0")), Value(1 / len(kinds), "1")


def _controlled(dice: Dice, path: _Path) -> Network:
    return path.network(queue={"kind": dice.choose(("codel", "pie")), "limit": 10_000})


def _chance(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), _mixed(dice, "reno", "cubic")
    figure = _share(path, kinds, model.share_by_chance_in(_counted(path)))
    return _controlled(dice, path), figure, Value(1 / len(kinds), "1")


def _dropped(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), _mixed(dice, "reno", "cubic")
    figure = _of_queue(path, kinds, metric.queue_dropped_share("bottleneck"), model.dropped_by_aqm)
    return _controlled(dice, path), figure, Value(1.5 * (len(kinds) / path.product) ** 2, "1")


def _red(dice: Dice) -> tuple[Network, Figure, Value]:
    path, kinds = _path(dice), ["reno"] * round(dice.between(MANY))
    least = round(path.product * HELD / 8 * dice.between((0.2, 1.0)))
    most = round(least * dice.between((3, 6)))
    sizes = {"min": str(Size(least)), "max": str(Size(most)), "limit": str(Size(4 * most))}
    queue = {"kind": "red", **sizes, "probability": f"{100 * dice.between((0.003, 0.03)):.2f} %", "ewma": 7}
    figure = _of_queue(path, kinds, metric.mean_queue_delay("bottleneck"), model.red_wait)
    return path.network(queue=queue), figure, Value(4 * (least + most) / path.rate, "s")


def _convergence(dice: Dice) -> tuple[Network, Figure, None]:
    path, kind = _path(dice, farther=False), dice.choose(("reno", "cubic"))
    count, length = round(dice.between((2, 4))), LATE.seconds + path.seconds
    flows = _flows(path, [kind] * count).flows
    last = Flow(
        flows[-1].name,
        Bulk(client="rival", congestion=kind, duration=_duration(path.seconds)),
        start=LATE,
        spread=Duration.of("1 s"),
    )
    early = (
        Flow(each.name, Bulk(client="sender", congestion=kind, duration=_duration(length)), spread=each.spread)
        for each in flows[:-1]
    )
    probes = (TcpInfo(node="receiver", interval=Duration.of("50 ms")),)
    measure, law = metric.convergence_time(0.9, 1.0), model.convergence_at_full_queue(0.9, 1.0)
    network = path.network(**_wire(path, dice.between(QUEUES)))
    return network, Figure(Flows((*early, last)), measure, law, probes), None


_KINDS: Mapping[str, Callable[[Dice], tuple[Network, Figure, Value | None]]] = {
    "share at a full queue": _full_share,
    "wait at a full queue": _full_wait,
    "share beside BBR": _beside_bbr,
    "share of a fair queue": _fair,
    "share by chance": _chance,
    "drops of an AQM": _dropped,
    "wait in RED": _red,
    "convergence": _convergence,
}
