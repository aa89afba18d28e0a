"""Simulate a receiver ahead of time: process many segments at once if no event in between can affect the receiver.

A receiver's reaction to a segment depends on the earlier segments, but not on the effects of its ACKs. Most segments
change little, so one loop processes many of them, with the same result as processing them one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from lab.model.packet import Ack, Burst
from lab.model.receive_half import NSEC_PER_USEC
from lab.model.receiver import NSEC_PER_MSEC, Receiver
from lab.model.scenario import Scenario

_Taken = tuple[int, Sequence[int], Sequence[Ack]]  # the number of segments, and the times of ACKs with the ACKs
_NONE: _Taken = (0, (), ())


class Ahead(Receiver):
    """Simulates a receiver from the segments on their way."""

    def __init__(self, scenario: Scenario, transmit: Callable[[int, Ack], None]) -> None:
        super().__init__(scenario, transmit)
        self._even: tuple[int, ...] = ()  # the state for which `_is_even` last returned True

    @property
    def knows_clones(self) -> bool:
        """Return whether no ACK in flight can affect which skb the next segment may join: skb_cloned()."""
        return not self.receive_queue or self.receive_queue[-1].cloned_until <= self.snd_una

    def fill(self, burst: Burst) -> _Taken:
        """Receive full segments of the burst, from the next on, as long as they fill the buffer and change no window.

        The reader sleeps on, because it waits for more data. The effect is identical to `receive`.
        """
        arrivals, first, length, icsk_ack = burst.arrivals, burst.at, burst.length, self.icsk_ack
        missing = self.reader.rcvlowat - (self.rcv_nxt - self.copied_seq)
        if missing <= length:  # the next segment wakes the reader
            return _NONE
        room = self.rcvbuf - (self.rcvbuf >> 3) - self.rmem_alloc  # until tcp_rmem_pressure()
        head = 0 if self.receive_queue else self.skb_overhead
        count = min((missing - 1) // length, room // (length + self.skb_overhead))
        if count <= 0 or self.room_to_grow(self.rmem_alloc + length + head) > 0 or not self._is_steady(burst):
            return _NONE
        end, cloned, rcv_mss, taken = self._end(burst, first + count), burst.cloned, icsk_ack.rcv_mss, first
        times, acks = list[int](), list[Ack]()
        while taken < end and self.rcv_wup + self.rcv_wnd - self.rcv_nxt - length > rcv_mss:
            self._queue_rcv(length, burst.frags(taken), cloned)
            if self.rcv_nxt - self.rcv_wup > rcv_mss:
                times.append(arrivals[taken])
                acks.append(self.acknowledge(arrivals[taken], 0))
            taken += 1
            if cloned and not self.knows_clones:
                break
        if taken > first:
            self._received(burst, taken)
        return taken - first, times, acks

    def stretch(self, burst: Burst) -> _Taken:
        """Receive full segments of the burst, from the next on, as long as they change only positions.

        These segments are read at once, and every second one is acknowledged, with a constant window. The effect is
        identical to `receive` and `read`.
        """
        icsk_ack, tuning, rcv_nxt = self.icsk_ack, self.tuning, self.rcv_nxt
        arrivals, first, length = burst.arrivals, burst.at, burst.length
        if self.receive_queue or icsk_ack.pushed > icsk_ack.pingpong or not self._is_steady(burst):
            return _NONE
        if not self._is_even(length):
            return _NONE
        end = self._end(burst, first + (self.wanted - 1) // length)
        if tuning.rtt_us:  # until tcp_rcv_space_adjust() measures
            looks = (tuning.time + (tuning.rtt_us >> 3)) * NSEC_PER_USEC
            end = min(end, bisect_left(arrivals, looks, first))
        if end <= first:
            return _NONE
        unacked, count, last = self.unacked(), end - first, arrivals[end - 1]
        every = 1 if length > icsk_ack.rcv_mss else 2
        skipped = 0 if unacked or every == 1 else 1
        times: Sequence[int] = arrivals[first + skipped : end : every]
        acked: Sequence[int] = range(rcv_nxt + (1 + skipped) * length, 1 << 62, every * length)[: len(times)]
        self.rcv_nxt, self.copied_seq = rcv_nxt + count * length, self.copied_seq + count * length
        self.wanted -= count * length
        if acked:
            self.rcv_wup = acked[-1]
            icsk_ack.event_ack_sent()
        if self._received(burst, end) and icsk_ack.pushed and not icsk_ack.pingpong:  # acknowledged after the read
            times, acked, self.rcv_wup = (*times, last), (*acked, self.rcv_nxt), self.rcv_nxt
            icsk_ack.event_ack_sent()
        acks = [Ack(seq, self.rcv_wnd, now // NSEC_PER_MSEC) for now, seq in zip(times, acked, strict=True)]
        return count, times, acks

    def _is_steady(self, burst: Burst) -> bool:
        """Return whether a full segment changes neither the pace of ACKs nor the estimate of a full segment."""
        icsk_ack, length = self.icsk_ack, burst.length
        unacked, ato_min = self.rcv_nxt - self.rcv_wup, icsk_ack.timers.ato_min
        return not (
            icsk_ack.quick
            or (unacked != length if icsk_ack.scheduled else unacked)
            or (icsk_ack.scheduled and icsk_ack.due <= burst.next)
            or icsk_ack.rcv_mss != min(length, icsk_ack.advmss)
            or icsk_ack.ato != icsk_ack.ato // 2 + ato_min // 2
            or (length > icsk_ack.rcv_mss and self.ratio(length) != self.scaling_ratio)
        )

    def _end(self, burst: Burst, limit: int) -> int:
        """Take the RTT sample of the next segment, and return the number of the first segment that a run must exclude.

        A run ends before the segment that completes a window (tcp_rcv_rtt_measure()), and before a pause after which
        the longest wait of an ACK would change (tcp_event_data_recv()).
        """
        icsk_ack, tuning, arrivals, first = self.icsk_ack, self.tuning, burst.arrivals, burst.at
        if self.timestamps:
            is_empty = self.rcv_nxt == self.copied_seq
            tuning.rcv_rtt_measure_ts(burst.next // NSEC_PER_USEC, burst.tsecr, full=True, queue_empty=is_empty)
        if tuning.rtt_time is None:
            return first
        end = min(len(arrivals), limit, first + (tuning.rtt_seq - self.rcv_nxt - 1) // burst.length)
        pause = icsk_ack.timers.time_of(icsk_ack.lrcvtime + icsk_ack.timers.ato_min // 2 + 1)
        return bisect_left(arrivals, pause, first, end) if end > first and arrivals[end - 1] >= pause else end

    def _received(self, burst: Burst, end: int) -> bool:
        """Update the state after the burst's segments before `end`. Return whether the last one is not acknowledged."""
        icsk_ack, last = self.icsk_ack, burst.arrivals[end - 1]
        self.now, icsk_ack.lrcvtime, icsk_ack.last_seg_size = last, icsk_ack.timers.jiffies(last), 0
        if self.rcv_nxt == self.rcv_wup:
            return False
        icsk_ack.scheduled, icsk_ack.pushed = True, max(icsk_ack.pushed, int(burst.psh and end == len(burst.arrivals)))
        icsk_ack.delay(last)
        return True

    def _is_even(self, length: int) -> bool:
        """Return whether a full segment that is read at once changes no window."""
        windows = self.rcv_wnd, self.rcvbuf, self.window_clamp, self.rcv_ssthresh, self.scaling_ratio
        state = (length, self.icsk_ack.rcv_mss, *windows)
        if state == self._even:
            return True
        before, offered = self.rmem_alloc, self._select_window()
        self.rmem_alloc += length + self.skb_overhead
        room, full = self.room_to_grow(self.rmem_alloc), self._select_window()
        self.rmem_alloc = before
        left = self.rcv_wnd - 2 * length
        widens = 2 * left <= self.window_clamp and offered >= 2 * left
        if self.answer or before or room > 0 or widens or left <= 0 or not full <= offered == self.rcv_wnd:
            return False
        self._even = state
        return True
