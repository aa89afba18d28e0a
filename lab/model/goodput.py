"""Predict a bulk transfer's goodput as each tool counts it and the queue space that the transfer needs at the
bottleneck.
"""

from __future__ import annotations

from lab.guest.network import Direction
from lab.model.line import base_rtt, frame, goodput_line_rate
from lab.model.mss import mss
from lab.model.ranges import BETA
from lab.model.scenario import ModelError, Scenario
from lab.model.transfer import REPLAYED, Transfer, transfer
from lab.model.window import smaller_window
from lab.model.wire import overflowing
from lab.spec.prediction import law, simulation
from lab.units import Value

_BLOCKS = 100  # with this many blocks of iperf3 or more, a part of a block does not matter


@law(formula="min(rwnd, sndbuf) × 8 / RTT, at most rate × payload / frame", source="RFC 6349, 3.3.1; IEEE 802.3")
def goodput_window_over_rtt(scenario: Scenario) -> Value:
    """The sender sends the smaller of receive window and send buffer once per round trip, unless the link is slower.

    The law ignores slow start, bursts and the share of a buffer that headers take.
    """
    _lossless(scenario)
    full = goodput_line_rate(scenario).number
    return Value(min(8 * smaller_window(scenario) / base_rtt(scenario).number, full), "bit/s")


@law(formula="min(rwnd, sndbuf) / MSS", source="RFC 9293, 3.8: at most a window is in flight")
def frames_of_window(scenario: Scenario) -> Value:
    """The bottleneck would hold the whole window, because netem's queue also holds the link's frames in flight."""
    return Value(-(-smaller_window(scenario) // mss(scenario)), "1")


@law(formula="1 if min(rwnd, sndbuf) / MSS > limit, else 0", source="RFC 9293, 3.8; netem_enqueue()")
def any_drops_of_window(scenario: Scenario) -> Value:
    """The bottleneck drops frames if its limit is below the window's number of frames."""
    return Value(int(frames_of_window(scenario).number > scenario.limit), "1")


@law(formula="0 while min(rwnd, sndbuf) / MSS ≤ limit", source="RFC 9293, 3.8; netem_enqueue()")
def lost_frames_of_window(scenario: Scenario) -> Value:
    """No frame is lost while the bottleneck can hold the whole window."""
    _lossless(scenario)
    if any_drops_of_window(scenario).number:
        raise ModelError("the window is larger than the bottleneck's limit: there is no closed form for the loss")
    return Value(0, "1")


@simulation(of=REPLAYED, law=goodput_window_over_rtt)
def goodput_iperf3(scenario: Scenario) -> Value:
    """The receiver of iperf3 divides the data that is sent in time by the receiver's own time.

    The message that ends the test queues behind the data, and then takes a round trip. The receiver's clock runs longer
    than the sender's by these times. The receiver counts a block only after reading the whole block, so a partial last
    block is not counted. The model ignores the partial block if there are many blocks.
    """
    done, block = undropped(scenario), scenario.writer.write_size or 0
    if _BLOCKS * block > done.sent:
        raise ModelError("iperf3 counts whole blocks: the model covers blocks below a hundredth of the data")
    return Value(8 * done.sent / (done.seconds + done.queue + base_rtt(scenario).number), "bit/s")


@simulation(of=REPLAYED, law=goodput_window_over_rtt)
def goodput_iperf(scenario: Scenario) -> Value:
    """The server of iperf 2 counts all written data, from the first arrival to the last.

    The client ends a write after half of the test's duration (SO_SNDTIMEO). In that case, only the data sent before the
    timeout counts.
    """
    done, writer = undropped(scenario), scenario.writer
    goodput = 8 * done.total / (done.drained - scenario.delay.seconds)
    if writer.write_size and writer.duration and 8 * writer.write_size / goodput > writer.duration.seconds / 2:
        raise ModelError("iperf ends a write after half of the duration: the model covers smaller blocks")
    return Value(goodput, "bit/s")


@simulation(of=REPLAYED, law=goodput_window_over_rtt)
def goodput_bulk(scenario: Scenario) -> Value:
    """The lab's own transfer counts data from its receiver's first wake-up until the last byte has arrived."""
    done = undropped(scenario)
    if done.started is None:
        raise ModelError("the transfer ends before its receiver first wakes and starts its clock")
    return Value(8 * (done.total - done.first) / (done.drained - done.started), "bit/s")


@law(formula="rate × payload / frame", source="IEEE 802.3; RFC 2883; tcp_try_undo_dsack()")
def goodput_despite_reordering(scenario: Scenario) -> Value:
    """The transfer reaches the line rate in the long run: D-SACK tells the sender that a segment was late, not lost.

    The sender undoes its cut (tcp_try_undo_dsack()), and waits longer before the next cut (tcp_rack_reo_wnd()).
    """
    if scenario.loss or not scenario.receiver.sysctl("tcp_dsack"):
        raise ModelError("chance decides how often a window is cut: the model covers D-SACK without loss")
    return goodput_line_rate(scenario)


@simulation(of=REPLAYED, law=frames_of_window)
def frames_in_flight(scenario: Scenario) -> Value:
    """The figure is the largest number of frames, queued or in flight, that the bottleneck holds if it has no limit."""
    return Value(max(_of_bottleneck(scenario, transfer(scenario))), "1")


@simulation(of=REPLAYED, law=any_drops_of_window)
def any_drops(scenario: Scenario) -> Value:
    """The figure is 1 if the bottleneck must drop frames, because more frames arrive than its limit allows, else 0."""
    done = transfer(scenario)
    drops = max(_of_bottleneck(scenario, done)) > scenario.limit
    if not drops and _dropping(scenario, done):
        raise ModelError(
            "a hop other than the bottleneck drops frames: the model does not cover what then reaches the bottleneck"
        )
    return Value(int(drops), "1")


@simulation(of=REPLAYED, law=lost_frames_of_window)
def lost_frames(scenario: Scenario) -> Value:
    """No frame is lost if neither the wire nor its limit loses any. Raises ModelError if either loses frames."""
    undropped(scenario)
    return Value(0, "1")


def undropped(scenario: Scenario) -> Transfer:
    """Return the simulated transfer. Raises ModelError if a wire or its limit loses frames."""
    done = transfer(scenario)
    if _dropping(scenario, done):
        raise ModelError("a queue is too short and loses frames: the model covers a transfer without loss")
    return done


def stays_busy(scenario: Scenario, done: Transfer) -> bool:
    """Return whether only the bottleneck's queue drops frames, while the link is always busy.

    Frames that the queue drops take no time on the link. CUBIC keeps 70 % of the window (RFC 9438, 4.6), and the
    window was as large as the limit, which counts queued frames and frames in flight.
    """
    bottlenecks = [hop for hop in overflowing(scenario.forward, done.peaks) if hop.rate == scenario.rate]
    if len(bottlenecks) != len(_dropping(scenario, done)) or scenario.rate is None:
        return False
    left = BETA["cubic"] * scenario.limit * frame(scenario).bytes
    return 8 * left >= scenario.rate.bps * base_rtt(scenario).number


def _dropping(scenario: Scenario, done: Transfer) -> list[Direction]:
    return overflowing((*scenario.forward, *scenario.reverse), (*done.peaks, *done.peaks_back))


def _of_bottleneck(scenario: Scenario, done: Transfer) -> list[int]:
    """Return the largest number of frames in the slowest hop, with one number for each hop of that rate."""
    return [peak for hop, peak in zip(scenario.forward, done.peaks, strict=True) if hop.rate == scenario.rate]


def _lossless(scenario: Scenario) -> None:
    if scenario.loss:
        raise ModelError("the path loses frames: the law is for a path without loss")
