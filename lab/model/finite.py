"""Predict shares in a finite time, in which few losses hit each flow, so that its share is left to chance.

A window forgets its past with each loss. The mean window of a time with M losses scatters around that of the long run.
The variance of AIMD windows with losses at random times is known (Altman, Avrachenkov and Barakat, 2000): for a cut
to β, it is (1 − β) / (1 + β) of the squared mean, and correlations decay with the rate of losses times 1 − β.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from lab.model.competing import at_aqm, share_beside_bbr, share_by_chance
from lab.model.in_step import (
    Rival,
    at_fifo,
    between,
    grows_with_the_cube,
    in_step,
    loss_for,
    rates_of,
    segments_per_second,
    share_at_full_queue,
)
from lab.model.line import base_rtt
from lab.model.ranges import BETA, bulks
from lab.model.scenario import ModelError, Scenario
from lab.model.sharing import bottleneck, longest_wait
from lab.spec.prediction import Prediction, law
from lab.units import Value

_NINE_OF_TEN = 1.645  # standard deviations to each side that hold 90 % of a normal distribution
_GAIN, _PHASES = 1.25, 8  # the largest of bbr_pacing_gain[], and their number, each for a round trip
_WIDEST = 0.5  # of the share, to each side: a wider interval decides nothing


def share_at_full_queue_in(seconds: float) -> Prediction:
    """Return the law for the first flow's share within `seconds` in which all flows run."""

    @law(
        formula="the bounds of share_at_full_queue ± 1.645 d, d² = 2 / (1 + β) M of a window with M losses",
        source="Baccelli and Hong (2002); Altman, Avrachenkov and Barakat (2000)",
        accuracy=0.2,
    )
    def share(scenario: Scenario) -> Value:
        """The share is in an interval around that of the long run, with a coverage of 90 % if losses are independent.

        At a full FIFO, the frames that exceed the queue are those by which windows grow: one of each flow in a round
        trip, whatever its window is. So losses hit all flows at the same rate. The deviation d of the share follows
        from those of the windows. The law does not answer if the interval reaches half of the share to each side.
        """
        rivals, rate, wait = at_fifo(scenario)
        step = in_step(rivals, rate, wait)
        return _scattered(share_at_full_queue(scenario), _scatter(rivals, rate, step.wait, seconds, pull=1))

    return share


def share_by_chance_in(seconds: float) -> Prediction:
    """Return the law for the first flow's share within `seconds` in which all flows run."""

    @law(
        formula="share_by_chance ± 1.645 d, d² = 1 / 2 (1 + β) M of a window with M losses",
        source="Altman, Avrachenkov and Barakat (2000); Ott, Kemperman and Mathis (1996)",
        accuracy=0.2,
    )
    def share(scenario: Scenario) -> Value:
        """The share is in an interval around that of the long run, with a coverage of 90 %.

        A controller of a queue's delay drops any frame with the same chance, so that a larger window loses earlier.
        This doubles the pull to the mean, and halves the variance of the window. The law does not answer if the
        interval reaches half of the share to each side.
        """
        rivals, rate, wait = at_aqm(scenario)
        return _scattered(share_by_chance(scenario), _scatter(rivals, rate, wait, seconds, pull=2))

    return share


def share_beside_bbr_in(start: float, end: float) -> Prediction:
    """Return the law for the first flow's share between two times, in seconds since the flows started."""

    @law(
        formula="low (1 − r) to high + (1 − high) r of share_beside_bbr, r the mean of exp(−t / τ)",
        source="RFC 5681, 3.1; RFC 9438, 4.6 and 4.7; Cardwell and others (2016): 1.25 in one of eight phases",
        accuracy=0.2,
    )
    def share(scenario: Scenario) -> Value:
        """The share is that of the long run, but for what is left of the share at the start, which slow start decides.

        The loss-based flows give up a part of their windows at each loss: 1 − β. Beyond its Reno-friendly region, CUBIC
        returns to the window of the last loss, so that only fast convergence takes from it, (1 − β) / 2. BBR takes what
        is free at most by a factor of 1.25 in eight round trips. One waits for the other, so both times count. At the
        start, the flow may have nothing, or the whole link. The law does not answer if more than half of that is left.
        """
        share = share_beside_bbr(scenario)
        hop, rate = bottleneck(scenario), segments_per_second(scenario)
        wait = longest_wait(scenario, hop)
        kind = next(kind for each in bulks(scenario) if (kind := each.writer.congestion or "cubic") != "bbr")
        rivals = [Rival(kind, base_rtt(each).number) for each in bulks(scenario)]
        step = in_step(rivals, rate, wait)
        given_up = 1 - BETA[kind]
        if kind == "cubic" and grows_with_the_cube(rivals[0], step):
            given_up /= 2
        slow = step.period / given_up + _PHASES * (rivals[0].rtt + wait) / log(_GAIN)
        left = slow * (exp(-start / slow) - exp(-end / slow)) / (end - start)
        if left > _WIDEST:
            raise ModelError(f"{100 * left:.0f} % of the shares at the start are left: the law is for a later time")
        low, high = share.bounds
        return between(low * (1 - left), high + (1 - high) * left, "1")

    return share


def mean_variance(left: float, losses: float, pull: float) -> float:
    """Return the variance of a window's mean over a time with this number of losses, as a share of the squared mean.

    `left` is the part of the window after a loss. `pull` is 1 if losses come at random times, and 2 if their rate is
    proportional to the window.
    """
    fades = pull * (1 - left) * losses
    return 2 * (1 - left) / (1 + left) / pull / fades * (1 - (1 - exp(-fades)) / fades)


def _scatter(rivals: Sequence[Rival], rate: float, wait: float, seconds: float, pull: float) -> float:
    """Return the standard deviation of the first flow's share. All flows together always fill the link."""
    loss = loss_for(rivals, rate, wait)
    rates = rates_of(rivals, loss, wait)
    parts = [each / sum(rates) for each in rates]
    variances = [
        part**2 * mean_variance(BETA[rival.kind], each * loss * seconds, pull)
        for part, each, rival in zip(parts, rates, rivals, strict=True)
    ]
    return sqrt((1 - parts[0]) ** 2 * variances[0] + parts[0] ** 2 * sum(variances[1:]))


def _scattered(share: Value, deviation: float) -> Value:
    """Return the share with an interval that is wider by its scatter. Raises ModelError if it is too wide."""
    reach = _NINE_OF_TEN * deviation / share.number
    if reach > _WIDEST:
        raise ModelError(f"so few losses hit each flow that its share scatters by {100 * reach:.0f} % in this time")
    low, high = share.bounds
    return Value(share.number, "1", low=low * (1 - reach), high=high * (1 + reach))
