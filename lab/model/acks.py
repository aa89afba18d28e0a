"""Predict how often and how soon a Linux receiver sends ACKs.

Sources: net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c and tcp.c, and net/core/gro.c for how GRO merges segments
before TCP receives them.
"""

from __future__ import annotations

from math import ceil

from lab.model.delayed_ack import LVL_CLK_SHIFT, LVL_START, TCP_MAX_QUICKACKS
from lab.model.goodput import goodput_window_over_rtt
from lab.model.line import base_rtt, frame
from lab.model.mss import mss
from lab.model.packet import SYN
from lab.model.scenario import ModelError, Scenario
from lab.model.window import gso_segments, initial_window, scaling_ratio
from lab.spec.prediction import law, simulation
from lab.units import Rate, Value

_EVERY = 2  # __tcp_ack_snd_check(): more than one full segment is acknowledged
_DELACK_MIN, _DELACK_MAX = 1 / 25, 1 / 5  # TCP_DELACK_MIN, TCP_DELACK_MAX: HZ / 25, HZ / 5
_RTO_MIN = 1 / 5  # TCP_RTO_MIN: HZ / 5
_DUP_ACKS = 3  # TCP_FASTRETRANS_THRESH: this many are sent at once
_COMP_SACK_DELAY, _COMP_SACK_RTT = 0.001, 0.33  # tcp_comp_sack_delay_ns, tcp_comp_sack_rtt_percent


@law(formula="2 segments per ACK", source="RFC 1122, 4.2.3.2; __tcp_ack_snd_check()")
def segments_per_ack(scenario: Scenario) -> Value:
    """An ACK covers 2 segments while the reader keeps up: __tcp_ack_snd_check() sends an ACK for more than one
    segment.
    """
    if scenario.receiver.interface.offloads.gro:
        raise ModelError("GRO merges many segments into one batch, and each ACK is for a batch: use segments_per_batch")
    return Value(_EVERY, "1")


@law(
    formula="n / (1 + ((n − 2) × frame time − poll) × HZ) for super-packets of n segments",
    source="__tcp_transmit_skb(), napi_complete_done(), __tcp_ack_snd_check()",
)
def segments_per_batch(scenario: Scenario) -> Value:
    """With GRO, an ACK covers the full segments of a batch.

    An ACK covers 2 segments if frames are further apart than polls. A batch ends with the sender's super-packet,
    because the last segment of a super-packet has PSH (__tcp_transmit_skb(), since 5.4). A batch also ends at the first
    poll after a tick, which passes up older segments (napi_complete_done()). A tick cuts a super-packet of n segments
    if the super-packet began before the last poll ahead of the tick, and at least two segments arrive after the first
    poll behind the tick, since a single segment causes no ACK. The average number of cuts per super-packet is the time
    of n - 2 frames minus the time between two polls, divided by the time between two ticks.
    """
    return Value(_gathered(scenario, _EVERY) if _merges(scenario) else _EVERY, "1")


@law(formula="bytes of a read / MSS", source="__tcp_ack_snd_check(), tcp_cleanup_rbuf()")
def segments_per_read(scenario: Scenario) -> Value:
    """With a reader slower than the link, each ACK covers as many full segments as one read takes.

    While the buffer fills, the window that __tcp_ack_snd_check() could offer is below the last offer, so it sends no
    ACK. tcp_cleanup_rbuf() sends an ACK after the next read, if the read frees at least a 16th of the buffer.
    Otherwise, __tcp_select_window() offers nothing. A full buffer holds two reads, so that each read is complete. An
    incomplete read would cause an ACK for the available data, and a second ACK for the rest.
    """
    reader, window = scenario.reader, scenario.rcvbuf_max * scaling_ratio(scenario) >> 8
    if reader.rate is None or not _fills(scenario, reader.rate):
        raise ModelError("the reader is not slower than the link and the window: nothing fills the buffer")
    if reader.read_size < window >> 4:
        raise ModelError("reads are below a 16th of the buffer: the model needs an ACK for each read")
    if 2 * reader.read_size > window:
        raise ModelError("reads are above half of the buffer and may be incomplete: the model covers smaller reads")
    return Value(reader.read_size / mss(scenario), "1")


@law(formula="1 segment per ACK", source="tcp_grow_window()")
def segments_per_ack_growing(scenario: Scenario) -> Value:
    """Each ACK covers 1 segment while the receive window grows: a segment that widens the window gets a quick ACK.

    tcp_grow_window() requests this ACK each time.
    """
    if scenario.receiver.interface.offloads.gro:
        raise ModelError("the model does not cover GRO together with a growing window")
    return Value(1, "1")


@law(
    formula="10⁹ B / MSS × (1 / segments per batch + 1 / segments per ACK)",
    source="arithmetic; segments_per_batch",
)
def packets_per_gb(scenario: Scenario) -> Value:
    """The receiver's TCP handles batches and ACKs. The figure counts both per GB of payload.

    Without GRO, a batch is one segment.
    """
    batch = _gathered(scenario, 1) if _merges(scenario) else 1
    per_segment = 1 / batch + 1 / segments_per_batch(scenario).number
    return Value(1e9 / mss(scenario) * per_segment, "1")


@law(formula="min(initial window / (2 × MSS), 16)", source="tcp_incr_quickack()")
def quick_acks(scenario: Scenario) -> Value:
    """A new connection sends one immediate ACK per two segments of window, at most 16: tcp_incr_quickack()."""
    return Value(min(initial_window(scenario) // (2 * mss(scenario)), TCP_MAX_QUICKACKS), "1")


@law(formula="the time to the answer", source="RFC 1122, 4.2.3.2; tcp_in_quickack_mode()")
def ack_after_answer(scenario: Scenario) -> Value:
    """The ACK leaves with the answer: an end that has just answered is in ping-pong mode.

    tcp_in_quickack_mode() and tcp_cleanup_rbuf() send no ACK in that mode. The mode begins with the first answer within
    the ATO, HZ / 25, of a request (tcp_event_data_sent()), unless tcp_pingpong_thresh requires more answers. Outside
    that mode, reading a short segment acknowledges it at once. Raises ModelError for a later answer.
    """
    if scenario.receiver.sysctl("tcp_pingpong_thresh") > 1:
        return Value(0, "s")
    think = scenario.reader.think.seconds
    if think >= _DELACK_MIN:
        raise ModelError("the ACK goes before an answer that takes HZ / 25 or more: the law is for faster answers")
    return Value(think, "s")


@law(formula="1 / 25 s + 1 / (2 × HZ)", source="TCP_DELACK_MIN; tcp_send_delayed_ack()")
def ack_delayed_mean(scenario: Scenario) -> Value:
    """The ACK of a segment that is neither read nor answered waits HZ / 25 plus half a jiffy on a short path.

    tcp_send_delayed_ack() waits for the RTT if the RTT is longer. The timer wheel fires in the tick after the requested
    one, and the request comes at any time within a jiffy. After a pause longer than the RTO, the ACK is sent at once.
    """
    _unread(scenario)
    if _pauses(scenario):
        return Value(0, "s")
    if base_rtt(scenario).number > _DELACK_MIN:
        raise ModelError("with an RTT above HZ / 25 the delay grows from ACK to ACK: the law does not give the mean")
    return Value(_DELACK_MIN + 0.5 / scenario.kernel.hz, "s")


@law(
    formula="min(max(RTT, 1 / 25 s), 1 / 5 s) and the timer wheel's grain",
    source="TCP_DELACK_MIN, TCP_DELACK_MAX; tcp_send_delayed_ack(), calc_wheel_index()",
)
def ack_delayed_longest(scenario: Scenario) -> Value:
    """An ACK of unread data waits at most for the RTT, bounded by HZ / 25 and HZ / 5, plus the timer's granularity.

    Each ACK that the timer sends doubles the next delay (tcp_delack_timer_handler()). The delay is rounded up to whole
    jiffies. From 63 jiffies on (LVL_START(1)), the timer wheel fires up to 8 jiffies late. Messages at all phases of
    the wheel see the full delay, minus half a jiffy on average. After a pause longer than the RTO, an ACK is sent at
    once.
    """
    _unread(scenario)
    if _pauses(scenario):
        return Value(0, "s")
    delay = min(max(base_rtt(scenario).number, _DELACK_MIN), _DELACK_MAX)
    late = 1 << LVL_CLK_SHIFT if ceil(delay * scenario.kernel.hz) >= LVL_START else 1
    return Value(delay + (late - 0.5) / scenario.kernel.hz, "s")


@law(formula="1 ACK per segment behind the hole", source="RFC 5681, 4.2")
def acks_after_hole_at_once(scenario: Scenario) -> Value:
    """Each segment behind the dropped one causes a duplicate ACK at once."""
    _behind(scenario)
    return Value(1, "1")


@simulation(
    of="__tcp_ack_snd_check() and tcp_compressed_ack_kick(), Linux 7.2",
    law=acks_after_hole_at_once,
)
def acks_after_hole(scenario: Scenario) -> Value:
    """Each segment behind the dropped one causes one ACK. With SACK, since 4.18, most of these ACKs wait.

    __tcp_ack_snd_check() sends the first three ACKs at once (since 4.20). The kernel delays the other ACKs until the
    45th (tcp_comp_sack_nr = 44), or for a third of the RTT, at most 1 ms. The rest of the transfer must be in flight
    when the receiver notices the hole, so that no other segment arrives.
    """
    behind, most = _behind(scenario), scenario.receiver.sysctl("tcp_comp_sack_nr")
    if not most or not all(host.sysctl("tcp_sack") for host in (scenario.sender, scenario.receiver)):
        return Value(1, "1")
    wire, delay = _frame_seconds(scenario), min(_COMP_SACK_RTT * base_rtt(scenario).number, _COMP_SACK_DELAY)
    acks, held, due = min(behind, _DUP_ACKS), 0, 0.0
    for segment in range(_DUP_ACKS, behind):
        if held and segment * wire >= due:
            acks, held = acks + 1, 0
        if held >= most:
            acks, held = acks + 1, 0
        else:
            held, due = held + 1, due if held else segment * wire + delay
    return Value((acks + bool(held)) / behind, "1")


def _behind(scenario: Scenario) -> int:
    """Return the number of the transfer's segments after the dropped one.

    Raises ModelError unless exactly one segment is dropped and a size is given.
    """
    dropped = [number for box in scenario.middleboxes if (number := box.dropped())]
    if len(dropped) != 1 or not scenario.writer.size:
        raise ModelError("the model covers a transfer of a given size that loses one chosen segment")
    behind = -(-scenario.writer.size // mss(scenario)) - dropped[0]
    if behind < 1:
        raise ModelError("nothing is sent behind the dropped segment")
    return behind


def _unread(scenario: Scenario) -> None:
    if not scenario.reader.asleep:
        raise ModelError("reading a segment without an answer acknowledges it: the reader decides the delay")


def _pauses(scenario: Scenario) -> bool:
    """Return whether every pause is longer than the receiver's RTO, after which ACKs are quick (tcp_event_data_recv()).

    The receiver's only RTT sample comes from the handshake. The RTO is this RTT plus TCP_RTO_MIN, or three times the
    RTT if that is longer (tcp_rtt_estimator(), __tcp_set_rto()). Both times are in jiffies.
    """
    if scenario.writer.interval is None:
        return False
    rtt, jiffy = base_rtt(scenario, SYN).number, 1 / scenario.kernel.hz
    over = scenario.writer.interval.seconds - (rtt + max(2 * rtt, _RTO_MIN))
    if abs(over) < 2 * jiffy:
        raise ModelError("the pause is as long as the RTO: one jiffy decides whether an ACK goes at once")
    return over > 0


def _fills(scenario: Scenario, rate: Rate) -> bool:
    """Return whether the path can deliver data faster than the reader takes it."""
    return scenario.rate is None or goodput_window_over_rtt(scenario).number > rate.bps


def _merges(scenario: Scenario) -> bool:
    """Return whether GRO finds more than one frame at a poll."""
    receiving = scenario.receiver.interface
    return receiving.offloads.gro and receiving.gro_flush_timeout.seconds > _frame_seconds(scenario)


def _gathered(scenario: Scenario, least: int) -> float:
    """Return the average number of segments in a batch of at least `least` segments."""
    segments, wire, jiffy = gso_segments(scenario), _frame_seconds(scenario), 1 / scenario.kernel.hz
    poll = scenario.receiver.interface.gro_flush_timeout.seconds
    if scenario.sender.interface.gso_max_segs is not None or poll >= min(segments * wire, jiffy):
        raise ModelError("the model covers full super-packets, and polls more frequent than them and than ticks")
    return segments / (1 + max(0.0, (segments - least) * wire - poll) / jiffy)


def _frame_seconds(scenario: Scenario) -> float:
    if scenario.rate is None:
        raise ModelError("without a rate, frames come as fast as the machine makes them")
    return float(scenario.rate.time_for(frame(scenario)))
