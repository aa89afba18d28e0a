"""Compute what competing flows of Reno and CUBIC do at a full FIFO: with losses in step, and with losses by chance.

Real losses are between these two. Baccelli and Hong (2002) measure the share of flows that lose at one overflow. This
share depends on the phases of the flows' frames, which do not follow from the path. So the laws here predict an
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import NamedTuple

from lab.model.line import base_rtt, frame
from lab.model.ranges import BETA, LEAST_WINDOW, bulks, check_fifo, check_greedy_and_lossless, check_windows
from lab.model.response import window_cubic, window_reno
from lab.model.scenario import ModelError, Scenario
from lab.model.sharing import bottleneck, longest_wait
from lab.spec.prediction import Prediction, law
from lab.units import Value

C = 0.4  # segments / s³: CUBIC's scaling constant, RFC 9438, 5
FRIENDLY = 3 * (1 - BETA["cubic"]) / (1 + BETA["cubic"])  # segments per round trip: RFC 9438, 4.3
_LEAST_PERIOD, _LONGEST_PERIOD = 1e-3, 1e5  # seconds
_LEAST_LOSS, _MOST_LOSS = 1e-9, 0.5
_TIMEOUT = 0.2  # seconds: TCP_RTO_MIN
_TURNS = 30  # the mean wait changes by less than a millionth after so many


class Rival(NamedTuple):
    """Describes a greedy flow: its congestion control, and its round trip on an idle path, in seconds."""

    kind: str
    rtt: float


class Windows(NamedTuple):
    """Holds a flow's window just before a loss, and its mean, in segments."""

    top: float
    mean: float


class InStep(NamedTuple):
    """Describes flows that all lose at the same moments."""

    period: float  # seconds from one loss to the next
    wait: float  # the mean wait in the queue, in seconds
    windows: tuple[Windows, ...]


@law(
    formula="x₁ / Σ x, x = W / RTT; Reno W ∝ T / RTT, CUBIC W = C T³ / 0.3; or both W of equal loss",
    source="Baccelli and Hong (2002); RFC 9438, 4.3 and 5; Padhye and others (1998)",
    long_run=True,
    accuracy=0.2,
)
def share_at_full_queue(scenario: Scenario) -> Value:
    """The first flow's share is between the share with losses in step, and the share with equal chances of loss.

    With losses in step, all windows grow for the same time T from one loss to the next. Reno's window grows by a
    segment in each round trip. CUBIC's grows with the cube of T, but no slower than Reno's. With equal chances, windows
    follow from the response functions. The figure is the mean of both shares. The law is for Reno and CUBIC at a FIFO,
    with windows of at least four segments.
    """
    rivals, rate, wait = at_fifo(scenario)
    step = in_step(rivals, rate, wait)
    return between(_share(step, rivals), share_of_equal_loss(rivals, rate, step.wait), "1")


@law(
    formula="x₁ / Σ x, x = W / RTT; all windows W grow for one time T between losses",
    source="Lakshman and Madhow (1997); RFC 5681, 3.1; RFC 9438, 4.3 and 5",
    long_run=True,
)
def share_in_step(scenario: Scenario) -> Value:
    """The first flow's share follows from windows that all grow for the same time from one loss to the next.

    Goodputs of Reno flows are then nearly proportional to the inverse squares of round trips, which include the mean
    queue. Flows at a FIFO lose in step at most, so this is a bound for the flow with the shortest round trip. The range
    is that of `share_at_full_queue`.
    """
    rivals, rate, wait = at_fifo(scenario)
    return Value(_share(in_step(rivals, rate, wait), rivals), "1")


@law(
    formula="full queue − Σ (top − mean) / C in step; with independent sawteeth, 1 / √n of that",
    source="Appenzeller, Keslassy and McKeown (2004), sections 2 and 3",
    long_run=True,
    accuracy=0.15,
)
def wait_at_full_queue(scenario: Scenario) -> Value:
    """The mean wait is the full queue's, less what the flows' sawteeth leave empty on average.

    The windows of n flows that lose in step are one large sawtooth. The sum of n independent sawteeth leaves about
    1 / √n as much of the path and the queue empty. The range is that of `share_at_full_queue`.
    """
    rivals, rate, wait = at_fifo(scenario)
    lowest = in_step(rivals, rate, wait).wait
    return between(lowest, wait - (wait - lowest) / sqrt(len(rivals)), "s")


def convergence_at_full_queue(index: float, window: float) -> Prediction:
    """Return the law for the time until the flow that starts last brings Jain's index over `window` seconds to `index`.

    Raises ValueError unless the index is above 0 and below 1.
    """
    if not 0 < index < 1:
        raise ValueError(f"an index of {index:g} is never reached or always: use one above 0 and below 1")

    @law(
        formula="at most RTT + ⌈log d / log β⌉ × T + window, d² = (n − 1)(1 / index − 1)",
        source="Chiu and Jain (1989); RFC 5681, 3.1; RFC 9438, 4.3 and 4.6",
        accuracy=0.2,
    )
    def convergence(scenario: Scenario) -> Value:
        """Each loss in step multiplies the difference of shares by β, until the shares have the index.

        At first, the last flow has no share, and its handshake takes a round trip through the full queue. The time is
        an upper bound, because slow start brings this flow a share earlier. The law is for flows of one congestion
        control with equal round trips, under the conditions of `share_at_full_queue`, with at least four segments after
        a cut, and for additive increase. CUBIC has that only in its Reno-friendly region. Beyond it, a window first
        returns to that of the last loss, which keeps the difference.
        """
        rivals, rate, wait = at_fifo(scenario)
        if len(set(rivals)) > 1:
            raise ModelError("the flows' congestion control or round trips differ: the law is for equal flows")
        least = sqrt((len(rivals) - 1) * (1 / index - 1))
        losses = max(0, -(-log(least) // log(BETA[rivals[0].kind])))
        step = in_step(rivals, rate, wait)
        if (left := BETA[rivals[0].kind] * step.windows[0].top) < LEAST_WINDOW:
            raise ModelError(f"windows fall to {left:.2g} segments, and the last flow's window is even smaller")
        if rivals[0].kind == "cubic" and grows_with_the_cube(rivals[0], step):
            raise ModelError("CUBIC's window grows with the cube of time: the law is for additive increase")
        longest = rivals[0].rtt + wait + losses * step.period + window
        return Value(longest, "s", low=window, high=longest)

    return convergence


def in_step(rivals: Sequence[Rival], rate: float, wait: float) -> InStep:
    """Return the period, wait and windows of flows that all lose when a queue of `wait` seconds is full.

    `rate` is in segments per second.
    """
    mean = wait / 2
    for _ in range(_TURNS):
        period = _period(rivals, rate, wait, mean)
        windows = tuple(_windows(each, period, mean) for each in rivals)
        fall = sum((1 - BETA[each.kind]) * found.top for each, found in zip(rivals, windows, strict=True)) / rate
        below = sum(found.top - found.mean for found in windows) / rate
        mean = wait - below if fall <= wait else wait**2 / (2 * fall)
    return InStep(period, mean, windows)


def grows_with_the_cube(rival: Rival, step: InStep) -> bool:
    """Return whether a CUBIC flow is beyond its Reno-friendly region."""
    return _cubic(step.period).mean > _friendly(step.period / (rival.rtt + step.wait)).mean


def loss_for(rivals: Sequence[Rival], rate: float, wait: float, timeouts: bool = False) -> float:
    """Return the share of segments that has to be lost so that the flows take `rate` segments per second together.

    `timeouts` is that of `rates_of`.
    """
    return _root(lambda loss: rate - sum(rates_of(rivals, loss, wait, timeouts)), _LEAST_LOSS, _MOST_LOSS)


def share_of_equal_loss(rivals: Sequence[Rival], rate: float, wait: float, timeouts: bool = False) -> float:
    """Return the first flow's share of the goodput if all flows lose the same share of segments.

    `rate` is in segments per second, and `wait` in seconds. `timeouts` is that of `rates_of`.
    """
    rates = rates_of(rivals, loss_for(rivals, rate, wait, timeouts), wait, timeouts)
    return rates[0] / sum(rates)


def rates_of(rivals: Sequence[Rival], loss: float, wait: float, timeouts: bool = False) -> list[float]:
    """Return each flow's mean rate, in segments per second, at a share of lost segments and a wait in the queue.

    With `timeouts`, losses that leave too few duplicate ACKs cost a retransmission timeout (Padhye and others, 1998,
    equation 30). A Linux timeout is a round trip and 200 ms.
    """
    rates = []
    for each in rivals:
        rtt = each.rtt + wait
        window = window_reno(loss) if each.kind == "reno" else window_cubic(loss, rtt)
        lost = min(1.0, 3 * sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)  # timeouts per segment
        rates.append(1 / (rtt / window + lost * (_TIMEOUT + rtt) * timeouts))
    return rates


def rivals_of(scenario: Scenario) -> list[Rival]:
    """Return the flows of a scenario.

    Raises ModelError for a single flow, for flows that are not greedy, for frames lost by chance, and for other
    congestion controls than Reno and CUBIC.
    """
    check_greedy_and_lossless(scenario)
    flows = bulks(scenario)
    if len(flows) < 2:
        raise ModelError("the law is for several flows")
    kinds = ["cubic" if each.writer.congestion is None else each.writer.congestion for each in flows]
    if not set(kinds) <= BETA.keys():
        raise ModelError(f"the law is for reno and cubic, not for {', '.join(sorted(set(kinds) - BETA.keys()))}")
    return [Rival(kind, base_rtt(each).number) for kind, each in zip(kinds, flows, strict=True)]


def segments_per_second(scenario: Scenario) -> float:
    """Return the bottleneck's rate in full segments per second."""
    assert scenario.rate is not None
    return scenario.rate.bps / (8 * frame(scenario).bytes)


def _share(step: InStep, rivals: Sequence[Rival]) -> float:
    """Return the first flow's share of the goodput with losses in step."""
    rates = [each.mean / (rival.rtt + step.wait) for each, rival in zip(step.windows, rivals, strict=True)]
    return rates[0] / sum(rates)


def between(one: float, other: float, unit: str) -> Value:
    """Return the mean of two figures, with both as its bounds."""
    low, high = sorted((one, other))
    return Value((low + high) / 2, unit, low=low, high=high)


def at_fifo(scenario: Scenario) -> tuple[list[Rival], float, float]:
    """Return the flows, the bottleneck's rate, and the wait in its full FIFO. Raises ModelError for other paths."""
    rivals, hop = rivals_of(scenario), bottleneck(scenario)
    check_fifo(hop)
    wait = longest_wait(scenario, hop)
    check_windows(scenario, wait)
    return rivals, segments_per_second(scenario), wait


def _period(rivals: Sequence[Rival], rate: float, wait: float, mean: float) -> float:
    """Return the time after which windows fill the path and the queue, with this mean wait during the growth."""

    def excess(period: float) -> float:
        return sum(_windows(each, period, mean).top / (each.rtt + wait) for each in rivals) - rate

    return _root(excess, _LEAST_PERIOD, _LONGEST_PERIOD)


def _windows(rival: Rival, period: float, wait: float) -> Windows:
    """Return the windows of a flow that loses once in each period."""
    rounds = period / (rival.rtt + wait)
    if rival.kind == "reno":
        return Windows(2 * rounds, 1.5 * rounds)
    return max(_friendly(rounds), _cubic(period), key=lambda each: each.mean)


def _cubic(period: float) -> Windows:
    """Return the windows of a CUBIC flow beyond its Reno-friendly region that loses once in each period."""
    cube = C * period**3 / (1 - BETA["cubic"])
    return Windows(cube, cube * (1 - (1 - BETA["cubic"]) / 4))


def _friendly(rounds: float) -> Windows:
    """Return the windows of a CUBIC flow in its Reno-friendly region that loses once in this many round trips."""
    slow = FRIENDLY * rounds / (1 - BETA["cubic"])
    return Windows(slow, slow * (1 + BETA["cubic"]) / 2)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function crosses zero. Raises ModelError if that is not between the bounds."""
    if rising(low) > 0 or rising(high) < 0:
        raise ModelError("no window of these flows fits the path: the law is for paths that they fill")
    for _ in range(100):
        middle = sqrt(low * high)
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return sqrt(low * high)
