"""Predict what a link's own queue does to those who pass it: how long they wait, what they get, what is lost."""

from __future__ import annotations

from lab.model import codel, pie
from lab.model.line import ModelError, base_rtt, packet
from lab.model.scenario import Scenario
from lab.prediction import Prediction, law
from lab.spec.network import Direction, Queue
from lab.units import Duration, Size, Value

__all__ = [
    "codel_drops",
    "codel_target",
    "fair_queue_share",
    "nothing_lost",
    "pie_target",
    "rtt_of_sparse_flow",
    "rtt_through_full_queue",
]

_FAIR = ("fq_codel", "cake", "fq_pie", "fq", "sfq")  # kinds that give each flow a queue of its own
_MARKING = ("codel", "fq_codel", "cake", "pie", "fq_pie", "red")
_FRAME_AROUND = 24  # bytes of a frame on the wire that a queue does not count: preamble, FCS and gap
_ETHERNET_HEADER = 14


@law(formula="RTT + limit / rate", source="Little's law, W = L / λ (1961)")
def rtt_through_full_queue(scenario: Scenario) -> Value:
    """Who comes last to a full FIFO waits for all of it to leave, at the link's rate.

    It holds where something fills the queue: a greedy flow whose window may become larger than the path and the queue.
    """
    hop = _queued(scenario)
    queue = _queue(hop, "bfifo", "pfifo")
    limit = dict(queue.parameters)["limit"]
    full = packet(scenario).bytes + _ETHERNET_HEADER
    frames = int(limit) if queue.kind == "pfifo" else Size.of(str(limit)).bytes // full
    assert hop.rate is not None
    return Value(base_rtt(scenario).number + frames * 8 * (full + _FRAME_AROUND) / hop.rate.bps, "s")


@law(formula="the target, at most", source="RFC 8289, 3.2 and 4.2")
def codel_target(scenario: Scenario) -> Value:
    """CoDel leaves no queue standing above its target: senders that answer keep the median wait at or below it.

    It is a bound, valid for senders that answer, and where the target is as long as two frames take.
    """
    hop = _queued(scenario)
    target = _time(_queue(hop, "codel", "fq_codel"), "target", codel.TARGET)
    assert hop.rate is not None
    if 2 * hop.rate.time_for(Size(packet(scenario).bytes + _ETHERNET_HEADER + _FRAME_AROUND)) > target.seconds:
        raise ModelError(f"two frames take longer than the target of {target}")
    return Value(target.seconds, "s")


def codel_drops(seconds: float) -> Prediction:
    """Return the law of how many packets CoDel drops from its first drop until so many seconds later."""

    @law(formula="n with interval × Σ 1/√k ≤ t for k < n", source="RFC 8289, 5.4 and 5.5; codel_Newton_step()")
    def drops(scenario: Scenario) -> Value:
        """The first drop counts. It holds for traffic that does not answer, while the queue stays above the target."""
        queue = _queue(_queued(scenario), "codel")
        interval = _time(queue, "interval", codel.INTERVAL)
        return Value(codel.drops_within(interval.seconds + seconds, interval), "1")

    return drops


@law(formula="the target", source="RFC 8033, 4.2: the probability rests only where the delay is the target")
def pie_target(scenario: Scenario) -> Value:
    """PIE's controller keeps the mean delay at its target, once settled, while senders always have more to send."""
    return Value(_time(_queue(_queued(scenario), "pie", "fq_pie"), "target", pie.TARGET).seconds, "s")


@law(formula="RTT + one frame / rate", source="RFC 8290, 4.1 and 5.2: a flow that builds no queue goes first")
def rtt_of_sparse_flow(scenario: Scenario) -> Value:
    """A flow that sends less than its share waits for the frame that is on its way, whatever else is queued.

    It is the longest such wait, of a flow alone in its queue that sends a packet now and then.
    """
    hop = _queued(scenario)
    _queue(hop, *_FAIR)
    assert hop.rate is not None
    frame = Size(packet(scenario).bytes + _ETHERNET_HEADER + _FRAME_AROUND)
    return Value(base_rtt(scenario).number + float(hop.rate.time_for(frame)), "s")


@law(formula="1 / n", source="Shreedhar and Varghese (1995): deficit round robin; RFC 8290, 4.1")
def fair_queue_share(scenario: Scenario) -> Value:
    """Each of n greedy flows gets an equal share of the link, whatever its congestion control and its round trip.

    It holds where each flow has a queue of its own, and fills it.
    """
    if len(scenario.flows) < 2:
        raise ModelError("one flow shares with nobody")
    _queue(_queued(scenario), *_FAIR)
    return Value(1 / len(scenario.flows), "1")


@law(formula="0", source="RFC 3168, 5: what can be marked is not dropped")
def nothing_lost(scenario: Scenario) -> Value:
    """Nothing is dropped, and so nothing sent twice, where ends and queue know ECN and the queue never overflows."""
    queue = _queue(_queued(scenario), *_MARKING)
    if not dict(queue.parameters).get("ecn", queue.kind in ("fq_codel", "cake")):
        raise ModelError("the queue does not mark")
    if not all(host.node.sysctls.get("net.ipv4.tcp_ecn") == "1" for host in (scenario.sender, scenario.receiver)):
        raise ModelError("an end does not ask for ECN")
    if scenario.loss:
        raise ModelError("the path loses frames by chance")
    return Value(0, "1")


def _queued(scenario: Scenario) -> Direction:
    found = [hop for hop in scenario.forward if hop.queue and hop.rate]
    if len(found) != 1:
        raise ModelError("the law is for a path with one queue of its own, before a rate")
    return found[0]


def _queue(hop: Direction, *kinds: str) -> Queue:
    assert hop.queue is not None
    if hop.queue.kind not in kinds:
        raise ModelError(f"the queue is {hop.queue.kind}: the law is for {', '.join(kinds)}")
    return hop.queue


def _time(queue: Queue, name: str, otherwise: Duration) -> Duration:
    given = dict(queue.parameters).get(name)
    return Duration.of(str(given)) if given is not None else otherwise
