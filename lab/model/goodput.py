"""Predict what a bulk transfer measures: goodput as each tool counts it, and what the bottleneck has to hold."""

from __future__ import annotations

from lab.model.line import ModelError, base_rtt, goodput_line_rate
from lab.model.path import Path
from lab.model.transfer import Transfer, transfer
from lab.model.window import rcv_window
from lab.units import Value

__all__ = [
    "any_drops",
    "frames_in_flight",
    "goodput_bulk",
    "goodput_despite_reordering",
    "goodput_formula",
    "goodput_iperf",
    "goodput_iperf3",
    "goodput_written",
    "lost_frames",
    "undropped",
]


def goodput_iperf3(path: Path) -> Value:
    """The receiver of iperf3 counts what was sent in time, over its own time.

    The message that ends the test follows the data through the queue and starts with a round trip: the receiver's
    clock runs that much longer than the sender's.
    """
    done = undropped(path)
    return Value(8 * done.sent / (done.seconds + done.queue + base_rtt(path).number), "bit/s")


def goodput_iperf(path: Path) -> Value:
    """The server of iperf 2 counts all that was written, from the first arrival to the last."""
    done = undropped(path)
    return Value(8 * done.total / (done.drained - path.delay.seconds), "bit/s")


def goodput_written(path: Path) -> Value:
    """The senders of iperf and iperf3 count what was written, even if only buffered, over the writer's time."""
    done = undropped(path)
    return Value(8 * done.written / done.seconds, "bit/s")


def goodput_bulk(path: Path) -> Value:
    """The lab's own transfer counts from when its receiver first wakes until the last byte has arrived."""
    done = undropped(path)
    if done.started is None:
        raise ModelError("the transfer ends before its receiver first wakes, where its clock starts")
    return Value(8 * (done.total - done.first) / (done.drained - done.started), "bit/s")


def goodput_formula(path: Path) -> Value:
    """The receive window passes once per round trip: rwnd x 8 / RTT. No slow start and no send buffer are in it."""
    rtt = base_rtt(path).number
    return Value(8 * rcv_window(path) / rtt, "bit/s")


def goodput_despite_reordering(path: Path) -> Value:
    """The transfer reaches the line rate in the long run: D-SACK tells the sender that a segment was late, not lost.

    The sender takes back what it concluded (tcp_try_undo_dsack()), and waits longer for the next one
    (tcp_rack_reo_wnd()).
    """
    if path.loss or path.receiver.sysctls.get("net.ipv4.tcp_dsack") == "0":
        raise ModelError("how often a window is halved depends on chance: the model covers a path where none stays so")
    return goodput_line_rate(path)


def frames_in_flight(path: Path) -> Value:
    """The figure is the most frames that the bottleneck would hold, queued and in flight, without its limit."""
    return Value(transfer(path).peak, "1")


def any_drops(path: Path) -> Value:
    """The figure is 1 if the bottleneck must drop frames, because more arrive than its limit holds; else 0."""
    return Value(int(transfer(path).peak > path.limit), "1")


def lost_frames(path: Path) -> Value:
    """No frame is lost where neither the wire nor its limit loses any. Raises ModelError where one of them does."""
    undropped(path)
    return Value(0, "1")


def undropped(path: Path) -> Transfer:
    """Return the transfer. Raises ModelError where the wire or its limit loses frames."""
    done = transfer(path)
    if path.loss or done.peak > path.limit:
        raise ModelError("the path loses frames: the model covers a transfer without loss")
    return done
