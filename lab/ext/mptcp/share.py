"""Measure how a Multipath TCP connection used its paths, from captures on the interfaces at one end."""

from __future__ import annotations

from lab.guest import outputs
from lab.metric.metrics import connection_of
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value


@measures("1", most=1)
def path_share(node: str, interface: str) -> Measure:
    """Return a metric: the share of all payload bytes that took the path over one interface of `node`.

    All interfaces of the node that serve as paths must be captured, with one subflow each. Data that a subflow
    retransmitted is counted once. Data that another subflow repeated is counted for both subflows.
    """

    def measure(record: Record) -> Value:
        paths = [name.removesuffix(".pcap").rpartition(".")[2] for name in outputs.captures(record.outputs, node)]
        carried = {path: connection_of(record, node, path).payload_bytes for path in paths}
        if interface not in carried or not sum(carried.values()):
            raise MetricError(f"the captures of '{node}' ({', '.join(paths)}) hold no payload through {interface}")
        return Value(carried[interface] / sum(carried.values()), "1")

    return measure
