"""What a bulk transfer does once slow start is over, without loss."""

from __future__ import annotations

from lab.model.goodput import undropped
from lab.model.line import ModelError, base_rtt, frame, packet
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.window import rcv_window
from lab.units import Size, Value

__all__ = ["goodput_steady", "idle_share", "round_trip"]


def goodput_steady(path: Path) -> Value:
    """What is acknowledged in the second half of the time: as much as both ends' windows and the link let through.

    Of a send buffer, two thirds a round trip: its writer sleeps until a third is free (sk_stream_write_space), and the
    last third is free only when the ACKs of a round trip are over.
    """
    done = undropped(path)
    half = done.seconds / 2
    return Value(8 * (done.acked(done.seconds) - done.acked(half)) / half, "bit/s")


def idle_share(path: Path) -> Value:
    """1 - W / (R x RTT): a receive window W, as frames of rate R, takes so much less than a round trip.

    The window lacks what waits for its reader. The first two segments of a window are acknowledged together.
    """
    if path.rate is None:
        raise ModelError("no link of the path has a rate, so a window takes no time")
    wire = float(path.rate.time_for(frame(path)))
    rtt = round_trip(path).number + wire
    busy = (rcv_window(path) - path.watermark) / mss(path) * wire
    return Value(max(0.0, 1 - busy / rtt), "1")


def round_trip(path: Path) -> Value:
    """A full segment and its ACK on an idle path: delays and serialisation, and nothing of the machines at its ends."""
    return base_rtt(path, packet(path), Size(packet(path).bytes - mss(path)))
