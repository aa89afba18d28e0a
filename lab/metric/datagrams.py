"""Measure loss, delay, jitter and reordering of packets between two hosts, from a capture at each host.

Both captures have the same clock, so that a one-way delay is one subtraction. A packet is recognised by its flow,
length, and either its sequence number and timestamp (TCP) or the first 16 bytes of its payload (UDP). iperf3, for
example, numbers its datagrams there.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lab.metric.arrays import Bools, Floats, Ints, np
from lab.metric.capture import Capture
from lab.metric.metrics import capture_of
from lab.metric.packets import UDP
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, Quantile, measures
from lab.units import Value

Protocol = Literal["UDP", "TCP"]

_ROW = [("key", "u8"), ("seq", "u4"), ("stamp", "u4"), ("payload", "i4"), ("start", "u8")]
_ROW_OF = {"key": "key", "seq": "seq", "stamp": "ts_value", "payload": "payload", "start": "payload_start"}


class Journeys(NamedTuple):
    """Holds the packets with data that went from one host to another, in the order in which they were sent."""

    sent_ns: Ints
    came_ns: Ints  # -1: the packet did not arrive

    @property
    def arrived(self) -> Bools:
        """Whether each packet arrived."""
        found: Bools = self.came_ns >= 0
        return found

    @property
    def delays(self) -> Floats:
        """The one-way delays in seconds of the packets that arrived, in sending order. Raises MetricError if no packet
        arrived.
        """
        if not self.arrived.any():
            raise MetricError("no packet with data arrived")
        found: Floats = (self.came_ns - self.sent_ns)[self.arrived] / 1e9
        return found


@measures("1", most=1)
def lost_share(of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver") -> Measure:
    """Measure the share of the packets with data that one host sent to another and that did not arrive."""

    def measure(record: Record) -> Value:
        found = journeys(record, of, sender, receiver)
        return Value(float(np.mean(~found.arrived)), "1")

    return measure


@measures("s", by="median")
def one_way_delay(
    quantile: Quantile = 0.5, of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver"
) -> Measure:
    """Measure the time from one host to another of packets with data, in seconds: the median, or another quantile."""

    def measure(record: Record) -> Value:
        return Value(float(np.quantile(journeys(record, of, sender, receiver).delays, quantile)), "s")

    return measure


@measures("s", by="median")
def delay_variation(
    quantile: Quantile = 0.95, of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver"
) -> Measure:
    """Measure by how much a packet's one-way delay exceeds the shortest one, in seconds (RFC 5481, PDV): a quantile."""

    def measure(record: Record) -> Value:
        delays = journeys(record, of, sender, receiver).delays
        return Value(float(np.quantile(delays, quantile) - delays.min()), "s")

    return measure


@measures("s")
def jitter(of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver") -> Measure:
    """Measure the interarrival jitter of RFC 3550, 6.4.1, after the last packet, in seconds.

    The jitter is a moving mean, with weight 1/16, of the change of the one-way delay from one arrival to the next.
    """

    def measure(record: Record) -> Value:
        found = journeys(record, of, sender, receiver)
        delays = found.delays[np.argsort(found.came_ns[found.arrived], kind="stable")]
        estimate = 0.0
        for change in np.abs(np.diff(delays)).tolist():
            estimate += (change - estimate) / 16
        return Value(estimate, "s")

    return measure


@measures("1", most=1)
def reordered_share(of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver") -> Measure:
    """Measure the share of arriving packets with data that an earlier sent packet arrives behind (RFC 4737, 3.3).

    A packet is reordered if a packet that was sent later arrived before it.
    """

    def measure(record: Record) -> Value:
        found = journeys(record, of, sender, receiver)
        if not found.arrived.any():
            raise MetricError("no packet with data arrived")
        numbers = np.argsort(found.came_ns[found.arrived], kind="stable")  # sending order, by arrival
        return Value(float(np.mean(numbers < np.maximum.accumulate(numbers))), "1")

    return measure


def journeys(record: Record, of: Protocol = "UDP", sender: str = "sender", receiver: str = "receiver") -> Journeys:
    """Return the packets with data of this protocol from `sender` to `receiver`, from the captures of both hosts.

    The first arrival of a packet counts. Raises MetricError if a host was not captured, if no such packet was sent, if
    packets were fragmented, or if two packets look alike.
    """
    ends = addresses_of(record, sender), addresses_of(record, receiver)
    (rows, sent_ns), (others, came_ns) = (_rows(capture_of(record, node), of, *ends) for node in (sender, receiver))
    if not len(rows):
        raise MetricError(f"the capture of '{sender}' has no {of} packet with data to '{receiver}'")
    if len(np.unique(rows)) < len(rows):
        raise MetricError(f"'{sender}' sent packets that look alike; number datagrams in their first 16 bytes")
    there, first = np.unique(others, return_index=True)
    _, at, where = np.intersect1d(rows, there, return_indices=True)
    came = np.full(len(rows), -1, np.int64)
    came[at] = came_ns[first[where]]
    return Journeys(sent_ns, came)


def addresses_of(record: Record, node: str) -> frozenset[str]:
    """Return the addresses of a host's ends of links."""
    links: list[dict[str, Any]] = record.trial.network["links"]
    ends = [end for link in links for end in link["ends"] if end["node"] == node]
    return frozenset(address.split("/")[0] for end in ends for address in end["addresses"])


def _rows(capture: Capture, of: Protocol, sources: frozenset[str], destinations: frozenset[str]) -> tuple[Any, Ints]:
    """Return the identities and the times of a capture's packets with data between these addresses, in order."""
    on_the_way = [flow.source in sources and flow.destination in destinations for flow in capture.flows]
    found, times = [np.empty(0, _ROW)], [np.empty(0, np.int64)]
    for packets in capture.blocks():
        between = np.array([*on_the_way, False])[capture.census.numbers(packets)]
        if of == "UDP" and (between & (packets.protocol == UDP) & ~packets.udp).any():
            raise MetricError("datagrams were fragmented: a capture does not show which of them arrived whole")
        wanted = packets.udp if of == "UDP" else packets.tcp
        chosen = np.flatnonzero(between & wanted & (packets.payload > 0))
        rows = np.empty(len(chosen), _ROW)
        for name, column in _ROW_OF.items():
            rows[name] = getattr(packets, column)[chosen]
        found.append(rows)
        times.append(packets.time_ns[chosen])
    return np.concatenate(found), np.concatenate(times)
