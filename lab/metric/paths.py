"""Measure how a connection of Multipath TCP used its paths, by captures on the interfaces of one of its ends."""

from __future__ import annotations

from lab import outputs
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, connection_of
from lab.record.record import Record
from lab.units import Value

__all__ = ["path_share"]


def path_share(node: str, interface: str) -> Metric:
    """Measure the share of all bytes of payload that took the path over one interface of `node`.

    All its interfaces that are paths are captured, with one subflow each. What a subflow sent again counts once, what
    another one did counts for both.
    """

    def measure(record: Record) -> Value:
        paths = [name.removesuffix(".pcap").rpartition(".")[2] for name in outputs.captures(record.outputs, node)]
        carried = {path: connection_of(record, node, path).payload_bytes for path in paths}
        if interface not in carried or not sum(carried.values()):
            raise MetricError(f"the captures of '{node}' ({', '.join(paths)}) hold no payload by {interface}")
        return Value(carried[interface] / sum(carried.values()), "1")

    return measure
