"""Compute the congestion window: slow start, its end, CUBIC's growth after that, and the cut after a loss.

Source: net/ipv4/tcp_cubic.c, tcp_cong.c and tcp_output.c (tcp_cwnd_validate()) of Linux 7.2. Times are whole
microseconds, as in the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

TCP_INIT_CWND = 10  # RFC 6928
TCP_INFINITE_SSTHRESH = 0x7FFFFFFF
HYSTART_LOW_WINDOW = 16  # segments below which slow start goes on
HYSTART_ACK_DELTA_US = 2000  # between two ACKs of a train
HYSTART_MIN_SAMPLES = 8
HYSTART_DELAY_MIN, HYSTART_DELAY_MAX = 4000, 16_000
CUBE_RTT_SCALE = 410  # bic_scale 41, of 1024ths, at an RTT of 100 ms
BICTCP_HZ = 10  # CUBIC's unit of time is 2^-10 s
BETA, BICTCP_BETA_SCALE = 717, 1024  # the share of the window after a loss
BETA_SCALE = 15  # 8 (1024 + beta) / 3 (1024 - beta)
CUBE_FACTOR = (1 << 10 + 3 * BICTCP_HZ) // CUBE_RTT_SCALE


@dataclass(slots=True)
class Cubic:
    """Holds the state of a connection: fields of struct tcp_sock and of struct bictcp."""

    hz: int = 1000
    cwnd: int = TCP_INIT_CWND
    ssthresh: int = TCP_INFINITE_SSTHRESH
    cwnd_cnt: int = 0  # segments acknowledged towards the next increase
    is_cwnd_limited: bool = False  # whether cwnd held the sender back in the window that ends at cwnd_usage_seq
    max_packets_out: int = 0
    cwnd_usage_seq: int = 0
    cnt: int = 0  # segments to be acknowledged before cwnd grows by one
    last_cwnd: int = 0
    last_time: int = 0  # jiffies
    epoch_start: int = 0  # jiffies
    origin_point: int = 0
    last_max_cwnd: int = 0  # cwnd at the last loss
    bic_k: int = 0  # when cwnd is at origin_point again, in units of 2^-10 s since epoch_start
    ack_cnt: int = 0
    tcp_cwnd: int = 0  # Reno's
    delay_min: int = 0
    round_start: int = 0
    end_seq: int = 0
    last_ack: int = 0
    curr_rtt: int = 0
    sample_cnt: int = 0
    found: bool = False  # whether HyStart has ended slow start; it does so once

    @property
    def slow_start(self) -> bool:
        """Return whether cwnd is below ssthresh: tcp_in_slow_start()."""
        return self.cwnd < self.ssthresh

    @property
    def in_hystart(self) -> bool:
        """Return whether HyStart may still end this slow start."""
        return self.cwnd < self.ssthresh and not self.found

    def sent(self, packets_out: int, limited: bool, snd_una: int, snd_nxt: int) -> None:
        """Record, after sending, the part of cwnd that is in use: tcp_cwnd_validate()."""
        more = not self.is_cwnd_limited and packets_out > self.max_packets_out
        if snd_una >= self.cwnd_usage_seq or limited or more:
            self.is_cwnd_limited, self.max_packets_out, self.cwnd_usage_seq = limited, packets_out, snd_nxt

    def sample(self, now: int, rtt: int, snd_una: int, snd_nxt: int, ack_delay: int) -> None:
        """Process an RTT sample: cubictcp_acked().

        `ack_delay` is four times the largest GSO packet's time at the flow's pace.
        """
        if not self.epoch_start or now * self.hz // 10**6 - self.epoch_start >= self.hz:
            delay = rtt if rtt > 1 else 1
            if delay < self.delay_min or not self.delay_min:
                self.delay_min = delay
            if self.cwnd < self.ssthresh and not self.found:
                self._hystart_update(now, delay, snd_una, snd_nxt, ack_delay)

    def avoid_congestion(self, now: int, acked: int) -> None:
        """Widen cwnd for `acked` segments if it held the sender back: cubictcp_cong_avoid(), tcp_is_cwnd_limited()."""
        if self.is_cwnd_limited or (self.cwnd < self.ssthresh and self.cwnd < 2 * self.max_packets_out):
            self._avoid_congestion(now * self.hz // 10**6, acked)

    def lose(self) -> None:
        """Set ssthresh after a loss: cubictcp_recalc_ssthresh(), tcp_init_cwnd_reduction()."""
        self.epoch_start = self.cwnd_cnt = 0
        converges = self.cwnd < self.last_max_cwnd  # fast_convergence
        self.last_max_cwnd = (
            self.cwnd * (BICTCP_BETA_SCALE + BETA) // (2 * BICTCP_BETA_SCALE) if converges else self.cwnd
        )
        self.ssthresh = max(self.cwnd * BETA // BICTCP_BETA_SCALE, 2)

    def restart(self, rounds: int) -> None:
        """Halve the window for each RTO of a pause, down to the initial window: tcp_cwnd_restart()."""
        self.ssthresh = max(self.ssthresh, (self.cwnd >> 1) + (self.cwnd >> 2))  # tcp_current_ssthresh()
        self.cwnd = max(self.cwnd >> rounds, min(TCP_INIT_CWND, self.cwnd))

    def start(self, now: int, pause: int) -> None:
        """Exclude a pause without packets in flight from the curve: cubictcp_cwnd_event_tx_start(). Both times are in
        jiffies.
        """
        if self.epoch_start and pause > 0:
            self.epoch_start = min(self.epoch_start + pause, now)

    def _hystart_update(self, now: int, delay: int, snd_una: int, snd_nxt: int, ack_delay: int) -> None:
        """End slow start if a train of ACKs is as long as half the RTT and some bursts, or if the RTT grows."""
        if snd_una > self.end_seq:  # bictcp_hystart_reset()
            self.round_start = self.last_ack = now
            self.end_seq, self.curr_rtt, self.sample_cnt = snd_nxt, delay, 0
        if self.cwnd < HYSTART_LOW_WINDOW:
            return
        if now - self.last_ack <= HYSTART_ACK_DELTA_US:
            self.last_ack = now
            if now - self.round_start > self.delay_min + min(ack_delay, 1000) >> 1:
                self.ssthresh, self.found = self.cwnd, True
        if delay < self.curr_rtt:
            self.curr_rtt = delay
        if self.sample_cnt < HYSTART_MIN_SAMPLES:
            self.sample_cnt += 1
        elif self.curr_rtt > self.delay_min + min(max(self.delay_min >> 3, HYSTART_DELAY_MIN), HYSTART_DELAY_MAX):
            self.ssthresh, self.found = self.cwnd, True

    def _avoid_congestion(self, jiffies: int, acked: int) -> None:
        """Widen cwnd for `acked` segments: tcp_slow_start(), tcp_cong_avoid_ai()."""
        if self.slow_start:
            before, self.cwnd = self.cwnd, min(self.cwnd + acked, self.ssthresh)
            acked -= self.cwnd - before
            if not acked:
                return
        self._update(jiffies, acked)
        if self.cwnd_cnt >= self.cnt:
            self.cwnd_cnt = 0
            self.cwnd += 1
        more, self.cwnd_cnt = divmod(self.cwnd_cnt + acked, self.cnt)
        self.cwnd += more

    def _update(self, jiffies: int, acked: int) -> None:
        """Compute the number of acknowledged segments that widen cwnd by one: bictcp_update()."""
        self.ack_cnt += acked
        if self.last_cwnd == self.cwnd and jiffies - self.last_time <= self.hz // 32:
            return
        if not self.epoch_start or jiffies != self.last_time:
            self.last_cwnd, self.last_time = self.cwnd, jiffies
            if not self.epoch_start:
                self.epoch_start, self.ack_cnt, self.tcp_cwnd = jiffies, acked, self.cwnd
                self.origin_point = max(self.last_max_cwnd, self.cwnd)
                self.bic_k = round((CUBE_FACTOR * (self.origin_point - self.cwnd)) ** (1 / 3))  # cubic_root()
            time = jiffies - self.epoch_start - (-self.delay_min * self.hz // 10**6)
            offset = (time << BICTCP_HZ) // self.hz - self.bic_k
            delta = CUBE_RTT_SCALE * abs(offset) ** 3 >> 10 + 3 * BICTCP_HZ
            target = self.origin_point + (delta if offset > 0 else -delta)
            self.cnt = self.cwnd // (target - self.cwnd) if target > self.cwnd else 100 * self.cwnd
            if not self.last_max_cwnd:
                self.cnt = min(self.cnt, 20)
        self._keep_up_with_reno()
        self.cnt = max(self.cnt, 2)

    def _keep_up_with_reno(self) -> None:
        """Grow as fast as Reno if Reno is faster: tcp_friendliness."""
        for_one = self.cwnd * BETA_SCALE >> 3
        more = max(0, -(-self.ack_cnt // for_one) - 1)  # as long as more than that are left
        self.ack_cnt -= more * for_one
        self.tcp_cwnd += more
        if self.tcp_cwnd > self.cwnd:
            self.cnt = min(self.cnt, self.cwnd // (self.tcp_cwnd - self.cwnd))
