"""Predict figures. Each prediction takes a scenario, and declares its kind, its formula and its source."""

from lab.model.acks import (
    ack_after_answer,
    ack_delayed_longest,
    ack_delayed_mean,
    acks_after_hole,
    acks_after_hole_at_once,
    packets_per_gb,
    quick_acks,
    segments_per_ack,
    segments_per_ack_growing,
    segments_per_batch,
    segments_per_read,
)
from lab.model.aqm import (
    codel_drops,
    codel_target,
    nothing_lost,
    pie_target,
    rtt_of_sparse_flow,
    rtt_through_full_queue,
)
from lab.model.bbr import bbr_inflight_bound
from lab.model.competing import dropped_by_aqm, red_wait, share_beside_bbr, share_by_chance, share_of_fair_queue
from lab.model.dctcp import dctcp_marked_share, dctcp_queue_delay
from lab.model.duration import completion_time_by_rounds, transfer_time, transfer_time_by_rounds
from lab.model.finite import share_at_full_queue_in, share_beside_bbr_in, share_by_chance_in
from lab.model.goodput import (
    any_drops,
    any_drops_of_window,
    frames_in_flight,
    frames_of_window,
    goodput_bulk,
    goodput_despite_reordering,
    goodput_iperf,
    goodput_iperf3,
    goodput_window_over_rtt,
    lost_frames,
    lost_frames_of_window,
)
from lab.model.in_step import convergence_at_full_queue, share_at_full_queue, share_in_step, wait_at_full_queue
from lab.model.line import base_rtt, goodput_line_rate, header_share
from lab.model.mss import (
    largest_payload,
    largest_payload_back,
    mss_of_syn,
    mss_of_syn_ack,
    no_fragments,
    tcp_header_length,
)
from lab.model.queueing import bdp, dctcp_threshold, mean_wait
from lab.model.response import goodput_response_cubic, goodput_response_reno, window_cubic, window_reno
from lab.model.rtt import (
    rtt_despite_retransmission,
    rtt_for_new_data,
    rtt_of_full_window,
    rtt_of_ping,
    rtt_per_ack,
    srtt_difference,
    third_of_tick,
)
from lab.model.scenario import FlowScenario, Host, KernelTraits, ModelError, Scenario
from lab.model.sharing import fair_share, fairness_index, total_goodput
from lab.model.small_writes import (
    data_packets,
    data_packets_by_writes,
    exchange,
    exchange_time,
    exchange_time_by_stalls,
    file_in_first,
    file_in_first_corked,
    first_segment,
    first_segment_by_writes,
    lone_acks,
    lone_acks_piggybacked,
    message_latency,
    message_latency_by_stall,
)
from lab.model.steady import goodput_steady, idle_share, idle_share_of_window, round_trip, window_reached
from lab.model.timers import connect_timeout, keepalive_timeout, needless_retransmissions, syn_retransmissions, timed
from lab.model.transfer import Transfer, transfer
from lab.model.window import window_plateau
