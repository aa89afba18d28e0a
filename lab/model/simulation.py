"""Play sender, wires and receiver together: a bulk transfer, event by event, on a path without loss.

Only waiting takes time (docs/virtual-time.md): all that a process does between two waits happens at the instant when
it is woken. Positions are bytes of payload since the start, times are whole nanoseconds since a tick of the kernel's.
"""

from __future__ import annotations

from collections import deque

from lab.model.delayed_ack import NEVER
from lab.model.handshake import handshake
from lab.model.line import ModelError, frame
from lab.model.mss import mss
from lab.model.packet import Ack, Segment
from lab.model.receiver import Receiver
from lab.model.scenario import Scenario
from lab.model.sender import Sender, Skb
from lab.model.wire import Wire
from lab.model.writer import Sleeps, writes

NSEC_PER_USEC, NSEC_PER_MSEC = 1000, 10**6
TIMER_SLACK_NS = 50_000  # by which a process that sleeps may wake late, unless an interrupt comes before
CHECKS_EXPIRED_SINCE = (7, 2)  # whether a time to sleep is over already: hrtimer_start_range_ns_user()
PAGE_SIZE, SKB_FRAG_PAGE_SIZE = 4096, 32768  # bytes of a file's page, which sendfile() sends; of what write() copies to


class Simulation:
    """Plays a transfer of the writer's size, or one whose writer stops after its duration.

    The first write is at `start`, in ns since a tick of the kernel's; without one, the connection begins on a tick.
    """

    def __init__(self, scenario: Scenario, start: int | None = None) -> None:
        if scenario.rate is None:
            raise ModelError("without a rate, frames come as fast as the machine makes them")
        writer = scenario.writer
        self.page, self.mss = PAGE_SIZE if writer.sendfile else SKB_FRAG_PAGE_SIZE, mss(scenario)
        overhead = frame(scenario).bytes - self.mss
        self.forward, self.reverse = Wire(scenario.forward, overhead), Wire(scenario.reverse, overhead)
        self.sender = Sender(scenario, self._transmit)
        self.receiver = Receiver(scenario, self._acknowledge)
        self.now = 0  # the last event's time
        self.checks_expired = scenario.kernel.version >= CHECKS_EXPIRED_SINCE
        before = handshake(scenario)
        self.start = before.sender if start is None else start
        self.end = self.start + (NEVER if writer.size is not None or writer.duration is None else writer.duration.ns)
        established = self.start - before.sender + before.receiver
        if writer.control:  # the connection was made a round trip earlier, and has carried a cookie
            established -= before.sender
            self.receiver.receive_cookie(self.start)
        self.receiver.tuning.time = established // NSEC_PER_USEC
        self.sender.ts_recent = (self.start - before.sender + before.heard) // NSEC_PER_MSEC
        self.writer: Sleeps = writes(writer, self.sender, self.end)
        self.ready = self.start  # when the writer goes on
        self.soon = NEVER  # from when on an interrupt may wake it earlier
        self.segments: deque[tuple[int, Segment]] = deque()  # on their way, and when each arrives
        self.acks: deque[tuple[int, Ack]] = deque()
        if scenario.client == "sender":  # the SYN-ACK, or what starts the test, is acknowledged just ahead
            self.forward.carry(self.start, 0)
        self.last = self.first = 0  # when the last of what was sent arrives; the bytes at `started`
        self.started: int | None = None  # when the reader first woke
        # when the sender saw ACKs, snd_una then, and the largest window so far
        self.acked: tuple[list[int], list[int], list[int]] = ([], [], [])

    def run(self, end: int = NEVER) -> None:
        """Play what happens until `end`, or all. At one instant, packets and timers come before processes."""
        while True:
            due = min(self._timers())
            if self.soon < NEVER:
                due = min(due, self._tick())
            now = min(due, self.ready)
            if now > end or now == NEVER:
                return
            self.now = now
            wakes = self.soon <= now and not self._waits(now)
            if due > now:
                self._write(now)
            else:
                self._interrupt(now)
                self.ready = min(self.ready, now) if wakes else self.ready

    def _timers(self) -> tuple[int, int, int]:
        """Return when the delayed ACK's timer fires, and when the next ACK and the next segment come."""
        ack, segment = self.acks[0][0] if self.acks else NEVER, self.segments[0][0] if self.segments else NEVER
        return self.receiver.icsk_ack.due, ack, segment

    def _tick(self) -> int:
        """Return when the kernel's next tick is; each is an interrupt, too."""
        timers = self.receiver.icsk_ack.timers
        return timers.time_of(timers.jiffies(self.now) + 1)

    def _waits(self, now: int) -> bool:
        """Decide whether a writer that may wake sleeps on.

        An interrupt looks no further than to the first timer that must not expire yet (__hrtimer_run_queues()).
        """
        return any(now < due < self.ready for due in (*self._timers(), self._tick()))

    def _interrupt(self, now: int) -> None:
        delack, ack, segment = self._timers()
        if delack == now:
            self.receiver.delack_timer(now)
        elif ack == now:
            self._ack(now, self.acks.popleft()[1])
        elif segment == now:
            self._arrive(now, self.segments.popleft()[1])

    def stop(self) -> None:
        """Stop the writer: it writes no more."""
        self.writer, self.ready, self.soon = iter(()), NEVER, NEVER

    def _ack(self, now: int, ack: Ack) -> None:
        if ack.len:  # which is acknowledged in turn
            self.forward.carry(now, 0)
        before = self.sender.snd_una
        if self.sender.ack(now, ack) and self.ready == NEVER:
            self.ready = now
        if self.sender.snd_una > before:
            self.receiver.snd_una = self.sender.snd_una
            self.acked[0].append(now)
            self.acked[1].append(self.sender.snd_una)
            self.acked[2].append(self.sender.max_window)

    def _arrive(self, now: int, segment: Segment) -> None:
        """Take in a segment; the reader takes what there is, if that wakes it."""
        self.receiver.receive(now, segment)
        if self.receiver.awake:
            if self.started is None:
                self.started, self.first = now, self.receiver.rcv_nxt
            self.receiver.read(now)

    def _write(self, now: int) -> None:
        """Let the writer go on until it sleeps."""
        self.sender.clock_cache, self.ready, self.soon = now, NEVER, NEVER
        try:
            until = next(self.writer)
        except StopIteration:
            self.sender.close()
        else:
            if until is not None:
                self.ready, self.soon = until + TIMER_SLACK_NS, until
                if until <= now and self.checks_expired and min(*self._timers(), self._tick()) > self.ready:
                    self.ready = now  # hrtimer_check_user_timer(): its timer would be the first, and has expired

    def _acknowledge(self, now: int, ack: Ack) -> None:
        self.acks.append((self.reverse.carry(now, ack.len), ack))

    def _transmit(self, now: int, seq: int, skb: Skb) -> None:
        """Put an skb onto the wire, cut into segments."""
        cloned = skb.end_seq - seq <= self.mss
        while seq < skb.end_seq:
            end_seq = min(seq + self.mss, skb.end_seq)
            self.last = self.forward.carry(now, end_seq - seq)
            frags = (end_seq - 1) // self.page - seq // self.page + 1
            segment = Segment(end_seq - seq, frags, skb.psh and end_seq == skb.end_seq, self.sender.ts_recent, cloned)
            self.segments.append((self.last, segment))
            seq = end_seq
