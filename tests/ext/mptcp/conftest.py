"""Crafted captures, as the tests of metrics make them."""

from tests.metric.conftest import handshake, record, save, segment

__all__ = ["handshake", "record", "save", "segment"]
