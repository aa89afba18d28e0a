"""Predictions: functions from a path, known before anything runs, to a value. Each names the source of its formula."""

from lab.model.goodput import (
    any_drops,
    frames_in_flight,
    goodput_bulk,
    goodput_formula,
    goodput_iperf3,
    goodput_written,
    lost_frames,
)
from lab.model.line import ModelError, base_rtt, goodput_line_rate, tcp_header_length
from lab.model.path import End, Hop, Path
from lab.model.rtt import (
    echo_error,
    rtt_despite_retransmission,
    rtt_for_new_data,
    rtt_of_full_window,
    rtt_per_ack,
)
from lab.model.transfer import Transfer, transfer
from lab.model.window import window_plateau

__all__ = [
    "End",
    "Hop",
    "ModelError",
    "Path",
    "Transfer",
    "any_drops",
    "base_rtt",
    "echo_error",
    "frames_in_flight",
    "goodput_bulk",
    "goodput_formula",
    "goodput_iperf3",
    "goodput_line_rate",
    "goodput_written",
    "lost_frames",
    "rtt_despite_retransmission",
    "rtt_for_new_data",
    "rtt_of_full_window",
    "rtt_per_ack",
    "tcp_header_length",
    "transfer",
    "window_plateau",
]
