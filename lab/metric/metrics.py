"""Define the metrics that experiments name. Each function returns a metric, which turns a record into a value.

Metrics raise MetricError or RecordError if the record does not hold the necessary data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from lab.guest import outputs
from lab.metric import tcp_info
from lab.metric.arrays import np
from lab.metric.capture import Capture
from lab.metric.flow import Connection, bulk
from lab.metric.tools import (
    Side,
    Way,
    expert_repeats,
    iperf3_bits_per_second,
    iperf3_datagrams,
    iperf_bits_per_second,
    netstat_counters,
    ping_rtts,
    qperf_results,
)
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value

NO_GROWTH = 1e-3  # of a window: the kernel recomputes and rounds its ratio of payload to memory, which no graph shows


@measures("bit/s")
def iperf3_goodput(side: Side = "received", flow: int | None = None, way: Way | None = None) -> Measure:
    """Measure the mean rate that iperf3's receiver or sender reports. The sender's rate includes buffered data.

    The rate is the sum of all flows, or the rate of one of `parallel` flows, counted from 1. With `bidir`, `way="back"`
    means the flows from the server to the client.
    """
    return lambda record: Value(
        iperf3_bits_per_second(record.text(outputs.IPERF3), side, flow, way or "forward"), "bit/s"
    )


@measures("1", most=1)
def iperf3_lost_share(flow: int | None = None) -> Measure:
    """Measure the share of lost datagrams that iperf3's receiver reports, of all flows or of one, counted from 1."""
    return lambda record: Value(iperf3_datagrams(record.text(outputs.IPERF3), "lost_percent", flow) / 100, "1")


@measures("s")
def iperf3_jitter(flow: int | None = None) -> Measure:
    """Measure the jitter that iperf3's receiver reports, in seconds (RFC 3550, 6.4.1).

    With several flows, the jitter is the mean of their jitters, or that of one flow, counted from 1.
    """
    return lambda record: Value(iperf3_datagrams(record.text(outputs.IPERF3), "jitter_ms", flow) / 1e3, "s")


@measures("bit/s")
def iperf_goodput() -> Measure:
    """Measure the mean rate that iperf 2's server reports. The client's rate would include buffered data."""
    return lambda record: Value(iperf_bits_per_second(record.text(outputs.IPERF_SERVER)), "bit/s")


@measures("bit/s")
def qperf_goodput() -> Measure:
    """Measure qperf's bandwidth, the "bw" of tcp_bw."""

    def measure(record: Record) -> Value:
        results = qperf_results(record.text(outputs.QPERF))
        if "bw" not in results:
            raise MetricError(f"qperf measured {', '.join(results)}, but no bandwidth")
        return results["bw"]

    return measure


@measures("bit/s")
def bulk_goodput() -> Measure:
    """Measure the goodput of the lab's own transfer: bytes read after the first read, over the time since that read."""

    def measure(record: Record) -> Value:
        output = record.json(outputs.BULK)
        elapsed = output["last_ns"] - output["first_ns"]
        if elapsed <= 0:
            raise MetricError("the receiver needed only one read: there is no time to divide by")
        return Value(8e9 * (output["bytes"] - output["first_bytes"]) / elapsed, "bit/s")

    return measure


@measures("s", by=lambda given: "mean" if given["which"] == "last" else "median")
def ping_rtt(which: Literal["min", "max", "last"] = "min") -> Measure:
    """Measure the shortest, the longest or the last round trip that ping printed, in seconds."""
    choose: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max, "last": lambda rtts: rtts[-1]}

    def measure(record: Record) -> Value:
        return Value(choose[which](ping_rtts(record.text(outputs.PING))), "s")

    return measure


@measures("1")
def drops(link: str = "path", way: Way = "forward") -> Measure:
    """Count frames that the wire's qdiscs dropped in one direction during the trial, from `tc`'s counters."""

    def count(record: Record, name: str) -> int:
        rows = [row for row in record.json(name) if (row["node"], row["direction"]) == (link, way)]
        if not rows:
            raise MetricError(f"{name} has no qdisc of link '{link}' {way}")
        return sum(int(row["drops"]) for row in rows)

    return lambda record: Value(count(record, outputs.QDISCS_AFTER) - count(record, outputs.QDISCS_BEFORE), "1")


@measures("1", by="event")
def any_drops(link: str = "path", way: Way = "forward") -> Measure:
    """Return 1 if the wire dropped frames in that direction, else 0."""
    counted = drops(link, way)
    return lambda record: Value(int(counted(record).number > 0), "1")


@measures("1")
def counted(name: str, node: str = "sender") -> Measure:
    """Measure how much a kernel counter rose during the trial: 'TcpExt.TCPDSACKUndo', 'Tcp.RetransSegs'."""

    def measure(record: Record) -> Value:
        before, after = (
            netstat_counters(record.text(outputs.netstat(node, when))).get(name) for when in ("before", "after")
        )
        if before is None or after is None:
            raise MetricError(f"the kernel of '{node}' does not count {name}")
        return Value(after - before, "1")

    return measure


@measures("1")
def retransmits(node: str = "sender", interface: str | None = None) -> Measure:
    """Count the bulk connection's retransmitted data segments, in the capture of `node`."""

    def count(record: Record) -> Value:
        parts = connection_of(record, node, interface).parts()
        return Value(sum(int(part.forward.retransmitted.sum()) for part in parts), "1")

    return count


@measures("1")
def expert_retransmits(node: str = "sender", interface: str = "eth0") -> Measure:
    """Count the frames that Wireshark's Expert Info suspects of being retransmissions, of any kind.

    Expert Info also lists a fast or a spurious retransmission on a second line. The metric counts that frame once.
    """

    def measure(record: Record) -> Value:
        return Value(expert_repeats(record.text(outputs.expert(node, interface)))[0], "1")

    return measure


@measures("B")
def header_length(node: str = "sender", interface: str | None = None) -> Measure:
    """Measure the TCP header of the data segments, in bytes.

    The metric raises MetricError if the lengths differ.
    """

    def measure(record: Record) -> Value:
        lengths = header_lengths(connection_of(record, node, interface))
        if len(lengths) != 1:
            seen = ", ".join(f"{length} B in {count}" for length, count in lengths.items())
            raise MetricError(f"data segments have no one header length: {seen or 'there are none'}")
        return Value(next(iter(lengths)), "B")

    return measure


@measures("B")
def window_plateau(node: str = "sender", interface: str | None = None) -> Measure:
    """Measure the size at which the receiver's advertised window stops growing, in bytes.

    The metric raises MetricError if the window grew by a thousandth or more in the second half of the transfer.
    """

    def measure(record: Record) -> Value:
        connection = connection_of(record, node, interface)
        last, largest = connection.end_ns[1], _largest_window(connection)
        if last is None or largest is None:
            raise MetricError("the capture has no ACK, so there is no window")
        middle, reached = (connection.start_ns + last) // 2, 0
        for part in connection.parts():
            by_then = int(np.searchsorted(part.back.time_ns, middle)) + 1
            reached = max(reached, int(part.back.window[:by_then].max(initial=0)))
            if by_then <= len(part.back):
                break
        if reached <= (1 - NO_GROWTH) * largest:
            raise MetricError("the advertised window still grew in the second half of the transfer")
        return Value(largest, "B")

    return measure


@measures("s")
def window_settled(node: str = "sender", interface: str | None = None) -> Measure:
    """Measure when the receiver's advertised window first is within a thousandth of its largest.

    The time is in seconds since the first data segment.
    """

    def measure(record: Record) -> Value:
        connection = connection_of(record, node, interface)
        largest = _largest_window(connection)
        if largest is None:
            raise MetricError("the capture has no ACK, so there is no window")
        backs = (part.back for part in connection.parts())
        enough = (1 - NO_GROWTH) * largest
        settled = (back.time_ns[(back.window > enough) | (back.window == largest)] for back in backs)
        first = next(int(times[0]) for times in settled if len(times))
        return Value(max(0, first - connection.start_ns) / 1e9, "s")

    return measure


@measures("bit/s")
def capture_goodput(
    start: float = 0.0, end: float | None = None, node: str = "sender", interface: str | None = None
) -> Measure:
    """Measure the goodput between two times, in bits per second that a capture's ACKs acknowledge.

    Times are in seconds since the first data segment. Default for `end`: the ACK of the last one.
    """

    def measure(record: Record) -> Value:
        connection = connection_of(record, node, interface)
        zero = connection.start_ns
        acked = connection.acked_ns[1] if connection.acked_ns else zero
        if end is None and acked <= zero:
            raise MetricError("no data segment was acknowledged")
        first, last = zero + round(start * 1e9), acked if end is None else zero + round(end * 1e9)
        if last <= first:
            raise MetricError(f"the goodput is asked for from {start:g} s to {(last - zero) / 1e9:.3g} s: no time")
        return Value(connection.goodput(first, last), "bit/s")

    return measure


@measures("1", most=1)
def idle_share(
    start: float, end: float, gap: float = 0.001, node: str = "sender", interface: str | None = None
) -> Measure:
    """Measure the share of the time from `start` to `end` that consists of gaps longer than `gap` without data.

    All three arguments are in seconds; `start` and `end` count from the first data segment.
    """

    def measure(record: Record) -> Value:
        connection = connection_of(record, node, interface)
        low, high = (connection.start_ns + round(at * 1e9) for at in (start, end))
        return Value(connection.idle_share(low, high, round(gap * 1e9)), "1")

    return measure


@measures("bit/s")
def acked_goodput(start: float, end: float, node: str = "sender") -> Measure:
    """Measure the goodput between two times, in bits per second acknowledged, from the kernel's own count (tcp_info).

    Times are in seconds since the first sample.
    """

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        since = (samples.time_ns - samples.time_ns[0]) / 1e9
        if since[-1] < end:
            raise MetricError(f"tcp_info was sampled for {since[-1]:.3g} s, not until {end:g} s")
        low, high = np.interp((start, end), since, samples["bytes_acked"].astype(np.float64))
        return Value(float(8 * (high - low) / (end - start)), "bit/s")

    return measure


def capture_of(record: Record, node: str, interface: str | None = None) -> Capture:
    """Return the capture of an interface of `node`. Default: the only capture of `node`.

    Raises MetricError if there is no capture, or if there are several captures and no interface is given.
    """
    if interface is not None:
        return Capture(record.path(outputs.capture(node, interface)))
    names = outputs.captures(record.outputs, node)
    if len(names) != 1:
        how_many = f"{len(names)} captures; name an interface" if names else "no capture"
        raise MetricError(f"node '{node}' has {how_many}")
    return Capture(record.path(names[0]))


def connection_of(record: Record, node: str, interface: str | None = None) -> Connection:
    """Return the connection that carries the most payload in the capture of `node`."""
    return bulk(capture_of(record, node, interface), record.port)


def header_lengths(connection: Connection) -> dict[int, int]:
    """Return the number of data segments for each TCP header length, the shortest header first."""
    found: Counter[int] = Counter()
    for part in connection.parts():
        lengths, counts = np.unique(part.forward.header_length[part.forward.data], return_counts=True)
        found.update(dict(zip(lengths.tolist(), counts.tolist(), strict=True)))
    return dict(sorted(found.items()))


def _largest_window(connection: Connection) -> int | None:
    return max((int(part.back.window.max()) for part in connection.parts() if len(part.back)), default=None)


def tcp_info_of(record: Record, node: str) -> tcp_info.Samples:
    """Return the samples of the connection that sent the most data at `node`.

    Raises MetricError if the probe saw no connection.
    """
    samples = [
        each
        for each in tcp_info.read(record.path(outputs.tcp_info(node)))
        if record.port in (None, each.local_port, each.remote_port)
    ]
    if not samples:
        raise MetricError(f"the tcp_info probe of '{node}' saw no connection")
    return max(samples, key=lambda each: int(each["bytes_acked"].max()))
