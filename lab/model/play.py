"""Sender, wire and receiver together: a bulk transfer, event by event, on a path without loss.

Both ends are on one CPU on which computing takes no time (docs/virtual-time.md), but which runs one process at a time.
Positions are bytes of payload since the start, times whole nanoseconds since the first write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lab.model.line import ModelError, frame, one_way, packet
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.receiver import Ack, Receiver, Segment, Terms
from lab.model.sender import GRAIN, Limits, Sender, Skb
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
        self.ready, self.soon = 0, NEVER  # when the writer goes on; after when it does so with the next interrupt
        self.busy = False  # whether it runs, and the reader waits for its turn
        self.wire: deque[tuple[int, Segment]] = deque()  # when each arrives
        self.acks: deque[tuple[int, Ack]] = deque()
        self.idle = self.last = self.peak = self.first = 0
        self.started: int | None = None
        self.acked: tuple[list[int], list[int]] = ([], [])

    def run(self, end: int) -> None:
        """Plays what happens until then."""
        while (now := self._next()) <= end and now < NEVER:
            self._pass(now)

    def stop(self) -> None:
        """The writer writes no more."""
        self.writer, self.ready, self.soon = iter(()), NEVER, NEVER

    def _next(self) -> int:
        """When something happens next."""
        now = self.ready
        if self.wire and self.wire[0][0] < now:
            now = self.wire[0][0]
        if self.acks and self.acks[0][0] < now:
            now = self.acks[0][0]
        if self.receiver.due < now:
            now = self.receiver.due
        return now

    def _pass(self, now: int) -> None:
        """What happens at that time: a packet comes, or a timer is due, before a process goes on."""
        if self.acks and self.acks[0][0] <= now:
            self._take(now, self.acks.popleft()[1])
        elif self.wire and self.wire[0][0] <= now:
            self._return(now, self.receiver.receive(now, self.wire.popleft()[1]))
            if self.receiver.awake and not self.busy:
                self._read(now)
        elif self.receiver.due <= now:
            self._return(now, self.receiver.expire(now))
        if self.ready <= now or self.soon < now:
            self._resume(now)

    def _take(self, now: int, ack: Ack) -> None:
        """What comes while the writer has the socket waits until that lets it in."""
        before = self.sender.una
        if self.sender.acknowledged(max(now, self.sender.now), ack) and self.ready == NEVER:
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
        self.busy = self.ready <= sender.now
        if self.receiver.awake and not self.busy:
            self._read(sender.now)

    def _read(self, now: int) -> None:
        if self.started is None:
            self.started, self.first = now, self.receiver.nxt
        self._return(now, self.receiver.consume(now))

    def _return(self, now: int, acks: Iterable[Ack]) -> None:
        for ack in acks:
            self.acks.append((_tick(now + self.back), ack))

    def _leave(self, now: int, start: int, skb: Skb) -> None:
        """An skb onto the wire, cut into segments."""
        while start < skb.end:
            end = min(start + self.mss, skb.end)
            self.idle = max(self.idle, now) + (end - start + self.overhead) * 8 * 10**9 // self.rate
            self.last = _tick(self.idle + self.there)
            pieces = (end - 1) // self.page - start // self.page + 1
            self.wire.append((self.last, Segment(end - start, pieces, skb.push and end == skb.end, self.sender.echo)))
            start = end
        self.peak = max(self.peak, len(self.wire))


def _tick(at: int) -> int:
    """When a timer for that time fires: the clock has a grain."""
    return -(-at // GRAIN) * GRAIN
