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
from lab.model.mss import announced
from lab.model.receive_half import ReceiveHalf
from lab.model.scenario import Scenario
from lab.model.sender import NSEC_PER_MSEC, NSEC_PER_USEC, Skb
from lab.model.window import initial_window, window_scale

# A data sequence signal (RFC 8684, 3.3.1) with an acknowledgement and a mapping of 64 bits has 26 bytes. The option is
# padded to whole words (TCPOLEN_MPTCP_DSS_*). A signal that only acknowledges has 12.
DSS, DSS_ACK = 28, 12
SACK_BLOCK = 12  # bytes of the option with one block, which fits beside timestamps and DSS


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
        self.receiver = ReceiveHalf(back, first_window(back))
        self.snd_wnd = self.max_window = first_window(scenario)
        self.ofo: list[tuple[int, int]] = []  # segments that came out of order, in order of their numbers
        self.recent: tuple[int, int] | None = None  # the block that a SACK shows
        self.prev_rtt_seq = 0

    # What it sends.

    def memory_free(self) -> bool:
        """Return whether the subflow's buffer has room: sk_stream_memory_free()."""
        return self.wmem_queued() < self.sndbuf

    def sendmsg_frag(self, data_seq: int, length: int, window: int) -> int:
        """Queue data in one skb, up to the window's limit, and return its length: mptcp_sendmsg_frag()."""
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
        self.receiver.icsk_ack.event_data_sent(now)
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
        full = packet.len >= self.receiver.icsk_ack.rcv_mss
        self.receiver.tuning.rcv_rtt_measure_ts(now // NSEC_PER_USEC, packet.tsecr, full, queue_empty=True)

    def receive(self, now: int, packet: Packet) -> None:
        """Queue a packet's data, and pass the data in order to the connection: tcp_data_queue()."""
        half, end = self.receiver, packet.seq + packet.len
        self.clock_cache = now
        if packet.seq > half.rcv_nxt:
            self._queue_ofo(packet.seq, end)
            half.icsk_ack.scheduled = True
            return
        if end <= half.rcv_nxt:
            self.recent = None
            half.icsk_ack.scheduled = True
            half.icsk_ack.quick = max(half.icsk_ack.quick, 1)
            return
        before = half.rcv_nxt
        half.rcv_nxt = end
        while self.ofo and self.ofo[0][0] <= half.rcv_nxt:
            half.rcv_nxt = max(half.rcv_nxt, self.ofo.pop(0)[1])
            half.icsk_ack.quick |= not self.ofo  # ICSK_ACK_NOW
        half.event_data_recv(now, packet.len, packet.psh, packet.len + self.skb_overhead)
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
        while at < self.receiver.rcv_nxt:
            seq, data_seq, length = maps[0]
            end = min(seq + length, self.receiver.rcv_nxt)
            self.meta.data_ready(self, data_seq + at - seq, end - at, self._truesize(end - at))
            at = end
            if end == seq + length:
                maps.popleft()

    def _truesize(self, length: int) -> int:
        """Return the memory for `length` bytes in the connection's queue.

        Each packet that joins no other has a head.
        """
        return length + self.skb_overhead

    def _select_window(self) -> int:
        """Return the window that could be offered now, rounded to the window scale: __tcp_select_window()."""
        return self.receiver.scaled(min(self.meta.window(), self.receiver.rcv_ssthresh))

    def rcvbuf_grow(self, newval: int) -> None:
        """Let the buffer follow the connection's buffer: tcp_rcvbuf_grow()."""
        tuning = self.receiver.tuning
        rcvwin = tuning.rcvwin(newval)
        if self.ofo:
            rcvwin += self.ofo[-1][1] - self.receiver.rcv_nxt
        tuning.space = newval
        self.receiver.rcvbuf_grow(rcvwin)

    def ack_snd_check(self) -> None:
        """Decide whether an ACK is sent now or later: __tcp_ack_snd_check(), with an sk_rcvlowat of 0
        (mptcp_sockopt_sync()).
        """
        if not self.receiver.icsk_ack.scheduled:
            return
        if (
            self.ofo
            or (self.receiver.unacked() > self.receiver.icsk_ack.rcv_mss and self._may_ack())
            or self.receiver.icsk_ack.quickack_mode
            or self.receiver.icsk_ack.delay(self.clock_cache)
        ):
            self.send_ack(self.clock_cache)

    def _may_ack(self) -> bool:
        """Return whether an ACK can be sent before the reader, which widens the window, has run.

        If data is missing, the reader has nothing to read, and captures show an ACK for every second segment.
        """
        return self.meta.misses() or self._select_window() >= self.receiver.rcv_wnd

    def cleanup_rbuf(self, now: int, emptied: bool) -> None:
        """Acknowledge after a read, if an ACK is due: mptcp_subflow_cleanup_rbuf(), __tcp_cleanup_rbuf()."""
        if self.receiver.icsk_ack.must_follow_read(self.receiver.unacked(), emptied):
            self.send_ack(now)

    def delack_timer(self, now: int) -> None:
        """Send the delayed ACK after its timer has fired."""
        self.receiver.icsk_ack.expire()
        self.send_ack(now)

    def send_ack(self, now: int) -> None:
        """Send an ACK without data."""
        self.carry(self._packet(now, self.snd_nxt, 0, psh=False))

    def _packet(self, now: int, seq: int, length: int, psh: bool) -> Packet:
        """Return a packet with its acknowledgement and window: tcp_select_window(), mptcp_established_options().

        An offered window never shrinks, except through the rounding of the scale. Captures show such shrinking,
        although the source rounds up.
        """
        half, window = self.receiver, self._select_window()
        left = half.rcv_wup + half.rcv_wnd - half.rcv_nxt >> half.rcv_wscale << half.rcv_wscale
        half.rcv_wnd = self.meta.set_rwin(max(window, left))
        half.rcv_wup, offered = half.rcv_nxt, half.rcv_wnd >> half.rcv_wscale << half.rcv_wscale
        half.icsk_ack.event_ack_sent()
        data_fin = None if length else self.meta.data_fin
        sack = self.recent if self.ofo and not length and data_fin is None else None  # no room beside a mapping
        acks = half.rcv_nxt, offered, sack, self.meta.ack_seq
        return Packet(seq, length, psh, now // NSEC_PER_MSEC, self.ts_recent, *acks, data_fin)
