"""Simulate a receiver ahead of time: process many segments at once if no event in between can affect the receiver.

A receiver's reaction to a segment depends on the earlier segments, but not on the effects of its ACKs. Most segments
change little, so one loop processes many of them, with the same result as processing them one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from lab.model.delayed_ack import NEVER
from lab.model.packet import Ack
from lab.model.receive_half import NSEC_PER_USEC
from lab.model.receiver import MAX_SKB_FRAGS, NSEC_PER_MSEC, Received, Receiver
from lab.model.scenario import Scenario
from lab.model.window import TCP_RMEM_TO_WIN_SCALE


class Ahead(Receiver):
    """Simulates a receiver from the segments on their way."""

    def __init__(self, scenario: Scenario, transmit: Callable[[int, Ack], None]) -> None:
        super().__init__(scenario, transmit)
        self._even: tuple[int, ...] = ()  # the state for which `_is_even` last returned True

    @property
    def knows_clones(self) -> bool:
        """Return whether no ACK in flight can affect which skb the next segment may join: skb_cloned()."""
        return not self.receive_queue or self.receive_queue[-1].cloned_until <= self.snd_una

    def stretch(
        self, arrivals: Sequence[int], first: int, length: int, psh: bool, tsecr: int
    ) -> tuple[int, Sequence[int], Sequence[int]]:
        """Receive full segments, from the first on, as long as they change only positions.

        These segments are read at once, and every second one is acknowledged, with a constant window. The effect is
        identical to `receive` and `read`. `psh` applies to the last arrival. Return the number of segments received,
        the times of ACKs, and the acknowledged positions.
        """
        icsk_ack, tuning, rcv_nxt = self.icsk_ack, self.tuning, self.rcv_nxt
        unacked = rcv_nxt - self.rcv_wup
        if (
            icsk_ack.quick
            or self.receive_queue
            or icsk_ack.pushed > icsk_ack.pingpong
            or (unacked != length if icsk_ack.scheduled else unacked)
            or (icsk_ack.scheduled and icsk_ack.due <= arrivals[first])
            or not self._is_even(length)
        ):
            return 0, (), ()
        if self.timestamps:
            tuning.rcv_rtt_measure_ts(arrivals[first] // NSEC_PER_USEC, tsecr, full=True, queue_empty=True)
        count = min(len(arrivals) - first, (tuning.rtt_seq - rcv_nxt - 1) // length, (self.wanted - 1) // length)
        if tuning.rtt_us:  # until tcp_rcv_space_adjust() measures
            looks = (tuning.time + (tuning.rtt_us >> 3)) * NSEC_PER_USEC
            count = min(count, bisect_left(arrivals, looks, first) - first)
        if tuning.rtt_time is None or count <= 0:
            return 0, (), ()
        end, last = first + count, arrivals[first + count - 1]
        jiffies = icsk_ack.timers.jiffies(last)
        if jiffies - icsk_ack.lrcvtime > icsk_ack.timers.ato_min // 2:  # else the longest wait of an ACK would change
            return 0, (), ()
        every = 1 if length > icsk_ack.rcv_mss else 2
        skipped = 0 if unacked or every == 1 else 1
        times = arrivals[first + skipped : end : every]
        acked: Sequence[int] = range(rcv_nxt + (1 + skipped) * length, 1 << 62, every * length)[: len(times)]
        self.now, self.rcv_nxt, self.copied_seq = last, rcv_nxt + count * length, self.copied_seq + count * length
        self.wanted -= count * length
        icsk_ack.lrcvtime, icsk_ack.last_seg_size = jiffies, 0
        pushed = psh and end == len(arrivals)
        if every == 1 or (count - skipped) % 2:  # the last segment is acknowledged
            icsk_ack.event_ack_sent()
        elif pushed and not icsk_ack.pingpong:  # it is acknowledged after the read
            times, acked = (*times, last), (*acked, self.rcv_nxt)
            icsk_ack.event_ack_sent()
        else:
            if acked:
                icsk_ack.event_ack_sent()
            icsk_ack.scheduled, icsk_ack.pushed = True, max(icsk_ack.pushed, int(pushed))
            icsk_ack.delay(last)
        self.rcv_wup = acked[-1] if acked else self.rcv_wup
        return count, times, acked

    def _is_even(self, length: int) -> bool:
        """Return whether a full segment that is read at once changes neither the windows nor the pace of ACKs."""
        icsk_ack, rcv_mss = self.icsk_ack, self.icsk_ack.rcv_mss
        windows = self.rcv_wnd, self.rcvbuf, self.window_clamp, self.rcv_ssthresh, self.scaling_ratio
        state = (length, rcv_mss, icsk_ack.ato, *windows)
        if state == self._even:
            return True
        ato_min = icsk_ack.timers.ato_min
        if rcv_mss != min(length, icsk_ack.advmss) or icsk_ack.ato != icsk_ack.ato // 2 + ato_min // 2:
            return False
        if length > rcv_mss and self.ratio(length) != self.scaling_ratio:
            return False
        before, offered = self.rmem_alloc, self._select_window()
        self.rmem_alloc += length + self.skb_overhead
        room, full = min(self.window_clamp, self._space()) - self.rcv_ssthresh, self._select_window()
        self.rmem_alloc = before
        left = self.rcv_wnd - 2 * length
        widens = 2 * left <= self.window_clamp and offered >= 2 * left
        if self.answer or before or room > 0 or widens or left <= 0 or not full <= offered == self.rcv_wnd:
            return False
        self._even = state
        return True

    def pile(
        self, arrivals: Sequence[int], first: int, length: int, page: int, count: int, tsecr: int
    ) -> tuple[int, list[int], list[Ack]]:
        """Receive full segments, from the first on, as long as they change only the unread data and the reader sleeps.

        The effect is identical to `receive` for `count` segments that are neither pushed nor cloned, in pages of `page`
        bytes. Return the number of segments received, the times of ACKs, and the ACKs.
        """
        icsk_ack, tuning, queue, rcvbuf = self.icsk_ack, self.tuning, self.receive_queue, self.rcvbuf
        ato_min, times, acks = icsk_ack.timers.ato_min, list[int](), list[Ack]()
        count = min(count, (tuning.rtt_seq - self.rcv_nxt - 1) // length)
        if (
            length != icsk_ack.rcv_mss
            or count <= 0
            or icsk_ack.quick
            or icsk_ack.pingpong
            or tuning.rtt_time is None
            or self.adv_win_scale is not None
            or not self.rcv_wscale
            or not icsk_ack.ato == icsk_ack.ato // 2 + ato_min // 2 <= ato_min
        ):
            return 0, times, acks
        if self.timestamps:
            empty = self.rcv_nxt == self.copied_seq
            tuning.rcv_rtt_measure_ts(arrivals[first] // NSEC_PER_USEC, tsecr, full=True, queue_empty=empty)
        last = arrivals[first + count - 1]
        jiffies, begun = icsk_ack.timers.jiffies(last), icsk_ack.timers.jiffies(arrivals[first])
        if jiffies - icsk_ack.lrcvtime > ato_min // 2 or (
            icsk_ack.due < NEVER
            and (icsk_ack.due <= last or not jiffies + (icsk_ack.ato >> 2) < icsk_ack.timeout <= begun + icsk_ack.ato)
        ):
            return 0, times, acks
        ratio, scale, ssthresh, overhead = self.scaling_ratio, self.rcv_wscale, self.rcv_ssthresh, self.skb_overhead
        half, grows = min(self.window_clamp, self.win_from_space(rcvbuf)) >> 1, self.window_clamp > ssthresh
        rcvlowat, copied_seq, pressure = self.reader.rcvlowat, self.copied_seq, rcvbuf - (rcvbuf >> 3)
        rcv_nxt, rcv_wup, rcv_wnd, rmem_alloc = self.rcv_nxt, self.rcv_wup, self.rcv_wnd, self.rmem_alloc
        tail, at, now, waits = queue[-1] if queue else None, first, self.now, icsk_ack.due < NEVER
        waits_since = -1
        while at < first + count:
            frags = (rcv_nxt + length - 1) // page - rcv_nxt // page + 1
            joins = tail is not None and tail.frags + frags <= MAX_SKB_FRAGS
            memory = rmem_alloc + length if joins else rmem_alloc + length + overhead
            space = (rcvbuf - memory) * ratio >> TCP_RMEM_TO_WIN_SCALE
            if space < half or (grows and space > ssthresh):
                break
            now, rmem_alloc, rcv_nxt, at = arrivals[at], memory, rcv_nxt + length, at + 1
            if tail is not None and joins:
                tail.end_seq = rcv_nxt
                tail.truesize += length
                tail.frags += frags
            else:
                tail = Received(rcv_nxt, length + overhead, frags, 0)
                queue.append(tail)
            acknowledges = False
            if rcv_nxt - rcv_wup > length:
                window = -(-(space if space < ssthresh else ssthresh) >> scale) << scale
                acknowledges = rcv_nxt - copied_seq < rcvlowat or window >= rcv_wnd
            if acknowledges:
                left = max(rcv_wup + rcv_wnd - rcv_nxt, 0)
                rcv_wnd, rcv_wup = -(-left >> scale) << scale if window < left else window, rcv_nxt
                times.append(now)
                acks.append(Ack(rcv_nxt, rcv_wnd, now // NSEC_PER_MSEC))
                waits = False
            elif not waits:
                waits, waits_since = True, now
            if (
                rcv_nxt - copied_seq >= rcvlowat
                or rmem_alloc > pressure
                or max(rcv_wup + rcv_wnd - rcv_nxt, 0) <= length
            ):
                self.awake = True
                break
        if at == first:
            return 0, times, acks
        self.now, self.rcv_nxt, self.rcv_wup, self.rcv_wnd, self.rmem_alloc = now, rcv_nxt, rcv_wup, rcv_wnd, rmem_alloc
        icsk_ack.lrcvtime, icsk_ack.last_seg_size = icsk_ack.timers.jiffies(now), 0
        if acks:
            icsk_ack.event_ack_sent()
        icsk_ack.scheduled = waits
        if waits and waits_since >= 0:
            icsk_ack.due = NEVER
            icsk_ack.delay(waits_since)
        return at - first, times, acks
