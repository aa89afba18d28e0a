"""Simulate a bulk transfer event by event on a path without loss, with its sender, wires and receiver.

Only waiting takes time (docs/virtual-time.md): a process does all its work between two waits at the instant at which it
wakes. Positions are payload bytes since the start. Times are whole nanoseconds since a kernel tick.
"""

from __future__ import annotations

from array import array
from collections import deque
from copy import deepcopy

from msgspec import structs

from lab.model.ahead import Ahead
from lab.model.delayed_ack import NEVER
from lab.model.handshake import handshake
from lab.model.line import frame
from lab.model.mss import mss
from lab.model.packet import Ack, Burst, Segment
from lab.model.scenario import ModelError, Scenario
from lab.model.sender import Sender, Skb
from lab.model.wire import Wire
from lab.model.writer import Sleeps, writes

NSEC_PER_USEC, NSEC_PER_MSEC = 1000, 10**6
TIMER_SLACK_NS = 50_000  # a sleeping process may wake this much late, unless an interrupt comes earlier
CHECKS_EXPIRED_SINCE = (7, 2)  # checks whether a sleep's end has already passed: hrtimer_start_range_ns_user()
PAGE_SIZE, SKB_FRAG_PAGE_SIZE = 4096, 32768  # bytes: a page, as sendfile() sends; a fragment, as write() fills


class Simulation:
    """Simulates a transfer of the writer's size, or one whose writer stops after its duration.

    The first write is at `start`, in ns since a kernel tick. Default: the connection begins on a tick.
    """

    def __init__(self, scenario: Scenario, start: int | None = None) -> None:
        if scenario.rate is None:
            raise ModelError("without a rate, frames come as fast as the machine makes them")
        writer = scenario.writer
        self.page, self.mss = PAGE_SIZE if writer.sendfile else SKB_FRAG_PAGE_SIZE, mss(scenario)
        overhead = frame(scenario).bytes - self.mss
        self.forward, self.reverse = Wire(scenario.forward, overhead), Wire(scenario.reverse, overhead)
        self.sender = Sender(scenario, self._transmit)
        self.receiver = Ahead(scenario, self._acknowledge)
        self.now = 0  # the last event's time
        self.checks_expired = scenario.kernel.version >= CHECKS_EXPIRED_SINCE
        before = handshake(scenario)
        self.start = before.sender if start is None else start
        self.end = self.start + (NEVER if writer.size is not None or writer.duration is None else writer.duration.ns)
        established = self.start - before.sender + before.receiver
        if writer.control:  # the connection was established a round trip earlier, and has carried a cookie
            established -= before.sender
            self.receiver.receive_cookie(self.start)
        self.receiver.tuning.time = established // NSEC_PER_USEC
        self.sender.ts_recent = (self.start - before.sender + before.heard) // NSEC_PER_MSEC
        self.program = writer
        self.writer: Sleeps = writes(writer, self.sender, self.end)
        self.keeps = False  # whether to keep a copy in `written`
        self.written: Simulation | None = None  # when all data was written, before the end
        self.ready = self.start  # when the writer continues
        self.soon = NEVER  # from this time on, an interrupt may wake it earlier
        self.bursts: deque[Burst] = deque()  # segments on their way that the receiver has not yet processed
        self.acks: deque[tuple[int, int, Ack]] = deque()  # arrival, what sent it (see `self.order`), and the ACK
        if scenario.client == "sender":  # the ACK of the SYN-ACK, or of the test's start, goes first
            self.forward.carry(self.start, 0)
        self.last = self.first = 0  # when the last sent byte arrives; the bytes received at `started`
        self.started: int | None = None  # when the reader first woke
        # when the sender received ACKs, snd_una at that time, and the largest window so far
        self.acked: tuple[array[int], array[int], array[int]] = (array("q"), array("q"), array("q"))
        # The receiver is simulated ahead of time. Events of others only matter to a writer that sleeps for a time,
        # because they can wake it. For such a writer, the arrivals of segments and the expiries of the delayed ACK's
        # timer are kept.
        self.sleeps = writer.sendfile and writer.size is None
        self.coming: deque[int] = deque()
        self.expiries: deque[int] = deque()
        self.spared: deque[tuple[int, int]] = deque()  # when a segment arrived, and when the timer was due
        self.order = 0  # of events simulated ahead: twice the time, plus one for a segment, which comes after a timer
        self.seen = 0  # the order up to which the sleeping writer has seen events

    def run(self, end: int = NEVER) -> None:
        """Simulate all events until `end`. At one instant, packets and timers come before processes."""
        acks, bursts, icsk_ack = self.acks, self.bursts, self.receiver.icsk_ack
        while True:
            due = icsk_ack.due
            if acks and self.soon == NEVER:  # the ACK is the next event
                now = acks[0][0]
                is_first = now < due and now <= self.ready and now <= end
                if is_first and (not bursts or bursts[0].arrivals[bursts[0].at] >= now):
                    self.now = now
                    self._ack(now, acks.popleft()[2])
                    continue
            if acks and acks[0][0] < due:
                due = acks[0][0]
            if bursts and bursts[0].arrivals[bursts[0].at] < due:
                due = bursts[0].next
            if self.soon < NEVER:
                due = min(*self._timers(), self._tick())
            now = due if due < self.ready else self.ready
            if now > end or now == NEVER:
                return
            self.now = now
            if due > now:
                self._write(now)
            elif self.soon <= now and not self._waits(now):
                self._interrupt(now)
                self.ready = min(self.ready, now)
            else:
                self._interrupt(now)

    def _timers(self) -> tuple[int, int, int]:
        """Return when the delayed ACK's timer fires, and when the next ACK and the next segment arrive."""
        ack = self.acks[0][0] if self.acks and self.acks[0][1] <= self.seen else NEVER
        segment = self.coming[0] if self.coming else self.bursts[0].next if self.bursts else NEVER
        delack = self.receiver.icsk_ack.due
        if self.expiries or self.spared:
            delack = min([delack, *[due for _, due in self.spared], *self.expiries])
        return delack, ack, segment

    def _forget(self, now: int) -> None:
        """Forget the events up to now."""
        self.seen = 2 * now + 1
        while self.coming and self.coming[0] <= now:
            self.coming.popleft()
        while self.expiries and self.expiries[0] <= now:
            self.expiries.popleft()
        while self.spared and self.spared[0][0] <= now:
            self.spared.popleft()

    def _tick(self) -> int:
        """Return the time of the next kernel tick. A tick is also an interrupt."""
        timers = self.receiver.icsk_ack.timers
        return timers.time_of(timers.jiffies(self.now) + 1)

    def _waits(self, now: int) -> bool:
        """Return whether a writer that may wake continues to sleep.

        An interrupt checks timers only up to the first timer that must not expire yet (__hrtimer_run_queues()).
        """
        return any(now < due < self.ready for due in (*self._timers(), self._tick()))

    def _interrupt(self, now: int) -> None:
        asleep = self.soon < NEVER
        if asleep and self.expiries and self.expiries[0] == now:
            self.seen = 2 * self.expiries.popleft()
        elif self.receiver.icsk_ack.due == now:
            self.receiver.delack_timer(now)
        elif self.acks and self.acks[0][0] == now and (not asleep or self.acks[0][1] <= self.seen):
            self._ack(now, self.acks.popleft()[2])
        elif asleep and self.coming and self.coming[0] == now:
            self._forget(now)
        elif self.bursts and self.bursts[0].next == now:
            if not self.receiver.knows_clones:
                burst = self.bursts[0]
                self._arrive(now, burst.segment())
                burst.at += 1
                if burst.at == len(burst.arrivals):
                    self.bursts.popleft()
            self._play_ahead()

    def write_on(self, size: int) -> None:
        """Let the writer write this many bytes more, at the instant in which it has written its data."""
        self.writer = writes(structs.replace(self.program, size=size, header_bytes=0), self.sender, self.end)
        self._write(self.now)

    def stop(self) -> None:
        """Stop the writer."""
        self.writer, self.ready, self.soon = iter(()), NEVER, NEVER

    def _ack(self, now: int, ack: Ack) -> None:
        if ack.len:  # data, which the sender acknowledges
            self.forward.carry(now, 0)
        sender = self.sender
        before = sender.snd_una
        if sender.ack(now, ack) and self.ready == NEVER:
            self.ready = now
        snd_una = sender.snd_una
        if snd_una > before:
            self.receiver.snd_una = snd_una
            times, acked, windows = self.acked
            times.append(now)
            acked.append(snd_una)
            windows.append(sender.max_window)

    def _arrive(self, now: int, segment: Segment) -> None:
        """Process a segment. If it wakes the reader, the reader takes all available data."""
        self.receiver.receive(now, segment)
        self._read(now)

    def _read(self, now: int) -> None:
        """Let the reader read, if it is awake."""
        if self.receiver.awake:
            if self.started is None:
                self.started, self.first = now, self.receiver.rcv_nxt
            self.receiver.read(now)

    def _write(self, now: int) -> None:
        """Let the writer continue until it sleeps."""
        self.sender.clock_cache, self.ready, self.soon = now, NEVER, NEVER
        try:
            until = next(self.writer)
        except StopIteration:
            self.writer = iter(())
            if self.keeps:
                self.keeps, self.written = False, deepcopy(self)
            self.sender.close()
        else:
            if until is not None:
                self.ready, self.soon = until + TIMER_SLACK_NS, until
                self._forget(now)
                if until <= now and self.checks_expired and min(*self._timers(), self._tick()) > self.ready:
                    self.ready = now  # hrtimer_check_user_timer(): its timer is the first, and has expired

    def _acknowledge(self, now: int, ack: Ack) -> None:
        self.acks.append((self.reverse.carry(now, ack.len), self.order, ack))

    def _transmit(self, now: int, seq: int, skb: Skb) -> None:
        """Put an skb onto the wire, cut into segments.

        The segments' effect on the receiver is invisible to the sender until ACKs arrive. So when the first segment
        arrives, the receiver is simulated ahead with all segments on their way, if possible.
        """
        full, rest = divmod(skb.end_seq - seq, self.mss)
        cloned = full + (rest > 0) == 1
        if full:
            one = full == 1
            arrivals = [self.forward.carry(now, self.mss)] if one else self.forward.carry_each([now] * full, self.mss)
            self._segments(arrivals, seq, self.mss, skb.psh and not rest, cloned)
            self.last = arrivals[-1]
        if rest:
            self.last = self.forward.carry(now, rest)
            self._segments([self.last], skb.end_seq - rest, rest, skb.psh, cloned)

    def _segments(self, arrivals: list[int], seq: int, length: int, psh: bool, cloned: bool) -> None:
        """Schedule segments of one length for the receiver, from position `seq` on, at their arrival times.

        `psh` applies to the last segment.
        """
        bursts, tsecr = self.bursts, self.sender.ts_recent
        if bursts and bursts[-1].continues(seq, length, tsecr, cloned):
            bursts[-1].arrivals += arrivals
            bursts[-1].psh = psh
        else:
            bursts.append(Burst(arrivals, seq, length, psh, tsecr, cloned, self.page))

    def _play_ahead(self) -> None:
        """Simulate the receiver as far as its input is already known."""
        bursts, receiver = self.bursts, self.receiver
        while bursts and receiver.knows_clones:
            burst = bursts[0]
            arrivals, at = burst.arrivals, burst.at
            taken = self._stretch(burst)
            if taken:
                now = arrivals[at + taken - 1]
                self.order = 2 * now + 1
                self._read(now)
            else:
                now, taken = arrivals[at], 1
                self._expire(now)
                self.order = 2 * now + 1
                self._arrive(now, burst.segment())
            if self.sleeps:
                self.coming.extend(arrivals[at : at + taken])
            burst.at += taken
            if burst.at == len(arrivals):
                bursts.popleft()
        self.order = 0

    def _stretch(self, burst: Burst) -> int:
        """Let the receiver process several segments at once.

        Return their number, or 0 if each segment needs its own step.
        """
        receiver = self.receiver
        if receiver.reader.rcvlowat > burst.length:
            taken, times, acks = receiver.fill(burst)
        elif self.started is None:
            return 0
        else:
            taken, times, acks = receiver.stretch(burst)
        if acks:
            self.acks.extend(zip(self.reverse.carry_each(times, 0), [2 * now + 1 for now in times], acks, strict=True))
        return taken

    def _expire(self, now: int) -> None:
        """Let the delayed ACK's timer fire, if it is due, before a segment that arrives at the same time."""
        icsk_ack = self.receiver.icsk_ack
        while icsk_ack.due <= now:
            if self.sleeps:
                self.expiries.append(icsk_ack.due)
            self.order = 2 * icsk_ack.due
            self.receiver.delack_timer(icsk_ack.due)
        if self.sleeps and icsk_ack.due <= now + TIMER_SLACK_NS:
            self.spared.append((now, icsk_ack.due))
