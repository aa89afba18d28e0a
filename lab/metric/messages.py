"""Measure an exchange of small writes (`lab.workload.SmallWrites`): its time, and its packets per message.

Metrics raise MetricError, or RecordError, when the record does not hold what they need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab import outputs
from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, connection_of
from lab.record.record import Record
from lab.units import Value

__all__ = [
    "Counts",
    "counts_of",
    "data_packets",
    "exchange_time",
    "file_in_first",
    "first_segment",
    "latencies",
    "lone_acks",
    "message_latency",
]


@dataclass(frozen=True)
class Counts:
    """Counts hold one entry per message.

    An ACK belongs to the message whose bytes it acknowledges last. The handshake and the end belong to none.
    """

    client_data: Ints  # the client's data packets
    server_data: Ints  # the server's
    client_acks: Ints  # the client's packets that only acknowledge
    server_acks: Ints  # the server's
    first: Ints  # payload of the client's first data packet, in bytes


def latencies(record: Record) -> Floats:
    """Return the seconds from each message's first write to its answer."""
    return np.diff(np.array(_output(record, "stamps_ns"), np.int64)).astype(np.float64) / 1e9


def exchange_time() -> Metric:
    """Measure the seconds from the first message to the last answer."""
    return lambda record: Value(float(latencies(record).sum()), "s")


def message_latency(quantile: float = 0.5) -> Metric:
    """Measure the seconds that a message takes: the median or another quantile."""
    return lambda record: Value(float(np.quantile(latencies(record), quantile)), "s")


def data_packets(node: str = "sender", interface: str | None = None) -> Metric:
    """Count the client's data packets per message, and take the median."""
    return _median(lambda counts: counts.client_data, "1", node, interface)


def lone_acks(node: str = "sender", interface: str | None = None) -> Metric:
    """Count the server's pure ACKs per message, and take the median."""
    return _median(lambda counts: counts.server_acks, "1", node, interface)


def first_segment(node: str = "sender", interface: str | None = None) -> Metric:
    """Measure the payload of each message's first data packet, and take the median."""
    return _median(lambda counts: counts.first, "B", node, interface)


def file_in_first(node: str = "sender", interface: str | None = None) -> Metric:
    """Return 1 if a message's first data packet has bytes of the file besides those written before it, else 0."""
    payload = first_segment(node, interface)

    def measure(record: Record) -> Value:
        written = _output(record, "message_bytes") - _output(record, "file_bytes")
        return Value(int(payload(record).number > written), "1")

    return measure


def counts_of(record: Record, node: str, interface: str | None = None) -> Counts:
    """Count the packets of each message in the capture of `node`."""
    message, reply = (_output(record, f"{which}_bytes") for which in ("message", "reply"))
    messages = len(_output(record, "stamps_ns")) - 1
    connection = connection_of(record, node, interface)
    carried = sum(int(part.forward.payload.sum()) for part in connection.parts())
    if carried != messages * message:
        raise MetricError(f"the capture holds {carried:,} bytes of {messages:,} messages of {message} B")

    def count(positions: Ints, size: int, where: Bools) -> Ints:
        """Count positions per message. They are sequence numbers past a SYN: message n starts at n x size + 1."""
        wanted = positions[where]
        return np.bincount((wanted[(wanted > 0) & (wanted <= messages * size)] - 1) // size, minlength=messages)

    found = np.zeros((4, messages), np.int64)
    first = []
    for client, server in ((part.forward, part.back) for part in connection.parts()):
        found += (
            count(client.seq, message, client.data),
            count(server.seq, reply, server.data),
            count(client.ack - 1, reply, client.pure_ack),
            count(server.ack - 1, message, server.pure_ack),
        )
        first.append(client.payload[client.data & ((client.seq - 1) % message == 0)])
    client_data, server_data, client_acks, server_acks = found
    return Counts(client_data, server_data, client_acks, server_acks, np.concatenate(first))


def _median(of: Callable[[Counts], Any], unit: str, node: str, interface: str | None) -> Metric:
    return lambda record: Value(float(np.median(of(counts_of(record, node, interface)))), unit)


def _output(record: Record, name: str) -> Any:
    try:
        return record.json(outputs.SMALL_WRITES)[name]
    except KeyError:
        raise MetricError(f"small_writes.json has no '{name}'") from None
