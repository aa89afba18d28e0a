"""Predict how several flows compete beside BBR, in fair queues, and at queues with active queue management (AQM)."""

from __future__ import annotations

from math import inf, sqrt

from lab.base import ethernet
from lab.guest.share import Percent
from lab.model import codel, pie, red
from lab.model.aqm import parameter_time, queued
from lab.model.in_step import FRIENDLY, C, Rival, between, loss_for, rivals_of, segments_per_second, share_of_equal_loss
from lab.model.line import base_rtt, packet
from lab.model.ranges import (
    BETA,
    LEAST_WINDOW,
    bulks,
    check_fifo,
    check_greedy_and_lossless,
    check_no_empty_queue,
    check_windows,
    left_by_a_cut,
)
from lab.model.scenario import ModelError, Scenario
from lab.model.sharing import bottleneck, longest_wait
from lab.spec.prediction import Prediction, law
from lab.units import Duration, Size, Value

_PROBE_EVERY, _PROBE_LASTS, _PROBE_WINDOW = 10.0, 0.2, 4  # seconds, seconds, segments: BBR's ProbeRTT
_FAIR = ("fq_codel", "fq_pie", "cake")  # a queue for each flow, each with a controller of its delay
_LEAST_WINDOW = 8  # segments: with fewer, timeouts bring the windows down further (Padhye and others, 1998)
_RANDOM = 1.31  # a mean window times the root of the loss, for losses at random: Mathis and others (1997), table 1
_SHALLOWEST, _DEEPEST = 1.0, 16.0  # bandwidth-delay products of queue


@law(
    formula="(1 − p) (1 − (q/C + 0.2 s + RTT) / 10 s), from p = 1/2 − 1/2X − 4N/q to p = 1 / 2β",
    source="Ware, Mukerjee, Seshan and Sherry (IMC 2019), equations 9 to 11; Mishra, Tiu and Leong (IMC 2022)",
    long_run=True,
    accuracy=0.2,
)
def share_beside_bbr(scenario: Scenario) -> Value:
    """BBR flows get the part of the queue that their bound of two bandwidth-delay products allows.

    During ProbeRTT, N BBR flows measure a round trip with the loss-based flows' part p of the queue q, and four
    segments each. X is the queue in bandwidth-delay products. This is for a queue that stays full, so it is the most
    that BBR takes. The least follows from the shortest queue, as Mishra and others compute it: after a cut of one
    loss-based flow, β of all their windows is left, and BBR measures the round trip of these. The result is the mean of
    both, for the first flow, with equal parts for the flows of its kind. The law is for BBR version 1, a FIFO of one to
    16 bandwidth-delay products, equal round trips, and loss-based flows of one kind.
    """
    check_greedy_and_lossless(scenario)
    flows, hop = bulks(scenario), bottleneck(scenario)
    kinds = [each.writer.congestion or "cubic" for each in flows]
    probing = kinds.count("bbr")
    if not 0 < probing < len(flows) or not set(kinds) <= {"bbr", "cubic", "reno"} or len(set(kinds)) > 2:
        raise ModelError("the law is for BBR beside flows of Reno or of CUBIC")
    check_fifo(hop)
    if len({base_rtt(each).number for each in flows}) > 1:
        raise ModelError("the flows' round trips differ: the law is for equal round trips")
    wait, rtt = longest_wait(scenario, hop), base_rtt(flows[0]).number
    check_windows(scenario, wait)
    deep, held = wait / rtt, wait * segments_per_second(scenario)
    if not _SHALLOWEST <= deep <= _DEEPEST:
        raise ModelError(f"the queue has {deep:.2g} bandwidth-delay products: the law is for one to 16")
    rivals = len(flows) - probing
    left = (rivals - 1 + min(left_by_a_cut(each) for each in flows)) / rivals
    sending = 1 - (wait + _PROBE_LASTS + rtt) / _PROBE_EVERY
    most = (1 - max(0.0, 0.5 - 1 / (2 * deep) - _PROBE_WINDOW * probing / held)) * sending
    least = (1 - 1 / (2 * left)) * sending
    if kinds[0] == "bbr":
        return between(least / probing, most / probing, "1")
    return between((1 - least) / rivals, (1 - most) / rivals, "1")


def share_of_fair_queue(flow: str) -> Prediction:
    """Return the law for the share of the goodput that the flow of this name gets in a fair queue."""

    @law(
        formula="u₁ (1/n + Σ (1 − uⱼ) / (n (n − 1))), u what a sawtooth from β or β² uses of a turn",
        source="Demers, Keshav and Shenker (1989): max-min shares; RFC 8290, 4.1; RFC 8289, 4.2 and 5",
        long_run=True,
        accuracy=0.05,
    )
    def share(scenario: Scenario) -> Value:
        """A fair queue gives each flow its turn, and the others use the turns of a flow whose queue is empty after a
        cut.

        A flow's window rises until its own queue has been above the target for an interval. After the cut, the flow
        sends a window in a round trip, until the window fills the path again. Flows of equal kinds and round trips have
        equal shares.

        CoDel drops again an interval after its first drop, if the queue is still above the target. A cut takes a round
        trip to begin, and another one to take effect (RFC 6937). So a flow for which two round trips are longer than an
        interval may be cut twice. Single frames decide this, but first for the farthest flows. So the share is in the
        interval of those with two cuts of no flow, of the farthest flows, and so on.
        """
        hop, flows = queued(scenario), bulks(scenario)
        assert hop.queue is not None
        if hop.queue.kind not in _FAIR:
            raise ModelError(f"the queue is {hop.queue.kind}: the law is for {', '.join(_FAIR)}")
        if len(flows) < 2:
            raise ModelError("the law is for several flows")
        check_greedy_and_lossless(scenario)
        target = parameter_time(hop.queue, "target", pie.TARGET if hop.queue.kind == "fq_pie" else codel.TARGET)
        check_windows(scenario, target.seconds)
        interval = 0.0 if hop.queue.kind == "fq_pie" else parameter_time(hop.queue, "interval", codel.INTERVAL).seconds
        turn = segments_per_second(scenario) / len(flows)
        names = [each.name for each in scenario.flows]
        if flow not in names:
            raise ModelError(f"there is no flow '{flow}': the flows are {', '.join(names)}")
        slowest = {base_rtt(each).number for each in flows if interval < 2 * (base_rtt(each).number + target.seconds)}
        found = []
        for twice_from in (inf, *slowest) if interval else (inf,):
            cuts = [1 + (base_rtt(each).number >= twice_from) for each in flows]
            used = [_used(*each, turn, target.seconds, interval) for each in zip(flows, cuts, strict=True)]
            found.append(_max_min(used)[names.index(flow)])
        return between(min(found), max(found), "1")

    return share


@law(
    formula="x₁ / Σ x with x = W(p) / RTT: Reno √(3/2p), CUBIC 1.054 (RTT/p)^¾ or as Reno; or with timeouts",
    source="Padhye, Firoiu, Towsley and Kurose (1998); Mathis and others (1997); RFC 9438, 5",
    long_run=True,
    accuracy=0.2,
)
def share_by_chance(scenario: Scenario) -> Value:
    """The first flow's share follows from the response functions, because all flows lose the same share of segments.

    The law is for Reno and CUBIC at an AQM with one queue (CoDel, PIE, RED), with windows of at least four segments.
    With fewer than eight, the share is between those without timeouts and with Padhye's timeouts, because RACK-TLP
    (RFC 8985) repairs some of these losses in time.
    """
    flows = at_aqm(scenario)
    return between(share_of_equal_loss(*flows), share_of_equal_loss(*flows, timeouts=_have_timeouts(*flows)), "1")


@law(
    formula="p with Σ W(p) / (RTT + wait) = C; CoDel: C (1 + growth in an interval − half a cut of h flows), k/h p",
    source="Misra, Gong and Towsley (2000); Mathis and others (1997); RFC 9438, 5; RFC 8289, 5",
    long_run=True,
    accuracy=0.3,
)
def dropped_by_aqm(scenario: Scenario) -> Value:
    """A controller that holds its target drops the share of packets with which the windows just fill the link.

    The wait is the target of CoDel or PIE, and RED's fixed point. CoDel drops a packet when the queue has been above
    the target for an interval, in which the windows still grow, and the drop cuts one window. So the mean windows are
    those that fill the link, with this growth, less half of the cut. If a round trip is longer than the interval, CoDel
    drops k packets before a cut takes effect. These hit h of n flows, n (1 − (1 − 1/n)^k) on average, and a flow reacts
    only to the first. The law is for the flows of `share_by_chance`, and counts timeouts in the same way.
    """
    rivals, rate, wait = at_aqm(scenario)
    queue = queued(scenario).queue
    assert queue is not None
    dropped, hit = 1, 1.0
    if queue.kind == "codel":
        dropped, hit = _dropped_at_once(rivals, wait, parameter_time(queue, "interval", codel.INTERVAL))
    few = loss_for(rivals, rate, wait, timeouts=_have_timeouts(rivals, rate, wait))
    return between(few * dropped / hit, loss_for(rivals, rate, wait) * dropped / hit, "1")


@law(
    formula="q with N 1.31 / √p(q) / (RTT + q/C) = C",
    source="Misra, Gong and Towsley (SIGCOMM 2000), their fixed point; Mathis and others (1997), table 1; Floyd and "
    "Jacobson (1993)",
    long_run=True,
    accuracy=0.2,
)
def red_wait(scenario: Scenario) -> Value:
    """RED's average queue settles at the length at which its losses let the windows of Reno flows just fill the link.

    A drop hits a flow by chance, so that the mean window is 1.31 / √p. The fluid equations have √2, because they take
    the mean of a window's square for the square of its mean. The law is for Reno, and for an average queue between
    RED's two thresholds that does not run empty after a cut. The queue must be above the first threshold by an eighth
    of a window, because a cut moves it by half of a window.
    """
    hop = queued(scenario)
    queue = hop.queue
    if queue is None or queue.kind != "red":
        raise ModelError("the bottleneck's queue is not RED")
    rivals = rivals_of(scenario)
    if any(each.kind != "reno" for each in rivals):
        raise ModelError("the law is for flows of Reno")
    rate = segments_per_second(scenario)
    given = dict(queue.parameters)
    least, most = (Size.of(str(given[name])) for name in ("min", "max"))
    highest = Percent.of(given["probability"])
    size = packet(scenario).bytes + ethernet.HEADER

    def excess(average: float) -> float:
        window = _RANDOM / sqrt(red.marked_share(average, least, most, highest))
        return sum(window / (each.rtt + average / size / rate) for each in rivals) - rate

    low, high = least.bytes * 1.0001, most.bytes * 0.9999
    if excess(low) < 0 or excess(high) > 0:
        raise ModelError("the average queue is not between RED's thresholds")
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    wait = low / size / rate
    check_windows(scenario, wait)
    check_no_empty_queue(scenario, hop, wait)
    if 8 * (low - least.bytes) / size < _RANDOM / sqrt(red.marked_share(low, least, most, highest)):
        raise ModelError("the average queue is so near RED's first threshold that single cuts decide it")
    return Value(wait, "s")


def at_aqm(scenario: Scenario) -> tuple[list[Rival], float, float]:
    """Return the flows, the rate that their mean windows have at the wait that the controller holds, and this wait.

    Raises ModelError for other paths.
    """
    rivals, queue, rate = rivals_of(scenario), queued(scenario).queue, segments_per_second(scenario)
    assert queue is not None
    filled = 1.0
    match queue.kind:
        case "codel":
            wait = parameter_time(queue, "target", codel.TARGET).seconds
            filled = _filled_by_codel(rivals, rate, wait, parameter_time(queue, "interval", codel.INTERVAL))
        case "pie":
            wait = parameter_time(queue, "target", pie.TARGET).seconds
        case "red":
            wait = red_wait(scenario).number
        case other:
            raise ModelError(f"the queue is {other}: the law is for codel, pie and red")
    if (window := _window(rivals, rate, wait)) < LEAST_WINDOW:
        raise ModelError(f"each of {len(rivals)} flows has a window of {window:.2g} segments: the law is for more")
    return rivals, rate * filled, wait


def _window(rivals: list[Rival], rate: float, wait: float) -> float:
    """Return the mean of the flows' windows that fill the path and a queue of `wait` seconds, in segments."""
    return rate * (sum(each.rtt for each in rivals) / len(rivals) + wait) / len(rivals)


def _have_timeouts(rivals: list[Rival], rate: float, wait: float) -> bool:
    """Return whether windows are so small that some losses cost a timeout."""
    return _window(rivals, rate, wait) < _LEAST_WINDOW


def _dropped_at_once(rivals: list[Rival], target: float, interval: Duration) -> tuple[int, float]:
    """Return how many packets CoDel drops before a cut takes effect, and how many flows these hit on average."""
    count = len(rivals)
    rtt = sum(each.rtt for each in rivals) / count + target
    dropped = codel.drops_within(interval.seconds + rtt, interval)
    return dropped, count * (1 - (1 - 1 / count) ** dropped)


def _filled_by_codel(rivals: list[Rival], rate: float, target: float, interval: Duration) -> float:
    """Return the mean windows' part of what fills the path and a queue of the target."""
    held = rate * (sum(each.rtt for each in rivals) / len(rivals) + target)
    growths = (1.0 if each.kind == "reno" else FRIENDLY for each in rivals)
    grown = sum(growth * interval.seconds / (each.rtt + target) for growth, each in zip(growths, rivals, strict=True))
    cut = sum(1 - BETA[each.kind] for each in rivals) / len(rivals)  # of one window
    _, hit = _dropped_at_once(rivals, target, interval)
    return 1 + grown / held - hit * cut / 2 / len(rivals)


def _max_min(used: list[float]) -> list[float]:
    """Return each flow's share, if the flows use these parts of their turns and divide the rest."""
    free = sum(1 - each for each in used)
    taken = [each * (1 + (free - (1 - each)) / (len(used) - 1)) for each in used]
    return [each / sum(taken) for each in taken]


def _used(flow: Scenario, cuts: int, turn: float, target: float, interval: float) -> float:
    """Return the part of its turn that a flow uses if it is alone in its queue. `turn` is in segments per second.

    The window rises a round trip at a time, until it is cut once or twice.
    """
    kind, rtt = flow.writer.congestion or "cubic", base_rtt(flow).number
    if kind == "bbr":
        return 1 - (_PROBE_LASTS + rtt) / _PROBE_EVERY
    if kind not in BETA:
        raise ModelError(f"the law is for reno, cubic and bbr, not for {kind}")
    grown = interval / (rtt + target) if kind == "reno" else interval / (rtt + target) * FRIENDLY
    top = turn * (rtt + target) + max(1.0, grown)
    low = BETA[kind] * top
    plateau = top
    if cuts == 2:
        plateau, low = (1 + BETA[kind]) / 2 * low, BETA[kind] * low  # fast convergence: RFC 9438, 4.7
    window = low
    climb = ((plateau - low) / C) ** (1 / 3)
    sent = time = 0.0
    rounds = 0
    while window < top:
        sent += window
        time += max(rtt, window / turn)
        rounds += 1
        window = low + rounds if kind == "reno" else max(low + FRIENDLY * rounds, plateau + C * (time - climb) ** 3)
    return min(1.0, sent / (time * turn))
