"""How long a transfer of some size takes, from the first SYN to the last byte read."""

from __future__ import annotations

from math import sqrt

from lab.model.line import ModelError, base_rtt, goodput_line_rate, one_way, packet
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.transfer import transfer
from lab.units import Size, Value

__all__ = ["transfer_time", "transfer_time_with_loss"]

_SYN, _ACK = Size(60), Size(52)  # IP packets: 20, 20 and the options


def transfer_time(path: Path) -> Value:
    """Handshake, slow start and the rest, on a path without loss."""
    if path.loss:
        raise ModelError("the path loses frames: `transfer_time_with_loss` covers it")
    return Value(_handshake(path) + transfer(path).drained, "s")


def transfer_time_with_loss(path: Path) -> Value:
    """Where one frame in 1/p is lost at random: sqrt(3 / 2p) segments a round trip, or the line's rate if less.

    The window of Reno (RFC 3649 5.1, RFC 9438 4.3), which CUBIC keeps to where its own would be smaller: with few
    segments a round trip. Without slow start; a mean over many losses.
    """
    if not path.loss or path.size is None:
        raise ModelError("the path loses nothing, or its workload has no size")
    window = sqrt(3 / (2 * path.loss)) * mss(path)
    rtt = base_rtt(path, packet(path), _ACK).number
    rate = min(window / rtt, goodput_line_rate(path).number / 8)
    return Value(_handshake(path) + path.size.bytes / rate, "s")


def _handshake(path: Path) -> float:
    """Until the sender may write: a round trip where it connects itself, and the last ACK's way where it was called."""
    seconds = base_rtt(path, _SYN, _SYN).number
    if path.workload.get("client") == path.receiver.name:
        seconds += one_way(path.back, _ACK)
    return seconds
