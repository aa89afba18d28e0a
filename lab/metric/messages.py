"""Measure an exchange of small writes (`lab.guest.workload.SmallWrites`): its duration and its packets per message.

Metrics raise MetricError or RecordError if the record does not hold the necessary data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.guest import outputs
from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.metrics import connection_of
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, Quantile, measures
from lab.units import Value


@dataclass(frozen=True)
class Counts:
    """Holds packet counts, with one entry per message.

    An ACK belongs to the message of the last byte that it acknowledges. The handshake and the end belong to no message.
    """

    client_data: Ints  # the client's data packets
    server_data: Ints  # the server's
    client_acks: Ints  # the client's pure ACKs
    server_acks: Ints  # the server's
    first: Ints  # payload of the client's first data packet, in bytes


def latencies(record: Record) -> Floats:
    """Return the time, in seconds, from each message's first write to the answer."""
    return np.diff(np.array(_output(record, "stamps_ns"), np.int64)).astype(np.float64) / 1e9


@measures("s")
def exchange_time() -> Measure:
    """Measure the seconds from the first message to the last answer."""
    return lambda record: Value(float(latencies(record).sum()), "s")


@measures("s")
def message_latency(quantile: Quantile = 0.5) -> Measure:
    """Measure the seconds that a message takes: the median, or a different quantile."""
    return lambda record: Value(float(np.quantile(latencies(record), quantile)), "s")


@measures("1")
def data_packets(node: str = "sender", interface: str | None = None) -> Measure:
    """Count the client's data packets per message, and take the median."""
    return _median(lambda counts: counts.client_data, "1", node, interface)


@measures("1")
def lone_acks(node: str = "sender", interface: str | None = None) -> Measure:
    """Count the server's pure ACKs per message, and take the median."""
    return _median(lambda counts: counts.server_acks, "1", node, interface)


@measures("B")
def first_segment(node: str = "sender", interface: str | None = None) -> Measure:
    """Measure the payload of each message's first data packet, and take the median."""
    return _median(lambda counts: counts.first, "B", node, interface)


@measures("1", by="event")
def file_in_first(node: str = "sender", interface: str | None = None) -> Measure:
    """Return 1 if a message's first data packet also carries bytes of the file, else 0."""
    payload = first_segment(node, interface)

    def measure(record: Record) -> Value:
        written = _output(record, "message_bytes") - _output(record, "file_bytes")
        return Value(int(payload(record).number > written), "1")

    return measure


def counts_of(record: Record, node: str, interface: str | None = None) -> Counts:
    """Return the packet counts of each message in the capture of `node`."""
    message, reply = (_output(record, f"{which}_bytes") for which in ("message", "reply"))
    messages = len(_output(record, "stamps_ns")) - 1
    connection = connection_of(record, node, interface)
    carried = sum(int(part.forward.payload.sum()) for part in connection.parts())
    if carried != messages * message:
        raise MetricError(f"the capture holds {carried:,} bytes, which are not {messages:,} messages of {message} B")

    def count(positions: Ints, size: int, where: Bools) -> Ints:
        """Count positions per message. Positions are sequence numbers after a SYN: message n starts at n x size + 1."""
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


def _median(of: Callable[[Counts], Any], unit: str, node: str, interface: str | None) -> Measure:
    return lambda record: Value(float(np.median(of(counts_of(record, node, interface)))), unit)


def _output(record: Record, name: str) -> Any:
    try:
        return record.json(outputs.SMALL_WRITES)[name]
    except KeyError:
        raise MetricError(f"small_writes.json has no '{name}'") from None
