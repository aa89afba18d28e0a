"""Predict the effect of a link's queue on the flows: waits, shares and losses."""

from __future__ import annotations

from lab.base import ethernet
from lab.guest.network import Direction, Queue
from lab.model import codel, pie
from lab.model.line import base_rtt, frame, packet
from lab.model.ranges import bulks, check_windows
from lab.model.scenario import ModelError, Scenario
from lab.model.window import smaller_window
from lab.spec.prediction import Prediction, law, replay
from lab.units import Duration, Size, Value

_FAIR = ("fq_codel", "cake", "fq_pie", "fq", "sfq")  # kinds with a queue for each flow
_MARKING = ("codel", "fq_codel", "cake", "red")  # above a tenth, PIE drops instead: RFC 8033, 5.1


@law(formula="RTT + limit / rate", source="Little's law, W = L / λ (1961)")
def rtt_through_full_queue(scenario: Scenario) -> Value:
    """A frame that arrives at a full FIFO waits until the whole queue has left at the link's rate.

    The law holds if greedy flows fill the queue, with windows that may become larger than the path and the queue.
    """
    hop = queued(scenario)
    queue = _queue(hop, "bfifo", "pfifo")
    limit = dict(queue.parameters)["limit"]
    held = packet(scenario).bytes + ethernet.HEADER
    frames = int(limit) if queue.kind == "pfifo" else Size.of(str(limit)).bytes // held
    assert hop.rate is not None
    longest = base_rtt(scenario).number + frames * 8 * frame(scenario).bytes / hop.rate.bps
    windows = sum(smaller_window(each) for each in bulks(scenario))
    if bulks(scenario) and 8 * windows < hop.rate.bps * longest:
        raise ModelError(f"all windows are {windows} B, less than path and queue hold: nothing fills the queue")
    return Value(longest, "s")


@law(formula="the target, at most", source="RFC 8289, 3.2 and 4.2", long_run=True)
def codel_target(scenario: Scenario) -> Value:
    """CoDel lets no queue persist above the target: responsive senders keep the median wait at or below the target.

    The figure is a bound. The bound is valid for responsive senders with windows of several segments, and for a target
    of at least the time of two and a half frames. A smaller target cannot be met: CoDel does not drop the last frame in
    a queue (RFC 8289, section 5), and that frame may have to wait until the link has sent the frame before it.
    """
    hop = queued(scenario)
    target = parameter_time(_queue(hop, "codel", "fq_codel"), "target", codel.TARGET)
    assert hop.rate is not None
    if 2.5 * float(hop.rate.time_for(frame(scenario))) > target.seconds:
        raise ModelError(f"two and a half frames take longer than the target of {target}")
    if scenario.writer.offered:
        raise ModelError("the sender does not respond to drops: no drop makes it slower")
    check_windows(scenario, target.seconds)
    return Value(target.seconds, "s")


def codel_drops(seconds: float) -> Prediction:
    """Return the law for the number of packets that CoDel drops within this many seconds from the first drop on."""

    @replay(formula="n with interval × Σ 1/√k ≤ t for k < n", source="RFC 8289, 5.4 and 5.5; codel_Newton_step()")
    def drops(scenario: Scenario) -> Value:
        """CoDel's drops follow its control law, and the first drop counts.

        The law holds for traffic that does not respond to drops, while the queue stays above the target. The queue
        stays above the target while the law drops fewer frames than arrive in excess of the rate.
        """
        hop = queued(scenario)
        interval = parameter_time(_queue(hop, "codel"), "interval", codel.INTERVAL)
        dropped = codel.drops_within(interval.seconds + seconds, interval)
        excess = _excess(scenario, hop) * (interval.seconds + seconds)
        if dropped > excess:
            raise ModelError(
                f"the law needs {dropped} drops in {seconds:g} s of {excess:.0f} frames in excess: no queue stands"
            )
        return Value(dropped, "1")

    return drops


@law(
    formula="the target",
    source="RFC 8033, 4.2: the probability rests only where the delay is the target",
    long_run=True,
)
def pie_target(scenario: Scenario) -> Value:
    """PIE's controller keeps the mean delay at its target after settling, while senders always have more to send.

    The controller saturates if the senders cannot slow down because each has a window of only a few segments.
    """
    hop = queued(scenario)
    target = parameter_time(_queue(hop, "pie", "fq_pie"), "target", pie.TARGET).seconds
    if scenario.writer.offered:
        _excess(scenario, hop)
    check_windows(scenario, target)
    return Value(target, "s")


@law(formula="RTT + two frames / rate", source="RFC 8290, 4.1 and 5.2: a flow that builds no queue goes first")
def rtt_of_sparse_flow(scenario: Scenario) -> Value:
    """A flow that sends less than its share waits only for frames that have left the queue, however long the queue is.

    The flow waits for the frame on the wire, and for the next frame, which the wire took from the queue before the
    first had left. The figure is the longest wait of a flow that is alone in its queue and sends a packet now and then.
    """
    hop = queued(scenario)
    _queue(hop, *_FAIR)
    assert hop.rate is not None
    return Value(base_rtt(scenario).number + 2 * float(hop.rate.time_for(frame(scenario))), "s")


@law(formula="0", source="RFC 3168, 5: what can be marked is not dropped")
def nothing_lost(scenario: Scenario) -> Value:
    """No packet is dropped or retransmitted if both ends and the queue use ECN, and the queue never overflows."""
    queue = _queue(queued(scenario), *_MARKING)
    if not dict(queue.parameters).get("ecn", queue.kind in ("fq_codel", "cake")):
        raise ModelError("the queue does not mark")
    if not all(host.node.sysctls.get("net.ipv4.tcp_ecn") == "1" for host in (scenario.sender, scenario.receiver)):
        raise ModelError("an end does not use ECN")
    if scenario.loss:
        raise ModelError("the path loses frames by chance")
    check_windows(scenario, parameter_time(queue, "target", codel.TARGET).seconds)
    return Value(0, "1")


def _excess(scenario: Scenario, hop: Direction) -> float:
    """Return the number of frames per second in excess of the rate, for traffic that does not respond to drops."""
    offered = scenario.writer.offered
    assert hop.rate is not None
    if offered is None or offered.bps <= hop.rate.bps:
        raise ModelError("the workload offers no more than the rate: no queue stands")
    return (offered.bps - hop.rate.bps) / (8 * frame(scenario).bytes)


def queued(scenario: Scenario) -> Direction:
    """Return the only hop with a queue discipline. Raises ModelError if there are others, or none with a rate."""
    found = [hop for hop in scenario.forward if hop.queue and hop.rate]
    if len(found) != 1:
        raise ModelError("the law is for a path with exactly one queue discipline, on a link with a rate")
    return found[0]


def _queue(hop: Direction, *kinds: str) -> Queue:
    assert hop.queue is not None
    if hop.queue.kind not in kinds:
        raise ModelError(f"the queue is {hop.queue.kind}: the law is for {', '.join(kinds)}")
    return hop.queue


def parameter_time(queue: Queue, name: str, otherwise: Duration) -> Duration:
    """Return a queue's parameter that is a time, or `otherwise` if the parameter is not set."""
    given = dict(queue.parameters).get(name)
    return Duration.of(str(given)) if given is not None else otherwise
