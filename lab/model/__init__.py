"""Predict figures: each function takes a path, known before anything runs, and names the source of its formula."""

from lab.model.acks import (
    ack_after_answer,
    ack_delayed_longest,
    ack_delayed_mean,
    acks_after_hole,
    packets_per_gb,
    quick_acks,
    segments_per_ack,
    segments_per_ack_growing,
    segments_per_batch,
    segments_per_read,
)
from lab.model.duration import transfer_time
from lab.model.goodput import (
    any_drops,
    frames_in_flight,
    goodput_bulk,
    goodput_despite_reordering,
    goodput_formula,
    goodput_iperf,
    goodput_iperf3,
    goodput_written,
    lost_frames,
)
from lab.model.line import ModelError, base_rtt, goodput_line_rate
from lab.model.mss import (
    largest_payload,
    largest_payload_back,
    mss_of_syn,
    mss_of_syn_ack,
    no_fragments,
    tcp_header_length,
)
from lab.model.path import End, Hop, Path
from lab.model.rtt import rtt_despite_retransmission, rtt_for_new_data, rtt_of_full_window, rtt_per_ack, third_of_tick
from lab.model.small_writes import (
    data_packets,
    exchange,
    exchange_time,
    file_in_first,
    first_segment,
    lone_acks,
    message_latency,
)
from lab.model.steady import goodput_steady, idle_share, round_trip
from lab.model.transfer import Transfer, transfer
from lab.model.window import window_plateau

__all__ = [
    "End",
    "Hop",
    "ModelError",
    "Path",
    "Transfer",
    "ack_after_answer",
    "ack_delayed_longest",
    "ack_delayed_mean",
    "acks_after_hole",
    "any_drops",
    "base_rtt",
    "data_packets",
    "exchange",
    "exchange_time",
    "file_in_first",
    "first_segment",
    "frames_in_flight",
    "goodput_bulk",
    "goodput_despite_reordering",
    "goodput_formula",
    "goodput_iperf",
    "goodput_iperf3",
    "goodput_line_rate",
    "goodput_steady",
    "goodput_written",
    "idle_share",
    "largest_payload",
    "largest_payload_back",
    "lone_acks",
    "lost_frames",
    "message_latency",
    "mss_of_syn",
    "mss_of_syn_ack",
    "no_fragments",
    "packets_per_gb",
    "quick_acks",
    "round_trip",
    "rtt_despite_retransmission",
    "rtt_for_new_data",
    "rtt_of_full_window",
    "rtt_per_ack",
    "segments_per_ack",
    "segments_per_ack_growing",
    "segments_per_batch",
    "segments_per_read",
    "tcp_header_length",
    "third_of_tick",
    "transfer",
    "transfer_time",
    "window_plateau",
]
