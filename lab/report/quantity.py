"""Name what a metric measures, for a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from lab.report import html
from lab.spec.metric import DeclaredMetric, described

_NAMES: Mapping[str, str] = MappingProxyType(  # a metric's function -> its quantity, as a heading
    {
        "ack_delay": "delay of an ACK",
        "acked_goodput": "goodput",
        "acks_after_hole": "ACKs per segment behind a hole",
        "acks_at_once": "first segments acknowledged at once",
        "any_drops": "frames dropped",
        "bulk_goodput": "goodput",
        "capture_goodput": "goodput",
        "completion_time": "time of a transfer",
        "convergence_time": "time until the shares are equal",
        "cpu_per_gb": "CPU time per GB",
        "data_packets": "data packets per message",
        "delay_variation": "variation of the one-way delay",
        "drops": "dropped frames",
        "echo_error": "error of the RTT from timestamps",
        "exchange_time": "time of the exchange",
        "expert_retransmits": "retransmissions that Wireshark suspects",
        "file_in_first": "bytes of the file in a message's first packet",
        "first_segment": "payload of a message's first packet",
        "flent_goodput": "goodput that Flent reports",
        "flent_rtt": "ping RTT that Flent reports",
        "flow_goodput": "goodput of a flow",
        "flow_share": "share of a flow in all goodput",
        "fragments": "IP fragments",
        "header_length": "length of the TCP header",
        "header_share": "share of headers in the time on the wire",
        "idle_share": "share of time without data",
        "iperf3_goodput": "goodput that iperf3 reports",
        "iperf3_jitter": "jitter that iperf3 reports",
        "iperf3_lost_share": "share of lost datagrams that iperf3 reports",
        "iperf_goodput": "goodput that iperf reports",
        "jain_index": "Jain's index",
        "jitter": "interarrival jitter",
        "largest_payload": "largest payload of a segment",
        "lone_acks": "pure ACKs per message",
        "long_run_goodput": "goodput in the long run",
        "lost_share": "share of lost packets",
        "marked_share": "share of segments that arrive marked",
        "mean_queue_delay": "mean wait in the queue",
        "mean_rtt": "mean RTT",
        "message_latency": "time for a message",
        "most_in_flight": "most segments in flight",
        "mss_in": "MSS option",
        "one_way_delay": "one-way delay",
        "packets_per_gb": "packets per GB",
        "ping_rtt": "RTT that ping reports",
        "qperf_goodput": "goodput that qperf reports",
        "queue_delay": "wait in the queue",
        "queue_dropped_share": "share of packets that the queue dropped",
        "queue_drops": "packets that the queue dropped",
        "queue_drops_since_first": "packets that the queue dropped from the first drop on",
        "queue_marked_share": "share of packets that the queue marked",
        "queue_marks": "packets that the queue marked",
        "reordered_share": "share of reordered packets",
        "retransmits": "retransmitted segments",
        "retransmitted_share": "share of payload that was sent again",
        "rtt_samples": "share of ACKs that give an RTT sample",
        "segments_per_ack": "segments per ACK",
        "srtt_difference": "largest difference from the kernel's srtt",
        "steady_goodput": "goodput after slow start",
        "steady_idle_share": "share of time without data",
        "steady_rtt": "smoothed RTT after slow start",
        "total_goodput": "goodput of all flows",
        "transfer_time": "time of the transfer",
        "utilisation": "share of the link's rate that is goodput",
        "window_plateau": "largest advertised window",
        "window_settled": "time until the window stops growing",
    }
)
_COUNTS = re.compile(r"\b(packet|segment|frame|fragment|retransmission|ACK)s\b")  # the noun that one has singular
_SHARES: Mapping[str, str] = MappingProxyType(  # a share's function -> what stands behind the number in a sentence
    {
        "flow_share": "of all goodput",
        "header_share": "of the time on the wire is headers",
        "idle_share": "of the time without data",
        "iperf3_lost_share": "of the datagrams lost",
        "lost_share": "of the packets lost",
        "marked_share": "of the segments marked",
        "queue_dropped_share": "of the packets dropped",
        "queue_marked_share": "of the packets marked",
        "reordered_share": "of the packets reordered",
        "retransmitted_share": "of the payload sent again",
        "rtt_samples": "of the ACKs give an RTT sample",
        "steady_idle_share": "of the time without data",
        "utilisation": "of the link's rate",
    }
)


def quantity(measure: Any) -> str:
    """Return the name of a metric's quantity, as HTML, with the first sentence of the metric's docstring."""
    return _titled(described(measure).innermost, named(measure))


def named(measure: Any) -> str:
    """Return the name of a metric's quantity as text."""
    inner = described(measure).innermost
    return (_NAMES.get(inner.name) or _called(inner)).replace("_", " ")


def of_number(measure: Any, number: float) -> str:
    """Return what stands behind a number without a unit, as HTML: 105 'dropped frames', 0.66 'of the time without
    data'.
    """
    inner = described(measure).innermost
    words = _SHARES.get(inner.name) or named(measure)
    return _titled(inner, _COUNTS.sub(r"\1", words, count=1) if number == 1 else words)


def _called(metric: DeclaredMetric) -> str:
    """Return the name that the metric's arguments give to a number: a program's keys, or a kernel counter."""
    return str(metric.given.get("name", "")) or " ".join(map(str, metric.given.get("keys", ()))) or metric.name


def _titled(metric: DeclaredMetric, words: str) -> str:
    return f'<span title="{escape(metric.about)}">{escape(words.replace("_", " "), quote=False)}</span>'


def measured(measures: Iterable[Any]) -> str:
    """Return the metrics' calls, with the first sentence of each docstring only once."""
    found: dict[str, list[str]] = {}
    for measure in measures:
        metric = described(measure)
        found.setdefault(metric.about, []).append(html.code(metric.call()))
    calls = {said: ", ".join(dict.fromkeys(codes)) for said, codes in found.items()}
    return "; ".join(f"{called} ({html.prose(said)})" if said else called for said, called in calls.items())
