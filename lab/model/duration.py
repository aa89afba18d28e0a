"""How long a transfer of some size takes, from the first SYN to the last byte read."""

from __future__ import annotations

from lab.model.line import ModelError, base_rtt, one_way
from lab.model.path import Path
from lab.model.transfer import transfer
from lab.units import Size, Value

__all__ = ["transfer_time"]

_SYN, _ACK = Size(60), Size(52)  # IP packets: 20, 20 and the options


def transfer_time(path: Path) -> Value:
    """Handshake, slow start and the rest, on a path without loss."""
    if path.loss:
        raise ModelError("the path loses frames: the model covers a transfer without loss")
    return Value(_handshake(path) + transfer(path).drained, "s")


def _handshake(path: Path) -> float:
    """Until the sender may write: a round trip where it connects itself, and the last ACK's way where it was called."""
    seconds = base_rtt(path, _SYN, _SYN).number
    if path.workload.get("client") == path.receiver.name:
        seconds += one_way(path.back, _ACK)
    return seconds
