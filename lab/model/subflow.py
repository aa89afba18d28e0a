"""Play one end of a subflow of Multipath TCP: what it sends of the connection's data, and what it acknowledges.

Written after net/mptcp/protocol.c (mptcp_sendmsg_frag()), options.c and subflow.c, and net/ipv4/tcp_input.c of
Linux 7.2, and named as there. Times are whole nanoseconds; positions are bytes since the start, of the subflow's own
payload (`seq`) or of the connection's data (`data_seq`).
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from lab.model.cubic import TCP_INIT_CWND
from lab.model.delayed_ack import DelayedAck, Timers
from lab.model.line import base_rtt
from lab.model.mss import announced, own_segment
from lab.model.packet import SYN
from lab.model.recovery import LossySender
from lab.model.scenario import Scenario
from lab.model.sender import NSEC_PER_MSEC, NSEC_PER_USEC, Skb
from lab.model.tuning import TCP_RCVBUF_LOW_RTT, Tuning
from lab.model.window import (
    TCP_DEFAULT_SCALING_RATIO,
    TCP_RMEM_TO_WIN_SCALE,
    initial_rcv_mss,
    initial_window,
    window_scale,
)

# A data sequence signal (RFC 8684, 3.3.1) with an acknowledgement and a mapping of 64 bits has 26 bytes; the option is
# padded to whole words (TCPOLEN_MPTCP_DSS_*). One that only acknowledges has 12.
DSS, DSS_ACK = 28, 12
SACK_BLOCK = 12  # bytes of the option with one block, for which there is room beside timestamps and DSS
GROWING_LEN = 128  # bytes of a segment that may widen the window: tcp_event_data_recv()


class Packet(NamedTuple):
    """Describes a packet of a subflow."""

    seq: int
    len: int  # payload, bytes
    psh: bool
    tsval: int  # ms
    tsecr: int
    ack_seq: int
    window: int
    sack: tuple[int, int] | None
    data_ack: int
    data_fin: int | None = None  # where the data ends, of an end that has written all


class Meta(Protocol):
    """Is what a subflow sees of its connection, struct mptcp_sock."""

    now: int  # ns
    nospace: bool  # SOCK_NOSPACE, of the socket that all share
    ack_seq: int  # the data that has come in order

    def window(self) -> int:
        """Return the receive window that all share, in bytes."""
        ...

    @property
    def data_fin(self) -> int | None:
        """Return where the data written ends, until that is acknowledged."""
        ...

    def misses(self) -> bool:
        """Tell whether some data has come out of order."""
        ...

    def set_rwin(self, rcv_wnd: int) -> int:
        """Return the window that a subflow offers which would offer `rcv_wnd`: mptcp_set_rwin()."""
        ...

    def subflow_write_space(self, subflow: Subflow) -> None:
        """Note that a subflow's buffer has room."""
        ...

    def data_ready(self, subflow: Subflow, data_seq: int, length: int, truesize: int) -> None:
        """Take data from a subflow: mptcp_data_ready()."""
        ...


def first_window(scenario: Scenario) -> int:
    """Return the first window that the scenario's receiver offers, in bytes: tcp_select_initial_window().

    Who connects rounds it to segments as long as without timestamps, which nobody has confirmed: tcp_connect_init().
    """
    if scenario.client == "sender":
        return initial_window(scenario)
    mss, unit = announced(scenario.reversed()), 1 << window_scale(scenario)
    return -(-(min(65535, scenario.receiver.sysctl("tcp_rmem", 1) // 2) // mss * mss) // unit) * unit


class Subflow(LossySender):
    """Plays one end of a subflow. Its packets go to `carry(packet)`."""

    def __init__(self, scenario: Scenario, meta: Meta, carry: Callable[[Packet], None]) -> None:
        super().__init__(scenario, self._transmit)
        self.meta, self.carry = meta, carry
        self.mss_cache -= DSS
        self.gso_max_segs = max(self.gso_max_size // self.mss_cache, 1)
        self.grows_skbs = False  # no skb takes in another's mapping: mptcp_skb_can_collapse()
        self.avg_pacing_rate = 0
        self.cached_sndbuf = self.sndbuf
        self.maps: deque[tuple[int, int, int]] = deque()  # what the other end has not taken yet: seq, data_seq, length
        self.peer: Subflow = self  # the other end
        back = scenario.reversed()
        rtt, advmss = int(base_rtt(scenario, SYN).number * 1e9), own_segment(scenario)
        self.icsk_ack = DelayedAck(Timers.of(scenario.kernel), advmss, initial_rcv_mss(back), rtt)
        self.rcv_nxt = self.rcv_wup = 0
        self.rcv_wnd = first_window(back)
        self.snd_wnd = self.max_window = first_window(scenario)
        self.ofo: list[tuple[int, int]] = []  # what came out of order, in order
        self.recent: tuple[int, int] | None = None  # the block that a SACK shows
        self.tuning = Tuning(scenario.kernel.version, advmss, min(self.rcv_wnd, TCP_INIT_CWND * advmss))
        self.prev_rtt_seq = 0
        self.scaling_ratio = TCP_DEFAULT_SCALING_RATIO
        self.rcvbuf, self.rmem_max = scenario.sender.sysctl("tcp_rmem", 1), scenario.sender.sysctl("tcp_rmem", 2)
        self.window_clamp = max(2 * advmss, self._win_from_space(self.rcvbuf) - advmss)
        self.rcv_ssthresh = min(self.rcv_wnd, self.window_clamp)
        self.rcv_wscale = window_scale(back)

    # What it sends.

    def memory_free(self) -> bool:
        """Tell whether its buffer has room: sk_stream_memory_free()."""
        return self.wmem_queued() < self.sndbuf

    def sendmsg_frag(self, data_seq: int, length: int, window: int) -> int:
        """Queue data in one skb, as far as the window lets it, and return how much: mptcp_sendmsg_frag()."""
        goal = self._xmit_size_goal()
        tail = self.write_queue[-1] if self.write_queue else None
        room = goal - self._tail_len() if tail else 0
        follows = bool(self.maps) and self.maps[-1][1] + self.maps[-1][2] == data_seq
        if tail and room > 0 and not follows:
            self._mark_push(tail)
        if tail is None or room <= 0 or not follows:
            tail, room = None, goal
        copy = min(room, length, window)
        self.snd_wnd = max(self.snd_wnd, window)  # mptcp_check_allowed_size()
        if copy <= 0:
            return 0
        if follows:
            seq, first, mapped = self.maps.pop()
            self.maps.append((seq, first, mapped + copy))
        else:
            self.maps.append((self.write_seq, data_seq, copy))
        self.write_seq += copy
        if tail is None:
            self.slow_start_after_idle_check(self.meta.now)
            self.write_queue.append(Skb(self.write_seq))
        else:
            tail.end_seq, tail.psh = self.write_seq, False
        return copy

    def push(self, now: int) -> None:
        """Send what was queued: tcp_push()."""
        self.clock_cache = now
        self._push(self.nonagle, more=False)

    def data_snd_check(self) -> None:
        """Send what may go after an ACK, and let the buffer grow: tcp_data_snd_check()."""
        self._write_xmit(self.nonagle)
        self._check_space()

    def _check_space(self) -> None:
        """Let the buffer grow while a writer waits for the connection: tcp_check_space()."""
        if not self.meta.nospace:
            return
        if self.packets_in_flight() < self.cubic.cwnd:
            self._expand_sndbuf()
        self.meta.subflow_write_space(self)

    def pacing_rate(self) -> int:
        """Return sk_pacing_rate, in bytes per second."""
        return self._pacing_rate()

    def _transmit(self, now: int, seq: int, skb: Skb) -> None:
        """Send an skb, cut into segments, each of which acknowledges: __tcp_transmit_skb()."""
        self.icsk_ack.event_data_sent(now)
        while seq < skb.end_seq:
            end_seq = min(seq + self.mss_cache, skb.end_seq)
            self.carry(self._packet(now, seq, end_seq - seq, skb.psh and end_seq == skb.end_seq))
            seq = end_seq

    # What it receives.

    def measure_rtt(self, now: int, packet: Packet) -> None:
        """Take a sample from what a packet echoes, unless one before it did, with data or without.

        tcp_rcv_rtt_measure_ts().
        """
        full = packet.len >= self.icsk_ack.rcv_mss
        self.tuning.rcv_rtt_measure_ts(now // NSEC_PER_USEC, packet.tsecr, full, queue_empty=True)

    def receive(self, now: int, packet: Packet) -> None:
        """Queue what a packet brings, and let the connection have what is in order: tcp_data_queue()."""
        self.clock_cache, end = now, packet.seq + packet.len
        if packet.seq > self.rcv_nxt:
            self._queue_ofo(packet.seq, end)
            self.icsk_ack.scheduled = True
            return
        if end <= self.rcv_nxt:
            self.recent = None
            self.icsk_ack.scheduled = True
            self.icsk_ack.quick = max(self.icsk_ack.quick, 1)
            return
        before = self.rcv_nxt
        self.rcv_nxt = end
        while self.ofo and self.ofo[0][0] <= self.rcv_nxt:
            self.rcv_nxt = max(self.rcv_nxt, self.ofo.pop(0)[1])
            self.icsk_ack.quick |= not self.ofo  # ICSK_ACK_NOW
        if packet.len > self.icsk_ack.rcv_mss:
            self._measure_scaling_ratio(packet.len)
        self.icsk_ack.measure_rcv_mss(packet.len, packet.psh)
        self.tuning.rcv_rtt_measure(now // NSEC_PER_USEC, self.rcv_nxt, self.rcv_wnd)
        self.icsk_ack.event_data_recv(now, self.rcv_wnd)
        self._grow_window(packet.len)
        self._hand_over(before)

    def _queue_ofo(self, seq: int, end: int) -> None:
        """Keep what came too early: tcp_data_queue_ofo()."""
        if any(first <= seq and end <= last for first, last in self.ofo):
            return
        insort(self.ofo, (seq, end))
        joined: list[tuple[int, int]] = []
        for first, last in self.ofo:
            if joined and first <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(last, joined[-1][1])
            else:
                joined.append((first, last))
        self.ofo = joined
        self.recent = next(block for block in joined if block[0] <= seq < block[1])

    def _hand_over(self, before: int) -> None:
        """Hand what is new in order to the connection, mapping by mapping: __mptcp_move_skbs_from_subflow()."""
        maps, at = self.peer.maps, before
        while at < self.rcv_nxt:
            seq, data_seq, length = maps[0]
            end = min(seq + length, self.rcv_nxt)
            self.meta.data_ready(self, data_seq + at - seq, end - at, self._truesize(end - at))
            at = end
            if end == seq + length:
                maps.popleft()

    def _truesize(self, length: int) -> int:
        """Return what so much costs in the connection's queue: each packet has a head, unless it joins another."""
        return length + self.skb_overhead

    def _grow_window(self, length: int) -> None:
        """Widen the window by two segments for each one, and ask for an ACK at once: tcp_grow_window()."""
        space = self._win_from_space(self.rcvbuf - length - self.skb_overhead)
        room = min(self.window_clamp, space) - self.rcv_ssthresh
        if room > 0 and length >= GROWING_LEN:
            self.rcv_ssthresh += min(room, 2 * max(self.icsk_ack.advmss, length))
            self.icsk_ack.quick |= 1

    def _measure_scaling_ratio(self, length: int) -> None:
        """Measure the share of a packet's memory that is payload: tcp_measure_rcv_mss()."""
        ratio = (length << TCP_RMEM_TO_WIN_SCALE) // (length + self.skb_overhead)
        if ratio != self.scaling_ratio:
            self.scaling_ratio, self.window_clamp = ratio, self.rcvbuf * ratio >> TCP_RMEM_TO_WIN_SCALE
            self.tuning.space = min(self.tuning.space, self.window_clamp)

    def _win_from_space(self, space: int) -> int:
        return space * self.scaling_ratio >> TCP_RMEM_TO_WIN_SCALE

    def _select_window(self) -> int:
        """Return the window that could be offered now, as the window scale can express it: __tcp_select_window()."""
        return -(-min(self.meta.window(), self.rcv_ssthresh) >> self.rcv_wscale) << self.rcv_wscale

    def rcvbuf_grow(self, newval: int) -> None:
        """Let the buffer follow the connection's: tcp_rcvbuf_grow()."""
        rcvwin, tuning = 2 * newval, self.tuning
        if (rtt_us := tuning.rtt_us >> 3) < TCP_RCVBUF_LOW_RTT:
            rcvwin += rcvwin * rtt_us // TCP_RCVBUF_LOW_RTT
        else:
            rcvwin += 2 * rcvwin * (newval - tuning.space) // tuning.space
        if self.ofo:
            rcvwin += self.ofo[-1][1] - self.rcv_nxt
        tuning.space = newval
        rcvbuf = min((rcvwin << TCP_RMEM_TO_WIN_SCALE) // self.scaling_ratio, self.rmem_max)
        if rcvbuf > self.rcvbuf:
            self.rcvbuf, self.window_clamp = rcvbuf, self._win_from_space(rcvbuf)

    def ack_snd_check(self) -> None:
        """Decide if an ACK goes or waits: __tcp_ack_snd_check(), with an sk_rcvlowat of 0 (mptcp_sockopt_sync())."""
        if not self.icsk_ack.scheduled:
            return
        if (
            self.ofo
            or (self.rcv_nxt - self.rcv_wup > self.icsk_ack.rcv_mss and self._may_ack())
            or self.icsk_ack.quickack_mode
            or self.icsk_ack.delay(self.clock_cache)
        ):
            self.send_ack(self.clock_cache)

    def _may_ack(self) -> bool:
        """Tell whether an ACK need not wait for the reader, who makes the window wider.

        Where data is missing there is nothing to read, and captures show an ACK for every second segment.
        """
        return self.meta.misses() or self._select_window() >= self.rcv_wnd

    def cleanup_rbuf(self, now: int, emptied: bool) -> None:
        """Acknowledge after a read, if that is due: mptcp_subflow_cleanup_rbuf(), __tcp_cleanup_rbuf()."""
        if self.icsk_ack.must_follow_read(self.rcv_nxt - self.rcv_wup, emptied):
            self.send_ack(now)

    def delack_timer(self, now: int) -> None:
        """Send the delayed ACK, whose timer has fired."""
        self.icsk_ack.expire()
        self.send_ack(now)

    def send_ack(self, now: int) -> None:
        """Send an ACK without data."""
        self.carry(self._packet(now, self.snd_nxt, 0, psh=False))

    def _packet(self, now: int, seq: int, length: int, psh: bool) -> Packet:
        """Return a packet with what it acknowledges and offers: tcp_select_window(), mptcp_established_options().

        What was offered is not taken back but for the scale's rounding: captures show that, and the source rounds up.
        """
        window = self._select_window()
        left = self.rcv_wup + self.rcv_wnd - self.rcv_nxt >> self.rcv_wscale << self.rcv_wscale
        self.rcv_wnd = self.meta.set_rwin(max(window, left))
        self.rcv_wup, offered = self.rcv_nxt, self.rcv_wnd >> self.rcv_wscale << self.rcv_wscale
        self.icsk_ack.event_ack_sent()
        data_fin = None if length else self.meta.data_fin
        sack = self.recent if self.ofo and not length and data_fin is None else None  # beside a mapping is no room
        acks = self.rcv_nxt, offered, sack, self.meta.ack_seq
        return Packet(seq, length, psh, now // NSEC_PER_MSEC, self.ts_recent, *acks, data_fin)
