"""Simulate a TCP sender whose segments may be lost: its detection of losses, and its recovery.

The module follows net/ipv4/tcp_input.c (tcp_ack(), tcp_fastretrans_alert(), tcp_cwnd_reduction()), tcp_recovery.c
(RACK) and tcp_output.c (tcp_xmit_retransmit_queue(), tcp_schedule_loss_probe()) of Linux 7.2, with the same names. The
module covers a path that preserves order, with SACK and timestamps. The module does not simulate retransmission
timeouts or compressed ACKs. Times are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.model.delayed_ack import NEVER, Timers
from lab.model.scenario import ModelError, Scenario
from lab.model.sender import NSEC_PER_USEC, Sender, Skb

TCP_REORDERING = 3  # segments that SACKs must report before a loss is certain: tcp_reordering
RTO_MIN_US = 200_000  # TCP_RTO_MIN
TIMEOUT_MIN_US = 2000  # TCP_TIMEOUT_MIN_US, two jiffies


@dataclass(slots=True)
class Sent(Skb):
    """Holds a segment of the retransmit queue."""

    seq: int = 0
    has_head: bool = False  # whether it is the last one of its skb, whose head is freed with it
    sacked: bool = False
    lost: bool = False
    retransmitted: bool = False  # and not lost again
    again: bool = False  # whether it was sent twice at any time


class LossySender(Sender):
    """Simulates a sending socket whose segments may be lost. Its segments go to `transmit(now, seq, skb)`."""

    rtx_queue: list[Sent]  # type: ignore[assignment]  # one entry per segment, because SACKs cut skbs (tcp_match_skb_to_sack())

    def __init__(self, scenario: Scenario, transmit: Callable[[int, int, Skb], None]) -> None:
        super().__init__(scenario, transmit)
        self.rtx_queue = []
        self.heads = 0  # of skbs that wait for an ACK
        self.sacked_out = self.lost_out = self.retrans_out = 0
        self.high_seq: int | None = None  # where recovery ends; None outside recovery
        self.prior_cwnd = self.prr_delivered = self.prr_out = 0
        self.rack = (0, 0)  # the send time and the end of the last sent segment that has arrived
        self.rack_rtt_us = 0
        self.min_rtt_us = self.srtt_us >> 3
        self.timers = Timers.of(scenario.kernel)
        self.probed = False  # whether a probe is on its way
        self.lsndtime = 0  # the tick of the last data sent
        self.reo_due = self.probe_due = NEVER  # when RACK's timer fires, and the one for a tail's loss

    def wmem_queued(self) -> int:
        """Return sk_wmem_queued."""
        return self.write_seq - self.snd_una + self.skb_overhead * (len(self.write_queue) + self.heads)

    def packets_in_flight(self) -> int:
        """Return the segments that the network holds: tcp_packets_in_flight()."""
        return self.packets_out - self.sacked_out - self.lost_out + self.retrans_out

    def take_ack(self, now: int, ack_seq: int, window: int, sack: tuple[int, int] | None) -> None:
        """Process an ACK, and retransmit lost segments; `data_snd_check` sends new segments: tcp_ack()."""
        self.clock_cache, self.snd_wnd, self.max_window = now, window, max(self.max_window, window)
        una, lost = self.snd_una, self.lost_out
        delivered = self._clean_rtx_queue_and_sacks(max(ack_seq, una), sack)
        if self.high_seq is not None and self.snd_una >= self.high_seq:
            self.high_seq, self.cubic.cwnd = None, self.cubic.ssthresh  # tcp_end_cwnd_reduction()
        if self.sacked_out or self.high_seq is not None:
            self.detect_loss()
        self._congestion_control(delivered, self.snd_una > una, max(0, self.lost_out - lost))
        if self.snd_una > una or delivered:
            self.probed = False
            self._schedule_probe()

    def _congestion_control(self, delivered: int, advanced: bool, newly_lost: int) -> None:
        """Set cwnd: tcp_cong_control()."""
        if self.high_seq is None:
            if advanced and delivered:
                self.cubic.avoid_congestion(self.clock_cache // NSEC_PER_USEC, delivered)
        elif delivered > 0:
            self._cwnd_reduction(delivered, newly_lost, advanced)
        if self.lost_out:
            self._xmit_retransmit_queue()

    def _clean_rtx_queue_and_sacks(self, ack_seq: int, sack: tuple[int, int] | None) -> int:
        """Drop acknowledged segments, mark SACKed segments, and sample RTTs.

        Return the number of segments that have newly arrived. tcp_sacktag_write_queue(), tcp_clean_rtx_queue(),
        tcp_ack_update_rtt().
        """
        queue, delivered, now = self.rtx_queue, 0, self.clock_cache
        first = last = first_sacked = last_sacked = retransmitted = 0
        if sack:
            for seg in queue:
                if sack[0] <= seg.seq and seg.end_seq <= sack[1] and not seg.sacked:
                    self._arrived(seg)
                    if not seg.again:
                        first_sacked, last_sacked = first_sacked or seg.tstamp, seg.tstamp
                    seg.sacked, delivered = True, delivered + 1
                    self.sacked_out += 1
        count = 0
        for seg in queue:
            if seg.end_seq > ack_seq:
                break
            count += 1
            if seg.again:
                retransmitted = retransmitted or seg.tstamp
            elif not seg.sacked:
                first, last = first or seg.tstamp, seg.tstamp
            if seg.sacked:
                self.sacked_out -= 1
            else:
                self._arrived(seg)
                delivered += 1
            self.heads -= seg.has_head
        del queue[:count]
        self.packets_out -= count
        self.snd_una = ack_seq
        if retransmitted:  # from the timestamp's echo
            first = last = retransmitted
        if first_sacked:
            first, last = first or first_sacked, last_sacked
        if first:
            self._sample(now // NSEC_PER_USEC, first // NSEC_PER_USEC, last // NSEC_PER_USEC)
        return delivered

    def _sample(self, now_us: int, first_us: int, last_us: int) -> None:
        ack_delay = 0
        if self.cubic.in_hystart:
            ack_delay = 4 * 10**6 * self.gso_max_size // self._pacing_rate()  # hystart_ack_delay()
        self.cubic.sample(now_us, now_us - last_us, self.snd_una, self.snd_nxt, ack_delay)
        self.min_rtt_us = min(self.min_rtt_us, max(now_us - last_us, 1))
        self.srtt_us = max(self.srtt_us + now_us - first_us - (self.srtt_us >> 3), 1)  # tcp_rtt_estimator()

    def _arrived(self, seg: Sent) -> None:
        """Note that a segment has arrived: tcp_rack_advance()."""
        if seg.lost:
            self.lost_out -= 1
        if seg.retransmitted:
            self.retrans_out -= 1
        seg.lost = seg.retransmitted = False
        rtt_us = (self.clock_cache - seg.tstamp) // NSEC_PER_USEC
        if seg.again and rtt_us < self.min_rtt_us:
            return
        self.rack_rtt_us = rtt_us
        self.rack = max(self.rack, (seg.tstamp, seg.end_seq))

    def detect_loss(self) -> None:
        """Mark late segments that were sent before an arrived segment as lost: tcp_rack_detect_loss()."""
        self.reo_due, now = NEVER, self.clock_cache
        sure = self.high_seq is not None or self.sacked_out >= TCP_REORDERING
        reo_wnd = 0 if sure else min(self.min_rtt_us >> 2, self.srtt_us >> 3)
        for seg in self.rtx_queue:
            if seg.sacked or (seg.lost and not seg.retransmitted) or (seg.tstamp, seg.end_seq) >= self.rack:
                continue
            due = seg.tstamp + (self.rack_rtt_us + reo_wnd) * NSEC_PER_USEC
            if due > now:
                self.reo_due = due if self.reo_due == NEVER else max(self.reo_due, due)
                continue
            if seg.retransmitted:
                self.retrans_out -= 1
            self.lost_out += not seg.lost
            seg.lost, seg.retransmitted = True, False
        if self.lost_out and self.high_seq is None:
            self._enter_recovery()

    def _enter_recovery(self) -> None:
        """Begin to reduce cwnd: tcp_enter_recovery(), tcp_init_cwnd_reduction()."""
        self.high_seq, self.prior_cwnd = self.snd_nxt, self.cubic.cwnd
        self.prr_delivered = self.prr_out = 0
        self.cubic.lose()

    def _cwnd_reduction(self, delivered: int, newly_lost: int, advanced: bool) -> None:
        """Send in proportion to the arrived segments: tcp_cwnd_reduction(), RFC 6937."""
        ssthresh, in_flight = self.cubic.ssthresh, self.packets_in_flight()
        self.prr_delivered += delivered
        delta = ssthresh - in_flight
        if delta < 0:
            count = (ssthresh * self.prr_delivered + self.prior_cwnd - 1) // self.prior_cwnd - self.prr_out
        else:
            count = max(self.prr_delivered - self.prr_out, delivered)
            count = min(delta, count + (advanced and not newly_lost))
        self.cubic.cwnd = max(in_flight + max(count, 0 if self.prr_out else 1), 1)

    def reo_timer(self, now: int) -> None:
        """Check again for late segments: tcp_rack_reo_timeout()."""
        self.clock_cache, in_flight = now, self.packets_in_flight()
        self.detect_loss()
        if self.packets_in_flight() != in_flight and self.high_seq is not None:
            if not self.prr_delivered:
                self._cwnd_reduction(1, 0, advanced=False)
            self._xmit_retransmit_queue()

    def _xmit_retransmit_queue(self) -> None:
        """Retransmit lost segments, as far as cwnd allows: tcp_xmit_retransmit_queue()."""
        for seg in self.rtx_queue:
            if self.packets_in_flight() >= self.cubic.cwnd:
                break
            if seg.lost and not seg.retransmitted:
                self._retransmit(seg)

    def _retransmit(self, seg: Sent) -> None:
        seg.tstamp, seg.again = self.clock_cache, True
        if seg.lost:
            seg.retransmitted = True
            self.retrans_out += 1
        self.prr_out += 1
        self.transmit(self.clock_cache, seg.seq, seg)

    def _schedule_probe(self) -> None:
        """Set the timer for tail loss: tcp_schedule_loss_probe()."""
        if not self.packets_out:
            self.probe_due = NEVER
            return
        wait = (self.srtt_us >> 2) + (RTO_MIN_US if self.packets_out == 1 else TIMEOUT_MIN_US)
        if self.high_seq is not None or self.sacked_out or self.probed:
            wait = (self.srtt_us >> 3) + RTO_MIN_US
        jiffies = self.timers.jiffies(self.clock_cache)
        timeout = jiffies + -(-wait * self.timers.hz // 10**6)
        self.probe_due = self.timers.time_of(self.timers.expiry(timeout, jiffies))

    def probe_timer(self, now: int) -> None:
        """Send a new segment, or the last segment again.

        The answer shows which segments are missing: tcp_send_loss_probe().
        """
        self.clock_cache = now
        if self.high_seq is not None or self.sacked_out or self.probed:
            raise ModelError("a retransmission timeout: the model covers losses that SACKs or a probe show")
        if self.write_queue:
            if self.write_queue[0].end_seq - self.snd_nxt > self.mss_cache:
                self.write_queue.appendleft(Skb(self.snd_nxt + self.mss_cache))
            self._transmit_skb()
        else:
            self._retransmit(self.rtx_queue[-1])
        self.probed = True
        self._schedule_probe()

    def _tso_should_defer(self, length: int, max_segs: int, last: bool, send_win: int, cong_win: int) -> bool:
        return self.high_seq is None and super()._tso_should_defer(length, max_segs, last, send_win, cong_win)

    def slow_start_after_idle_check(self, now: int) -> None:
        """Restart slow start after a pause that is longer than the RTO: tcp_slow_start_after_idle_check()."""
        pause = self.timers.jiffies(now) - self.lsndtime
        rto = -(-((self.srtt_us >> 3) + RTO_MIN_US) * self.timers.hz // 10**6)
        if not self.packets_out and pause > rto:
            self.cubic.restart(-(-pause // rto) - 1)

    def _transmit_skb(self) -> None:
        """Send the first skb, and note the time when the sender starts to send: tcp_event_data_sent()."""
        now = self.timers.jiffies(self.clock_cache)
        if not self.packets_in_flight():
            self.cubic.start(now, now - self.lsndtime)
        self.lsndtime = now
        super()._transmit_skb()

    def _keep(self, skb: Skb) -> None:
        """Keep the segments that were just sent."""
        for seq in range(self.snd_nxt, skb.end_seq, self.mss_cache):
            end_seq = min(seq + self.mss_cache, skb.end_seq)
            self.rtx_queue.append(Sent(end_seq, skb.psh and end_seq == skb.end_seq, skb.tstamp, seq))
            if self.high_seq is not None:
                self.prr_out += 1
        self.rtx_queue[-1].has_head = True
        self.heads += 1
        self._schedule_probe()
