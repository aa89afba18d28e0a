"""Predict how often and how soon a Linux receiver acknowledges.

Written after net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c and tcp.c, and after net/core/gro.c for what GRO makes of
segments before TCP sees them.
"""

from __future__ import annotations

from lab.model.delayed_ack import LVL_CLK_SHIFT, LVL_START, TCP_MAX_QUICKACKS
from lab.model.goodput import goodput_window_over_rtt
from lab.model.line import ModelError, base_rtt, frame
from lab.model.mss import mss
from lab.model.packet import SYN
from lab.model.scenario import Scenario
from lab.model.window import gso_segments, initial_window, scaling_ratio
from lab.prediction import law, simulation
from lab.units import Rate, Value

_EVERY = 2  # __tcp_ack_snd_check(): more than one full segment is acknowledged
_DELACK_MIN, _DELACK_MAX = 1 / 25, 1 / 5  # TCP_DELACK_MIN, TCP_DELACK_MAX: HZ / 25, HZ / 5
_RTO_MIN = 1 / 5  # TCP_RTO_MIN: HZ / 5
_DUP_ACKS = 3  # TCP_FASTRETRANS_THRESH: so many are sent at once
_COMP_SACK_DELAY, _COMP_SACK_RTT = 0.001, 0.33  # tcp_comp_sack_delay_ns, tcp_comp_sack_rtt_percent


@law(formula="2 segments per ACK", source="RFC 1122, 4.2.3.2; __tcp_ack_snd_check()")
def segments_per_ack(scenario: Scenario) -> Value:
    """An ACK is for 2 segments while the reader keeps up: __tcp_ack_snd_check() sends it once more than one is new."""
    if scenario.receiver.interface.offloads.gro:
        raise ModelError("GRO makes one of many segments: it is a batch that is acknowledged")
    return Value(_EVERY, "1")


@law(
    formula="n / (1 + ((n − 2) × frame time − poll) × HZ) for super-packets of n segments",
    source="__tcp_transmit_skb(), napi_complete_done(), __tcp_ack_snd_check()",
)
def segments_per_batch(scenario: Scenario) -> Value:
    """With GRO, an ACK is for the full segments of a batch. It is for 2 where frames are further apart than polls.

    A batch ends with the sender's super-packet, whose last segment has PSH (__tcp_transmit_skb(), since 5.4), and at
    the first poll after a tick, which hands up what is older (napi_complete_done()). A tick cuts a super-packet of n
    segments if it began before the poll ahead of the tick, and if two segments or more come after the poll behind it,
    since a single one is not acknowledged. On average, so many ticks cut each super-packet: (n - 2) frames' time, less
    the time between two polls, over the time between two ticks.
    """
    return Value(_gathered(scenario, _EVERY) if _merges(scenario) else _EVERY, "1")


@law(formula="bytes of a read / MSS", source="__tcp_ack_snd_check(), tcp_cleanup_rbuf()")
def segments_per_read(scenario: Scenario) -> Value:
    """With a reader slower than the link, each ACK is for as many full segments as one read takes.

    __tcp_ack_snd_check() sends no ACK while the window that it could offer is below the last, as it is while the buffer
    fills. tcp_cleanup_rbuf() sends one after the next read, if that frees a 16th of the buffer or more: with less,
    __tcp_select_window() offers nothing. A full buffer holds two reads, so that each finds all that it asks for: one
    that does not acknowledges what there is, and again what comes.
    """
    reader, window = scenario.reader, scenario.rcvbuf_max * scaling_ratio(scenario) >> 8
    if reader.rate is None or not _fills(scenario, reader.rate):
        raise ModelError("the reader is not slower than the link and the window: nothing fills the buffer")
    if reader.read_size < window >> 4:
        raise ModelError("reads of less than a 16th of the buffer: the model covers an ACK for each read")
    if 2 * reader.read_size > window:
        raise ModelError("reads of more than half of the buffer may find too little: the model covers smaller ones")
    return Value(reader.read_size / mss(scenario), "1")


@law(formula="1 segment per ACK", source="tcp_grow_window()")
def segments_per_ack_growing(scenario: Scenario) -> Value:
    """Each ACK is for 1 segment while the receive window grows: one that widens it gets a quick ACK.

    Each time, tcp_grow_window() asks for it.
    """
    if scenario.receiver.interface.offloads.gro:
        raise ModelError("how GRO and a growing window act together is not predicted")
    return Value(1, "1")


@law(
    formula="10⁹ B / MSS × (1 / segments per batch + 1 / segments per ACK)",
    source="arithmetic; segments_per_batch",
)
def packets_per_gb(scenario: Scenario) -> Value:
    """The receiver's TCP handles batches and ACKs, which are counted per GB of payload.

    Without GRO, a batch is one segment.
    """
    batch = _gathered(scenario, 1) if _merges(scenario) else 1
    per_segment = 1 / batch + 1 / segments_per_batch(scenario).number
    return Value(1e9 / mss(scenario) * per_segment, "1")


@law(formula="min(initial window / (2 × MSS), 16)", source="tcp_incr_quickack()")
def quick_acks(scenario: Scenario) -> Value:
    """When a connection starts, one ACK per two segments of window goes at once, at most 16: tcp_incr_quickack()."""
    return Value(min(initial_window(scenario) // (2 * mss(scenario)), TCP_MAX_QUICKACKS), "1")


@law(formula="the time to the answer", source="RFC 1122, 4.2.3.2; tcp_in_quickack_mode()")
def ack_after_answer(scenario: Scenario) -> Value:
    """The ACK takes as long as the answer, which carries it: an end that has just answered is in ping-pong mode.

    tcp_in_quickack_mode() and tcp_cleanup_rbuf() ask for no ACK in that mode. It begins with the first answer sent
    within the ATO, HZ / 25, of a request (tcp_event_data_sent()), unless tcp_pingpong_thresh wants more of them. Out of
    that mode, reading a short segment acknowledges it at once. Raises ModelError for an answer that comes later.
    """
    if scenario.receiver.sysctl("tcp_pingpong_thresh") > 1:
        return Value(0, "s")
    think = scenario.reader.think.seconds
    if think >= _DELACK_MIN:
        raise ModelError("an answer after HZ / 25 or more finds its ACK sent: no ping-pong mode to predict")
    return Value(think, "s")


@law(formula="1 / 25 s + 1 / (2 × HZ)", source="TCP_DELACK_MIN; tcp_send_delayed_ack()")
def ack_delayed_mean(scenario: Scenario) -> Value:
    """The ACK of a segment that nobody reads or answers waits for HZ / 25 on a short path, and half a jiffy more.

    tcp_send_delayed_ack() lets it wait for the RTT if that is longer. The timer wheel fires in the tick after the one
    that is asked for, and the request comes somewhere within a jiffy. Behind a pause longer than the RTO it goes at
    once.
    """
    _unread(scenario)
    if _pauses(scenario):
        return Value(0, "s")
    if base_rtt(scenario).number > _DELACK_MIN:
        raise ModelError("beyond an RTT of HZ / 25 the delay grows from ACK to ACK: the mean is not predicted")
    return Value(_DELACK_MIN + 0.5 / scenario.kernel.hz, "s")


@law(
    formula="min(max(RTT, 1 / 25 s), 1 / 5 s) and the timer wheel's grain",
    source="TCP_DELACK_MIN, TCP_DELACK_MAX; tcp_send_delayed_ack(), calc_wheel_index()",
)
def ack_delayed_longest(scenario: Scenario) -> Value:
    """An ACK of what nobody reads waits for at most the RTT, bounded by HZ / 25 and HZ / 5, and the timer's grain.

    Each ACK that the timer had to send doubles the next delay (tcp_delack_timer_handler()). From 63 jiffies on
    (LVL_START(1)), the timer wheel fires up to 8 late; messages that come at all phases of it see all of that, less
    half a jiffy on average. Behind a pause longer than the RTO, an ACK goes at once.
    """
    _unread(scenario)
    if _pauses(scenario):
        return Value(0, "s")
    delay = min(max(base_rtt(scenario).number, _DELACK_MIN), _DELACK_MAX)
    late = 1 << LVL_CLK_SHIFT if delay * scenario.kernel.hz >= LVL_START else 1
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
    """Each segment behind the dropped one causes one ACK. With SACK, since 4.18, most of them wait.

    __tcp_ack_snd_check() sends three at once (since 4.20). Then it holds them: until the 45th (tcp_comp_sack_nr = 44),
    or for a third of the RTT, 1 ms at most. What is left of the transfer has to be in flight when the hole is noticed,
    so that this and nothing else comes.
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
    """Return how many segments of the transfer follow the dropped one.

    Raises ModelError unless exactly one is dropped and a size is given.
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
        raise ModelError("a segment that is read and not answered is acknowledged then: its delay is the reader's")


def _pauses(scenario: Scenario) -> bool:
    """Tell whether every pause is longer than the receiver's RTO: ACKs are quick again then (tcp_event_data_recv()).

    Its only sample is the handshake's round trip: the RTO is that and TCP_RTO_MIN, or three of it where that is more
    (tcp_rtt_estimator(), __tcp_set_rto()). Both are counted in jiffies.
    """
    if scenario.writer.interval is None:
        return False
    rtt, jiffy = base_rtt(scenario, SYN).number, 1 / scenario.kernel.hz
    over = scenario.writer.interval.seconds - (rtt + max(2 * rtt, _RTO_MIN))
    if abs(over) < 2 * jiffy:
        raise ModelError("the pause is as long as the RTO: a jiffy decides if an ACK goes at once")
    return over > 0


def _fills(scenario: Scenario, rate: Rate) -> bool:
    """Tell whether more may come than a reader takes at that rate."""
    return scenario.rate is None or goodput_window_over_rtt(scenario).number > rate.bps


def _merges(scenario: Scenario) -> bool:
    """Tell whether GRO finds more than one frame at a poll."""
    receiving = scenario.receiver.interface
    return receiving.offloads.gro and receiving.gro_flush_timeout.seconds > _frame_seconds(scenario)


def _gathered(scenario: Scenario, least: int) -> float:
    """Return how many segments a batch of `least` or more has on average."""
    segments, wire, jiffy = gso_segments(scenario), _frame_seconds(scenario), 1 / scenario.kernel.hz
    poll = scenario.receiver.interface.gro_flush_timeout.seconds
    if scenario.sender.interface.gso_max_segs is not None or poll >= min(segments * wire, jiffy):
        raise ModelError("the model covers full super-packets, and polls more often than they and jiffies come")
    return segments / (1 + max(0.0, (segments - least) * wire - poll) / jiffy)


def _frame_seconds(scenario: Scenario) -> float:
    if scenario.rate is None:
        raise ModelError("without a rate, frames come as fast as the machine makes them")
    return float(scenario.rate.time_for(frame(scenario)))
