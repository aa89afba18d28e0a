"""Simulate the sending end of a connection: the skbs in its buffer, and when each skb leaves.

Source: net/ipv4/tcp.c (tcp_sendmsg_locked()), tcp_output.c (tcp_write_xmit()), tcp_input.c (tcp_ack()) and
net/core/stream.c of Linux 7.2, with the kernel's names. The module covers a path without loss. Positions are payload
bytes since the start. Times are whole nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass

from lab.model.cubic import Cubic
from lab.model.line import base_rtt
from lab.model.mss import mss
from lab.model.packet import SYN, Ack
from lab.model.scenario import Scenario
from lab.model.skb import gso_bytes, overhead
from lab.model.window import gso_segments, initial_window, sndbuf_per_segment

NSEC_PER_USEC, NSEC_PER_MSEC = 1000, 10**6
TCP_MIN_TSO_SEGS = 2  # tcp_min_tso_segs
SK_PACING_SHIFT = 10  # a burst is at most what pacing would send in 2^-10 s: sk_pacing_shift
TCP_TSO_RTT_LOG = 9  # plus the largest skb, halved for each 2^9 us of the RTT: tcp_tso_rtt_log
TCP_TSO_WIN_DIVISOR = 3  # tcp_tso_win_divisor
TCP_PACING_SS_RATIO, TCP_PACING_CA_RATIO = 200, 120  # per cent: tcp_pacing_ss_ratio, tcp_pacing_ca_ratio
GROWS_SKBS_SINCE = (6, 10)  # "tcp: try to send bigger TSO packets"
SPLICES_SINCE = (6, 5)  # "splice, net: Use sendmsg(MSG_SPLICE_PAGES) rather than ->sendpage()"

TCP_NAGLE_OFF, TCP_NAGLE_CORK, TCP_NAGLE_PUSH = 1, 2, 4


@dataclass(slots=True)
class Skb:
    """Holds payload of the send queue, up to `end_seq`."""

    end_seq: int
    psh: bool = False
    tstamp: int = 0  # when it was sent, ns


class Sender:
    """Simulates the scenario's sending socket. Its segments go to `transmit(now, seq, skb)`."""

    def __init__(self, scenario: Scenario, transmit: Callable[[int, int, Skb], None]) -> None:
        rtt_us = int(base_rtt(scenario, SYN).number * 1e9) // NSEC_PER_USEC
        self.transmit = transmit
        self.cubic = Cubic(scenario.kernel.hz)
        self.mss_cache = mss(scenario)
        self.gso_max_segs = gso_segments(scenario)  # the most segments of an skb
        self.gso_max_size = gso_bytes(scenario.kernel)  # the most bytes of an skb
        self.skb_overhead = overhead(scenario.kernel)  # the memory of an skb's head, bytes
        self.wmem_max = scenario.sndbuf_max  # tcp_wmem[2], bytes
        self.sndmem_per_mss = sndbuf_per_segment(scenario)  # what tcp_sndbuf_expand() reserves for a segment, bytes
        self.write_queue: deque[Skb] = deque()  # not yet sent
        self.rtx_queue: deque[Skb] = deque()  # sent but not acknowledged
        self.snd_una = self.snd_nxt = self.write_seq = 0
        self.snd_wnd = self.max_window = initial_window(scenario)
        self.pushed_seq = self.snd_sml = 0
        self.packets_out = 0
        self.nonagle = 0
        self.sndbuf = scenario.sender.sysctl("tcp_wmem", 1)
        self.nospace = False  # SOCK_NOSPACE: its process waits for room
        self.fin = False  # whether it is closed
        self.srtt_us = max(rtt_us << 3, 1)  # eight times the mean
        self.min_rtt_burst = self.gso_max_size >> (rtt_us >> TCP_TSO_RTT_LOG)  # bytes
        self.grows_skbs = scenario.kernel.version >= GROWS_SKBS_SINCE
        self.sends_pages = scenario.kernel.version < SPLICES_SINCE  # whether sendfile() sends single pages
        self.ts_recent = 0  # the receiver's last timestamp, ms
        self.wstamp_ns = 0  # when the last skb was sent
        self.clock_cache = 0  # the time
        self._expand_sndbuf()  # tcp_init_buffer_space()

    def wmem_queued(self) -> int:
        """Return sk_wmem_queued, which includes the heads of skbs."""
        heads = len(self.write_queue) + len(self.rtx_queue)
        return self.write_seq - self.snd_una + self.skb_overhead * heads

    def is_writeable(self) -> bool:
        """Return whether a third of the buffer is free: sk_stream_is_writeable()."""
        queued = self.wmem_queued()
        return queued < self.sndbuf and self.sndbuf - queued >= queued >> 1

    def sendmsg(
        self, size: int, more: bool = False, wait: bool = True, push: bool = True
    ) -> Generator[None, None, int]:
        """Simulate one call, and return the number of bytes that the socket accepted: tcp_sendmsg_locked().

        `more` is MSG_MORE. `wait` is False for MSG_DONTWAIT, and `push` is False for MSG_SENDPAGE_NOTLAST. The call
        yields when its process sleeps until it is woken: sk_stream_wait_memory(). No ACK arrives before the process
        sleeps.
        """
        left, size_goal = size, self._xmit_size_goal()
        while left:
            skb = self.write_queue[-1] if self.write_queue else None
            copy = size_goal - self._tail_len() if skb else 0
            if skb is None or copy <= 0:
                if self.wmem_queued() >= self.sndbuf:
                    self.nospace = True
                    if left < size:
                        self._push(TCP_NAGLE_PUSH, more=False)
                    if not wait:
                        break
                    self.nospace = True
                    yield
                    size_goal = self._xmit_size_goal()
                    continue
                skb, copy = Skb(self.write_seq), size_goal
                self.write_queue.append(skb)
            if left == size:
                skb.psh = False
            copied = min(copy, left)
            self.write_seq += copied
            skb.end_seq = self.write_seq
            left -= copied
            if left and copied == copy:
                if self._forced_push():
                    self._mark_push(skb)
                    self._write_xmit(TCP_NAGLE_PUSH)
                elif len(self.write_queue) == 1:
                    self._write_xmit(TCP_NAGLE_PUSH, push_one=True)
        if left < size and push:
            self._push(TCP_NAGLE_CORK if more else self.nonagle, more)
        return size - left

    def uncork(self) -> None:
        """Remove the cork, and send the data that it held back: __tcp_sock_set_cork()."""
        self.nonagle &= ~TCP_NAGLE_CORK
        self._write_xmit(self.nonagle)

    def close(self) -> None:
        """Close the socket. The remaining data no longer waits for further data: tcp_send_fin()."""
        self.fin = True
        self._write_xmit(TCP_NAGLE_PUSH)

    def ack(self, now: int, ack: Ack) -> bool:
        """Process an ACK, and send the data that it permits: tcp_ack(). Return whether the ACK wakes the writer.

        Received data also wakes the writer, even if the buffer has no room, because the writer waits for any event on
        the socket.
        """
        waiting, self.clock_cache = self.nospace, now
        ack_seq, window, tsval, length = ack
        if ack_seq > self.snd_una:
            self._clean_rtx_queue(ack_seq)
        elif window <= self.snd_wnd:
            return length > 0
        self.snd_wnd, self.ts_recent = window, tsval
        if window > self.max_window:
            self.max_window = window
        if self.write_queue:
            self._write_xmit(self.nonagle)
        if self.nospace:
            self._check_space()
        return (waiting and not self.nospace) or length > 0

    def _clean_rtx_queue(self, ack_seq: int) -> None:
        """Remove acknowledged data, and use its RTT samples: tcp_clean_rtx_queue()."""
        queue, mss_cache, cubic, now_us = self.rtx_queue, self.mss_cache, self.cubic, self.clock_cache // NSEC_PER_USEC
        skb, seq, packets_out = queue[0], self.snd_una, self.packets_out
        prior_packets, rtt_us = packets_out, now_us - skb.tstamp // NSEC_PER_USEC
        while skb.end_seq < ack_seq:
            packets_out += (seq - skb.end_seq) // mss_cache  # less tcp_skb_pcount()
            seq = queue.popleft().end_seq
            skb = queue[0]
        packets_out += (seq - skb.end_seq) // mss_cache
        if skb.end_seq == ack_seq:
            queue.popleft()
        else:
            packets_out -= (ack_seq - skb.end_seq) // mss_cache  # the rest of this skb
        self.snd_una, self.packets_out, ack_delay = ack_seq, packets_out, 0
        if cubic.in_hystart:
            ack_delay = 4 * 10**6 * self.gso_max_size // self._pacing_rate()  # hystart_ack_delay()
        cubic.sample(now_us, now_us - skb.tstamp // NSEC_PER_USEC, ack_seq, self.snd_nxt, ack_delay)
        cubic.avoid_congestion(now_us, prior_packets - packets_out)
        srtt_us = self.srtt_us
        srtt_us += rtt_us - (srtt_us >> 3)
        self.srtt_us = srtt_us if srtt_us > 1 else 1  # tcp_rtt_estimator()

    def _xmit_size_goal(self) -> int:
        """Return the payload up to which an skb is filled: whole segments, at most half of the largest window.

        tcp_xmit_size_goal().
        """
        segs = min(min(self.gso_max_size, self.max_window >> 1) // self.mss_cache, self.gso_max_segs)
        return max(segs, 1) * self.mss_cache

    def _tail_len(self) -> int:
        """Return the payload of tcp_write_queue_tail(), in bytes."""
        seq = self.write_queue[-2].end_seq if len(self.write_queue) > 1 else self.snd_nxt
        return self.write_queue[-1].end_seq - seq

    def _forced_push(self) -> bool:
        """Return whether PSH is due because half of the largest window was written: forced_push()."""
        return self.write_seq > self.pushed_seq + (self.max_window >> 1)

    def _mark_push(self, skb: Skb) -> None:
        skb.psh, self.pushed_seq = True, self.write_seq

    def _push(self, nonagle: int, more: bool) -> None:
        """Send the written data, with PSH on the last skb unless more follows: tcp_push()."""
        if not self.write_queue:
            return
        if not more or self._forced_push():
            self._mark_push(self.write_queue[-1])
        self._write_xmit(nonagle)

    def _pacing_rate(self) -> int:
        """Return the pacing rate in bytes per second: tcp_update_pacing_rate()."""
        cwnd, packets_out = self.cubic.cwnd, self.packets_out
        ratio = TCP_PACING_SS_RATIO if cwnd < self.cubic.ssthresh // 2 else TCP_PACING_CA_RATIO
        return ratio * (cwnd if cwnd > packets_out else packets_out) * self.mss_cache * 80_000 // self.srtt_us

    def _tso_segs(self) -> int:
        """Return the largest number of segments in one skb: tcp_tso_segs(), tcp_tso_autosize()."""
        size, most = (self._pacing_rate() >> SK_PACING_SHIFT) + self.min_rtt_burst, self.gso_max_segs
        segs = (size if size < self.gso_max_size else self.gso_max_size) // self.mss_cache
        segs = segs if segs > TCP_MIN_TSO_SEGS else TCP_MIN_TSO_SEGS
        return segs if segs < most else most

    def _write_xmit(self, nonagle: int, push_one: bool = False) -> None:
        """Send the data that both windows, Nagle's rule and TSO permit: tcp_write_xmit()."""
        queue, mss_now, cwnd = self.write_queue, self.mss_cache, self.cubic.cwnd
        if not queue:
            return
        sent, limited, max_segs, cwnd_quota, half = False, False, 0, 0, cwnd >> 1 or 1
        in_flight = self.packets_in_flight()
        while queue and in_flight < cwnd:
            skb, snd_nxt, last = queue[0], self.snd_nxt, len(queue) == 1
            length = skb.end_seq - snd_nxt
            if length > mss_now or not last:
                max_segs = max_segs or self._tso_segs()
                cwnd_quota = cwnd - in_flight  # tcp_cwnd_test()
                cwnd_quota = cwnd_quota if cwnd_quota < half else half
                cwnd_quota = cwnd_quota if cwnd_quota < max_segs else max_segs
                if self.grows_skbs and not last and length < cwnd_quota * mss_now:
                    self._grow_skb(skb, cwnd_quota * mss_now)
                    length, last = skb.end_seq - snd_nxt, len(queue) == 1
            send_win = self.snd_una + self.snd_wnd - snd_nxt
            if send_win < length and send_win < mss_now:  # tcp_snd_wnd_test()
                break
            if length <= mss_now:
                if length < mss_now and last and not self.fin and self._nagle_check(nonagle):
                    break
                limit = mss_now
            else:
                cong_win = (cwnd - in_flight) * mss_now
                if not push_one and self._tso_should_defer(length, max_segs, last, send_win, cong_win):
                    limited = cong_win < send_win and cong_win <= length
                    break
                limit = self._mss_split_point(length, cwnd_quota * mss_now, send_win, last, nonagle)
            if length > limit:
                queue.appendleft(Skb(snd_nxt + limit))  # tso_fragment()
            self._transmit_skb()
            sent, in_flight = True, self.packets_in_flight()
            if push_one:
                break
        limited |= in_flight >= cwnd
        if sent or limited:
            self.cubic.sent(self.packets_out, limited, self.snd_una, self.snd_nxt)

    def packets_in_flight(self) -> int:
        """Return the number of segments in the network: tcp_packets_in_flight(). No segment is lost in this model."""
        return self.packets_out

    def _grow_skb(self, skb: Skb, wanted: int) -> None:
        """Fill an skb from the next skb: tcp_grow_skb()."""
        missing_bytes = self.snd_nxt + wanted - skb.end_seq
        if missing_bytes > 0 and len(self.write_queue) > 1:
            next_skb = self.write_queue[1]
            skb.end_seq = min(skb.end_seq + missing_bytes, next_skb.end_seq)
            if skb.end_seq == next_skb.end_seq:
                skb.psh |= next_skb.psh
                del self.write_queue[1]

    def _nagle_check(self, nonagle: int) -> bool:
        """Return whether a partial segment waits: tcp_nagle_check(), tcp_minshall_check()."""
        if nonagle:
            return bool(nonagle & TCP_NAGLE_CORK)
        return self.packets_out > 0 and self.snd_una < self.snd_sml <= self.snd_nxt

    def _mss_split_point(self, length: int, max_len: int, window: int, last: bool, nonagle: int) -> int:
        """Return the number of bytes of the first skb that are sent now: tcp_mss_split_point()."""
        if max_len <= window and not last:
            return max_len
        needed = min(length, window)
        if max_len <= needed:
            return max_len
        partial = needed % self.mss_cache
        return needed - partial if partial and self._nagle_check(nonagle) else needed

    def _tso_should_defer(self, length: int, max_segs: int, last: bool, send_win: int, cong_win: int) -> bool:
        """Return whether the first skb waits for room for a whole burst: tcp_tso_should_defer().

        The skb does not wait if there is room for a burst, for the whole of a full skb, or for a third of the window.
        The skb also does not wait after 1 ms without a segment, or if the next ACK is more than 1 ms or half the RTT
        away.
        """
        now, mss_now = self.clock_cache, self.mss_cache
        if now - self.wstamp_ns > NSEC_PER_MSEC:
            return False
        limit = send_win if send_win < cong_win else cong_win
        if limit >= max_segs * mss_now or (not last and limit >= length):
            return False
        if limit >= min(self.snd_wnd, self.cubic.cwnd * mss_now) // TCP_TSO_WIN_DIVISOR or not self.rtx_queue:
            return False
        srtt_in_ns = (NSEC_PER_USEC >> 3) * self.srtt_us
        how_far_is_the_ack = self.rtx_queue[0].tstamp + srtt_in_ns - now
        if how_far_is_the_ack > NSEC_PER_MSEC or how_far_is_the_ack > srtt_in_ns >> 1:
            return False
        return limit <= length or not (last and self.fin)

    def _transmit_skb(self) -> None:
        """Send the first skb: __tcp_transmit_skb(), tcp_event_new_data_sent(), tcp_minshall_update()."""
        skb = self.write_queue.popleft()
        now, snd_nxt, end_seq = self.clock_cache, self.snd_nxt, skb.end_seq
        pcount = -(-(end_seq - snd_nxt) // self.mss_cache)  # tcp_skb_pcount()
        skb.tstamp = self.wstamp_ns = now
        skb.psh |= pcount > 1
        self.transmit(now, snd_nxt, skb)
        self._keep(skb)
        self.snd_nxt, self.packets_out = end_seq, self.packets_out + pcount
        if end_seq - snd_nxt < pcount * self.mss_cache:
            self.snd_sml = end_seq
        self._check_space()

    def _keep(self, skb: Skb) -> None:
        """Keep a sent skb until it is acknowledged: tcp_rbtree_insert()."""
        self.rtx_queue.append(skb)

    def _check_space(self) -> None:
        """Widen the buffer unless cwnd is full, and wake the writer if a third of it is free: tcp_new_space()."""
        if not self.nospace:
            return
        if self.sndbuf < self.wmem_max and self.packets_in_flight() < self.cubic.cwnd:
            self._expand_sndbuf()
        self.nospace = not self.is_writeable()

    def _expand_sndbuf(self) -> None:
        """Grow the buffer to two congestion windows, at most to tcp_wmem[2]: tcp_sndbuf_expand()."""
        sndmem = 2 * self.cubic.cwnd * self.sndmem_per_mss
        if self.sndbuf < sndmem and self.sndbuf < self.wmem_max:
            self.sndbuf = min(sndmem, self.wmem_max)
