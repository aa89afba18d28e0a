"""Sender, wire and receiver together: a bulk transfer, event by event, on a path without loss.

Both ends are on one CPU on which computing takes no time (docs/virtual-time.md), but which runs one process at a time.
What does take time, reading a clock and a call that fails, keeps interrupts waiting: a process goes step by step.
Positions are bytes of payload since the start, times whole nanoseconds since the first write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lab.model.clock import fires, shown
from lab.model.line import ETHERNET, ModelError, frame, one_way, packet
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.reader import reads
from lab.model.receiver import Ack, Receiver, Segment, Terms
from lab.model.sender import Limits, Sender, Skb
from lab.model.writer import Sleep, Steps, writes
from lab.units import Size

__all__ = ["NEVER", "Play"]

NEVER = 1 << 62
_SLACK = 50_000  # by which a process that sleeps may wake late, unless an interrupt comes before: its timer slack
_PAGE, _FRAGMENT = 4096, 32768  # bytes: of a file's page, which sendfile() sends; of what write() copies to


class Play:
    """A transfer of the path's size, or one whose writer stops at `end`.

    `idle` is when the wire has sent all that it was given, `last` when the last of it arrives; `peak` is the most
    frames that it held. The reader first woke at `started` and found `first` bytes. `acked` are the times when the
    sender saw an ACK, and what was acknowledged then.
    """

    def __init__(self, path: Path, end: int) -> None:
        if path.rate is None:
            raise ModelError("without a rate, frames come as fast as the machine makes them")
        self.rate, self.page = path.rate.bps, _PAGE if path.sendfile else _FRAGMENT
        self.mss, self.overhead = mss(path), frame(path).bytes - mss(path)
        # Beyond the bottleneck's own time: the other hops, and all delays.
        self.there = int(1e9 * one_way(path.forward, packet(path))) - frame(path).bytes * 8 * 10**9 // self.rate
        self.back = int(1e9 * one_way(path.back, Size(packet(path).bytes - self.mss)))
        self.sender, self.receiver = Sender(Limits.of(path), self._leave), Receiver(Terms.of(path))
        self.writer: Steps = writes(path, self.sender, end, NEVER if path.size is None else path.size.bytes)
        self.reader = reads(path.habits and path.habits.reader, self.receiver, self._return)
        next(self.reader)
        self.ready, self.soon = 0, NEVER  # when the writer goes on; after when it does so with the next interrupt
        self.reading = NEVER  # when the reader goes on: then it has the CPU, and the writer waits for its turn
        self.busy = False  # whether the writer has it, and the reader waits
        self.until = 0  # when the step is over that the process is in: what interrupts it, does so then
        self.wire: deque[tuple[int, Segment]] = deque()  # when each is due
        self.arrival = NEVER  # when the timer for the first of them fires
        self.acks: deque[tuple[int, Ack]] = deque()
        ack = packet(path).bytes - self.mss + ETHERNET  # that of the message which starts the transfer
        self.idle = ack * 8 * 10**9 // self.rate if path.habits else 0
        self.last = self.peak = self.first = 0
        self.started: int | None = None
        self.acked: tuple[list[int], list[int]] = ([], [])

    def run(self, end: int) -> None:
        """Plays what happens until then. A packet comes or a timer expires before a process goes on."""
        while True:
            due, ready = self._interrupt(), self.ready if self.reading == NEVER else self.reading
            if due > end < ready or due == NEVER == ready:
                return
            if due <= ready:
                self._handle(due, max(due, self.until))
            elif self.reading == NEVER:
                self._resume(max(ready, self.until))
            else:
                self._read(ready)

    def stop(self) -> None:
        """The writer writes no more."""
        self.writer, self.ready, self.soon = iter(()), NEVER, NEVER

    def _interrupt(self) -> int:
        """When a packet comes or a timer expires next."""
        due = self.arrival
        if self.acks and self.acks[0][0] < due:
            due = self.acks[0][0]
        if self.receiver.due < due:
            due = self.receiver.due
        return due

    def _handle(self, due: int, now: int) -> None:
        """An interrupt, which comes when the process's step is over."""
        if self.acks and self.acks[0][0] <= due:
            self._take(now, self.acks.popleft()[1])
        elif self.arrival <= due:
            self._return(now, self.receiver.receive(now, self.wire.popleft()[1]))
            self._wake(now)
        else:
            self._return(now, self.receiver.expire(now))
        self._set(now)
        if self.soon < now:
            self.ready = min(self.ready, now)

    def _set(self, now: int) -> None:
        """After an interrupt the timer is set again, as far ahead as the clock says, from wherever in a grain it is."""
        self.arrival = fires(self.wire[0][0] + now - shown(now)) if self.wire else NEVER

    def _take(self, now: int, ack: Ack) -> None:
        """What comes while the writer has the socket waits until that lets it in, which is the end of its step."""
        before = self.sender.una
        if self.sender.acknowledged(now, ack) and self.ready == NEVER:
            self.ready = now
        if self.sender.una > before:
            self.acked[0].append(now)
            self.acked[1].append(self.sender.una)

    def _resume(self, now: int) -> None:
        """The writer goes on; when it sleeps, the reader has its turn."""
        sender = self.sender
        sender.now = max(sender.now, now)
        self.ready = self.soon = NEVER
        try:
            step = next(self.writer)
        except StopIteration:
            sender.close()
        else:
            if isinstance(step, Sleep):
                self.ready, self.soon = step.until + _SLACK, step.until
            elif step is not None:
                self.ready = step
        self.until = sender.now
        self.busy = self.ready <= sender.now
        self._wake(sender.now)

    def _wake(self, now: int) -> None:
        """The reader has the CPU, if it has something to do and the writer nothing."""
        if self.receiver.awake and not self.busy and self.reading == NEVER:
            self.reading = now
            if self.started is None:
                self.started, self.first = now, self.receiver.nxt

    def _read(self, now: int) -> None:
        """The reader goes on until something interrupts it; when it sleeps, the writer has its turn."""
        step = self.reader.send(now)
        while step is not None and step < self._interrupt():
            step = self.reader.send(now := step)
        if step is None:
            self.reading, self.until = NEVER, now
            self.busy = self.ready <= now
        else:
            self.reading = self.until = step

    def _return(self, now: int, acks: Iterable[Ack]) -> None:
        for ack in acks:
            self.acks.append((fires(now + self.back), ack))

    def _leave(self, now: int, start: int, skb: Skb) -> None:
        """An skb onto the wire, cut into segments."""
        while start < skb.end:
            end = min(start + self.mss, skb.end)
            self.idle = max(self.idle, now) + (end - start + self.overhead) * 8 * 10**9 // self.rate
            due = self.idle + self.there
            self.last = fires(due)
            pieces = (end - 1) // self.page - start // self.page + 1
            self.wire.append((due, Segment(end - start, pieces, skb.push and end == skb.end, self.sender.echo)))
            start = end
        if self.arrival == NEVER:
            self._set(now)
        self.peak = max(self.peak, len(self.wire))
