"""CUBIC before any loss, as net/ipv4/tcp_cubic.c has it: slow start, what ends it, and the growth above that."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

__all__ = ["Cubic"]

_LOW, _SAMPLES, _TRAIN = 16, 8, 0.002  # HyStart: segments, RTT samples, seconds between the ACKs of a train
_BURSTS, _LONGEST_BURSTS = 4, 0.001  # GSO packets that may delay a train, and by how much at most
_C = 410 / 1024  # segments / s^3: bic_scale 41 at an RTT of 100 ms
_FASTEST, _SLOWEST = 2, 20  # segments acknowledged for one more: the bound of CUBIC; the bound before the first loss


@dataclass(slots=True)
class Cubic:
    """The congestion window of a connection that loses nothing. `cwnd` in segments, times in seconds."""

    cwnd: int = 10  # RFC 6928
    slow_start: bool = True
    limited: bool = True  # whether cwnd held the sender back (tcp_cwnd_validate)
    most: int = 0  # segments in flight at most, of late
    usage: int = 0
    credit: int = 0
    epoch: float | None = None
    origin: int = 0
    min_rtt: float = inf
    round_end: int = -1
    round_start: float = 0.0
    train: float = 0.0
    round_rtt: float = inf
    samples: int = 0

    def sent(self, inflight: int, limited: bool, una: int, nxt: int) -> None:
        """After sending: how far cwnd was used. tcp_cwnd_validate()."""
        if una >= self.usage or limited or (not self.limited and inflight > self.most):
            self.limited, self.most, self.usage = limited, inflight, nxt

    def acknowledged(self, now: float, rtt: float, segments: int, una: int, nxt: int, burst: float = 0.0) -> None:
        """An ACK for `segments` with this RTT sample; the largest GSO packet takes `burst` seconds at the pace of its
        flow. cubictcp_acked(), cubictcp_cong_avoid().
        """
        self.min_rtt = min(self.min_rtt, rtt)
        if self.limited or (self.slow_start and self.cwnd < 2 * self.most):
            self._grow(now, segments)
        if self.slow_start:
            self._hystart(now, rtt, una, nxt, min(_BURSTS * burst, _LONGEST_BURSTS))

    def _grow(self, now: float, segments: int) -> None:
        if self.slow_start:
            self.cwnd += segments
            return
        if self.epoch is None:
            self.epoch, self.origin = now, self.cwnd
        target = self.origin + int(_C * (now - self.epoch + self.min_rtt) ** 3)
        count = max(min(self.cwnd // (target - self.cwnd), _SLOWEST), _FASTEST) if target > self.cwnd else _SLOWEST
        self.credit += segments
        more, self.credit = divmod(self.credit, count)
        self.cwnd += more

    def _hystart(self, now: float, rtt: float, una: int, nxt: int, bursts: float) -> None:
        """Slow start ends when a train of ACKs is as long as half the RTT and some bursts, or when the RTT grows:
        hystart_update(), hystart_ack_delay().
        """
        if una > self.round_end:
            self.round_end, self.round_start, self.train = nxt, now, now
            self.round_rtt, self.samples = inf, 0
        if self.cwnd < _LOW:
            return
        if now - self.train <= _TRAIN:
            self.train = now
            self.slow_start &= now - self.round_start <= (self.min_rtt + bursts) / 2
        self.round_rtt = min(self.round_rtt, rtt)
        if self.samples < _SAMPLES:
            self.samples += 1
        elif self.round_rtt > self.min_rtt + min(max(self.min_rtt / 8, 0.004), 0.016):
            self.slow_start = False
