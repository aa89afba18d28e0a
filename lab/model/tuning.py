"""How a receive buffer grows with what its reader takes in a round trip: dynamic right-sizing.

Written after net/ipv4/tcp_input.c of Linux 7.2. Times are whole microseconds, as in the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tuning"]

_LOW_RTT = 1000  # below which a buffer grows less: tcp_rcvbuf_low_rtt
_MS = 1000  # a time stamp's tick


@dataclass(slots=True)
class Tuning:
    """`space` is what was read in a round trip so far at most; the one that is measured began at `start`, at byte
    `seq`. `rtt` is eight times the smoothed estimate, 0 before the first sample.
    """

    space: int
    start: int = 0
    seq: int = 0
    rtt: int = 0
    echo: int | None = None
    edge: int = 0
    since: int | None = None

    def echoed(self, now: int, echo: int, read: bool) -> None:
        """A full segment echoes a time stamp; `read`: nothing is unread. tcp_rcv_rtt_measure_ts()."""
        if echo != self.echo:
            self.echo = echo
            sample = (now // _MS - echo) * _MS
            if not self.rtt or 0 < 8 * sample < self.rtt:
                self.rtt = 8 * sample
            elif sample > 0 and read:
                self.rtt += sample - (self.rtt >> 3)

    def filled(self, now: int, nxt: int, window: int) -> None:
        """A segment has come: once a window's worth has, that took a round trip. tcp_rcv_rtt_measure()."""
        if self.since is not None:
            if nxt < self.edge:
                return
            sample = 8 * max(now - self.since, 1)
            if not self.rtt or sample < self.rtt:
                self.rtt = sample
        self.edge, self.since = nxt + window, now

    def grown(self, now: int, read: int, unread: int) -> int | None:
        """The window that is wanted, where a round trip is over that brought more than any before: tcp_rcvbuf_grow().

        None where the buffer stays as it is.
        """
        if not self.rtt or now - self.start < self.rtt >> 3:
            return None
        copied, wanted = read - self.seq - unread, None
        if copied > self.space:
            wanted = 2 * copied
            rtt = self.rtt >> 3
            wanted += wanted * rtt // _LOW_RTT if rtt < _LOW_RTT else 2 * wanted * (copied - self.space) // self.space
            self.space = copied
        self.seq, self.start = read, now
        return wanted
