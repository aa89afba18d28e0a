"""Predict how long a transfer of some size takes, from the first SYN to the last byte read."""

from __future__ import annotations

from lab.model.handshake import handshake
from lab.model.line import ModelError
from lab.model.path import Path
from lab.model.transfer import transfer
from lab.units import Value

__all__ = ["transfer_time"]


def transfer_time(path: Path) -> Value:
    """The transfer takes the handshake, slow start and the rest, on a path without loss."""
    if path.loss:
        raise ModelError("the path loses frames: the model covers a transfer without loss")
    return Value(handshake(path).sender / 1e9 + transfer(path).drained, "s")
