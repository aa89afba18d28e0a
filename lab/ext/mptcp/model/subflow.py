"""Simulate one end of a Multipath TCP subflow: its part of the connection's data, and its acknowledgements.

The module follows net/mptcp/protocol.c (mptcp_sendmsg_frag()), options.c and subflow.c, and net/ipv4/tcp_input.c of
Linux 7.2, with the same names. Times are whole nanoseconds. Positions count bytes since the start, in the subflow's own
payload (`seq`) or in the connection's data (`data_seq`).
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from lab.ext.mptcp.model.recovery import LossySender
from lab.model.cubic import TCP_INIT_CWND
from lab.model.delayed_ack import DelayedAck, Timers
from lab.model.line import base_rtt
from lab.model.mss import announced, own_segment
from lab.model.packet import SYN
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

# A data sequence signal (RFC 8684, 3.3.1) with an acknowledgement and a mapping of 64 bits has 26 bytes. The option is
# padded to whole words (TCPOLEN_MPTCP_DSS_*). A signal that only acknowledges has 12.
DSS, DSS_ACK = 28, 12
SACK_BLOCK = 12  # bytes of the option with one block, which fits beside timestamps and DSS
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
    data_fin: int | None = None  # the end of the data, if the sender has written all of it


class Meta(Protocol):
    """Describes a subflow's view of its connection, struct mptcp_sock."""

    now: int  # ns
    nospace: bool  # SOCK_NOSPACE, of the shared socket
    ack_seq: int  # the end of the data that has arrived in order

    def window(self) -> int:
        """Return the shared receive window, in bytes."""
        ...

    @property
    def data_fin(self) -> int | None:
        """Return the end of the written data, until it is acknowledged."""
        ...

    def misses(self) -> bool:
        """Return whether some data has arrived out of order."""
        ...

    def set_rwin(self, rcv_wnd: int) -> int:
        """Return the window for a subflow that would offer `rcv_wnd` on its own: mptcp_set_rwin()."""
        ...

    def subflow_write_space(self, subflow: Subflow) -> None:
        """Note that a subflow's buffer has room."""
        ...

    def data_ready(self, subflow: Subflow, data_seq: int, length: int, truesize: int) -> None:
        """Take data from a subflow: mptcp_data_ready()."""
        ...


def first_window(scenario: Scenario) -> int:
    """Return the first window that the scenario's receiver offers, in bytes: tcp_select_initial_window().

    The connecting end rounds the window to segments as if there were no timestamps, which are not yet negotiated:
    tcp_connect_init().
    """
    if scenario.client == "sender":
        return initial_window(scenario)
    mss, unit = announced(scenario.reversed()), 1 << window_scale(scenario)
    return -(-(min(65535, scenario.receiver.sysctl("tcp_rmem", 1) // 2) // mss * mss) // unit) * unit


class Subflow(LossySender):
    """Simulates one end of a subflow. Its packets go to `carry(packet)`."""

    def __init__(self, scenario: Scenario, meta: Meta, carry: Callable[[Packet], None]) -> None:
        super().__init__(scenario, self._transmit)
        self.meta, self.carry = meta, carry
        self.mss_cache -= DSS
        self.gso_max_segs = max(self.gso_max_size // self.mss_cache, 1)
        self.grows_skbs = False  # no skb merges with one of another mapping: mptcp_skb_can_collapse()
        self.avg_pacing_rate = 0
        self.cached_sndbuf = self.sndbuf
        self.maps: deque[tuple[int, int, int]] = deque()  # mappings in flight: seq, data_seq, length
        self.peer: Subflow = self  # the other end
        back = scenario.reversed()
        rtt, advmss = int(base_rtt(scenario, SYN).number * 1e9), own_segment(scenario)
        self.icsk_ack = DelayedAck(Timers.of(scenario.kernel), advmss, initial_rcv_mss(back), rtt)
        self.rcv_nxt = self.rcv_wup = 0
        self.rcv_wnd = first_window(back)
        self.snd_wnd = self.max_window = first_window(scenario)
        self.ofo: list[tuple[int, int]] = []  # segments that came out of order, in order of their numbers
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
        """Return whether the subflow's buffer has room: sk_stream_memory_free()."""
        return self.wmem_queued() < self.sndbuf

    def sendmsg_frag(self, data_seq: int, length: int, window: int) -> int:
        """Queue data in one skb, as far as the window allows, and return its length: mptcp_sendmsg_frag()."""
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
        """Send the queued data: tcp_push()."""
        self.clock_cache = now
        self._push(self.nonagle, more=False)

    def data_snd_check(self) -> None:
        """Send the data that an ACK allows, and let the buffer grow: tcp_data_snd_check()."""
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
        """Send an skb, cut into segments, each with an acknowledgement: __tcp_transmit_skb()."""
        self.icsk_ack.event_data_sent(now)
        while seq < skb.end_seq:
            end_seq = min(seq + self.mss_cache, skb.end_seq)
            self.carry(self._packet(now, seq, end_seq - seq, skb.psh and end_seq == skb.end_seq))
            seq = end_seq

    # What it receives.

    def measure_rtt(self, now: int, packet: Packet) -> None:
        """Take an RTT sample from a packet's echo, unless an earlier packet, with or without data, already gave this
        sample.

        tcp_rcv_rtt_measure_ts().
        """
        full = packet.len >= self.icsk_ack.rcv_mss
        self.tuning.rcv_rtt_measure_ts(now // NSEC_PER_USEC, packet.tsecr, full, queue_empty=True)

    def receive(self, now: int, packet: Packet) -> None:
        """Queue a packet's data, and pass the data in order to the connection: tcp_data_queue()."""
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
        """Queue data that arrived too early: tcp_data_queue_ofo()."""
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
        """Pass new data in order to the connection, mapping by mapping: __mptcp_move_skbs_from_subflow()."""
        maps, at = self.peer.maps, before
        while at < self.rcv_nxt:
            seq, data_seq, length = maps[0]
            end = min(seq + length, self.rcv_nxt)
            self.meta.data_ready(self, data_seq + at - seq, end - at, self._truesize(end - at))
            at = end
            if end == seq + length:
                maps.popleft()

    def _truesize(self, length: int) -> int:
        """Return the memory for `length` bytes in the connection's queue.

        Each packet that joins no other has a head.
        """
        return length + self.skb_overhead

    def _grow_window(self, length: int) -> None:
        """Widen the window by two segments for each received segment, and request an immediate ACK:
        tcp_grow_window().
        """
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
        """Return the window that could be offered now, rounded to the window scale: __tcp_select_window()."""
        return -(-min(self.meta.window(), self.rcv_ssthresh) >> self.rcv_wscale) << self.rcv_wscale

    def rcvbuf_grow(self, newval: int) -> None:
        """Let the buffer follow the connection's buffer: tcp_rcvbuf_grow()."""
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
        """Decide whether an ACK is sent now or later: __tcp_ack_snd_check(), with an sk_rcvlowat of 0
        (mptcp_sockopt_sync()).
        """
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
        """Return whether an ACK can be sent before the reader, which widens the window, has run.

        If data is missing, the reader has nothing to read, and captures show an ACK for every second segment.
        """
        return self.meta.misses() or self._select_window() >= self.rcv_wnd

    def cleanup_rbuf(self, now: int, emptied: bool) -> None:
        """Acknowledge after a read, if an ACK is due: mptcp_subflow_cleanup_rbuf(), __tcp_cleanup_rbuf()."""
        if self.icsk_ack.must_follow_read(self.rcv_nxt - self.rcv_wup, emptied):
            self.send_ack(now)

    def delack_timer(self, now: int) -> None:
        """Send the delayed ACK after its timer has fired."""
        self.icsk_ack.expire()
        self.send_ack(now)

    def send_ack(self, now: int) -> None:
        """Send an ACK without data."""
        self.carry(self._packet(now, self.snd_nxt, 0, psh=False))

    def _packet(self, now: int, seq: int, length: int, psh: bool) -> Packet:
        """Return a packet with its acknowledgement and window: tcp_select_window(), mptcp_established_options().

        An offered window never shrinks, except through the rounding of the scale. Captures show such shrinking,
        although the source rounds up.
        """
        window = self._select_window()
        left = self.rcv_wup + self.rcv_wnd - self.rcv_nxt >> self.rcv_wscale << self.rcv_wscale
        self.rcv_wnd = self.meta.set_rwin(max(window, left))
        self.rcv_wup, offered = self.rcv_nxt, self.rcv_wnd >> self.rcv_wscale << self.rcv_wscale
        self.icsk_ack.event_ack_sent()
        data_fin = None if length else self.meta.data_fin
        sack = self.recent if self.ofo and not length and data_fin is None else None  # no room beside a mapping
        acks = self.rcv_nxt, offered, sack, self.meta.ack_seq
        return Packet(seq, length, psh, now // NSEC_PER_MSEC, self.ts_recent, *acks, data_fin)
