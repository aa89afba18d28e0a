"""Simulate a receiver ahead of time: process many segments at once if no event in between can affect the receiver.

A receiver's reaction to a segment depends on the earlier segments, but not on the effects of its ACKs. Most segments
change little, so one loop processes many of them, with the same result as processing them one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from lab.model.packet import Ack
from lab.model.receive_half import NSEC_PER_USEC
from lab.model.receiver import Receiver
from lab.model.scenario import Scenario


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
