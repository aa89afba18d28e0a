"""Provide the figures for notebooks. Each figure takes a claim and shows data that the claim's trials recorded.

Solid lines are measured, dashed lines are predicted, and dotted lines are reported by the article. Without a record, a
sentence replaces the figure.
"""

from lab.report.figures.acks import ack_delay_series, ack_rates, acks_behind_hole
from lab.report.figures.comparisons import bars, counters, limits
from lab.report.figures.curve import sweep
from lab.report.figures.flent import flent_plot
from lab.report.figures.flow import flow
from lab.report.figures.formula import formula
from lab.report.figures.headers import frame, header_lengths
from lab.report.figures.heatmap import heatmap
from lab.report.figures.messages import message_latencies, message_packets, message_sequence
from lab.report.figures.overtime import goodput, io_graph, windows
from lab.report.figures.ratios import kernel_counts, ratios
from lab.report.figures.roundtrips import rtt_samples, rtt_sources
from lab.report.figures.sequence import sequence
from lab.report.figures.spread import spread
from lab.report.figures.transfers import segment_sizes, times_by_delay, transfer_times

__all__ = [
    "ack_delay_series",
    "ack_rates",
    "acks_behind_hole",
    "bars",
    "counters",
    "flent_plot",
    "flow",
    "formula",
    "frame",
    "goodput",
    "header_lengths",
    "heatmap",
    "io_graph",
    "kernel_counts",
    "limits",
    "message_latencies",
    "message_packets",
    "message_sequence",
    "ratios",
    "rtt_samples",
    "rtt_sources",
    "segment_sizes",
    "sequence",
    "spread",
    "sweep",
    "times_by_delay",
    "transfer_times",
    "windows",
]
