"""Decide when a socket sends an ACK: at once, with its own data, or when a timer fires.

Source: net/ipv4/tcp_input.c, tcp_output.c, tcp.c, tcp_timer.c and kernel/time/timer.c of Linux 7.2, with the kernel's
names. Times are whole nanoseconds, or jiffies: ticks of 1/HZ.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.model.scenario import KernelTraits

TCP_MSS_DEFAULT, TCP_MIN_MSS = 536, 88
TCP_MAX_QUICKACKS = 16
LVL_START = 63  # below this many jiffies, the wheel's timers are exact: LVL_START(1)
LVL_CLK_SHIFT = 3  # each further level is 2^3 times as coarse
NEVER = 1 << 62

_LATE_SINCE = (4, 8)  # "timers: Switch to a non-cascading wheel", 500462a9de65
_ON_TIME = "timers-on-their-tick"  # the patch of experiments/tcp-nodelay


@dataclass(frozen=True, slots=True)
class Timers:
    """Counts the kernel's ticks, and finds the tick on which a timer fires."""

    hz: int  # ticks per second
    late: bool = True  # whether timers wait one tick more: Linux since 4.8

    @classmethod
    def of(cls, kernel: KernelTraits) -> Timers:
        """Return the timers of a kernel."""
        return cls(kernel.hz, kernel.version >= _LATE_SINCE and _ON_TIME not in kernel.patches)

    def jiffies(self, now: int) -> int:
        """Return the last tick that has passed."""
        return now * self.hz // 10**9

    def time_of(self, jiffies: int) -> int:
        """Return the time of a tick, in ns."""
        return -(-jiffies * 10**9 // self.hz)

    @property
    def ato_min(self) -> int:
        """Return TCP_ATO_MIN and TCP_DELACK_MIN: 40 ms in jiffies."""
        return self.hz // 25

    @property
    def delack_max(self) -> int:
        """Return TCP_DELACK_MAX: 200 ms in jiffies."""
        return self.hz // 5

    def expiry(self, expires: int, now: int) -> int:
        """Return the tick on which a timer fires if it was set on tick `now` for tick `expires`: calc_wheel_index()."""
        level = 0
        while expires - now >= LVL_START << LVL_CLK_SHIFT * level:
            level += 1
        shift = LVL_CLK_SHIFT * level
        return (expires >> shift) + (self.late or level > 0) << shift


@dataclass(slots=True)
class DelayedAck:
    """Holds a socket's icsk_ack, and makes the kernel's decisions with it, for a connection without loss."""

    timers: Timers
    advmss: int  # payload of a full segment, as announced
    rcv_mss: int  # the socket's estimate of a full segment's payload
    rtt: int = 0  # of the handshake, ns
    last_seg_size: int = 0
    quick: int = 0  # ACKs that go at once
    ato: int = 0  # how long an ACK may wait for an answer, jiffies
    lrcvtime: int = 0  # the tick of the last data
    pingpong: bool = False  # whether the socket's process answers, so that its answers carry the ACKs
    scheduled: bool = False  # ICSK_ACK_SCHED: something is not acknowledged
    pushed: int = 0  # 1: ICSK_ACK_PUSHED; 2: and ICSK_ACK_PUSHED2
    timeout: int = 0  # the tick for which the timer was set
    due: int = NEVER  # when the timer fires, ns

    def measure_rcv_mss(self, length: int, psh: bool) -> None:
        """Learn the size of a full segment, and whether this segment ends a write: tcp_measure_rcv_mss()."""
        last_seg_size, self.last_seg_size = self.last_seg_size, 0
        if length >= self.rcv_mss:
            self.rcv_mss = min(length, self.advmss)
            if psh:
                self.pushed = max(self.pushed, 1)
            return
        if length >= TCP_MSS_DEFAULT or (length >= TCP_MIN_MSS and not psh):
            self.last_seg_size = length
            if length == last_seg_size:
                self.rcv_mss = length
                return
        self.pushed = min(self.pushed + 1, 2)

    def event_data_recv(self, now: int, rcv_wnd: int) -> None:
        """Adapt the longest wait of an ACK to the rate of the segments: tcp_event_data_recv()."""
        jiffies, ato_min = self.timers.jiffies(now), self.timers.ato_min
        gap, self.lrcvtime, self.scheduled = jiffies - self.lrcvtime, jiffies, True
        if not self.ato:
            self.incr_quickack(rcv_wnd)
        elif gap <= ato_min // 2:
            self.ato = self.ato // 2 + ato_min // 2
        elif gap < self.ato:
            self.ato = min(self.ato // 2 + gap, self.timers.delack_max)

    def incr_quickack(self, rcv_wnd: int) -> None:
        """Send a number of ACKs without delay at a connection's start: tcp_incr_quickack()."""
        self.quick = min(rcv_wnd // (2 * self.rcv_mss) or 2, TCP_MAX_QUICKACKS)
        self.ato = self.timers.ato_min

    @property
    def quickack_mode(self) -> bool:
        """Return whether ACKs are sent at once: tcp_in_quickack_mode()."""
        return self.quick > 0 and not self.pingpong

    def must_follow_read(self, unacked: int, emptied: bool) -> bool:
        """Return whether an ACK must follow a read: the first half of __tcp_cleanup_rbuf()."""
        pushed = self.pushed == 2 or (self.pushed == 1 and not self.pingpong)
        return self.scheduled and (unacked > self.rcv_mss or (pushed and emptied))

    def delay(self, now: int) -> bool:
        """Set the timer, unless an earlier timer is set: tcp_send_delayed_ack().

        Return True if the earlier timer expires so soon that the ACK is sent at once.
        """
        timers, jiffies = self.timers, self.timers.jiffies(now)
        ato = self.ato
        if ato > timers.ato_min:
            rtt = -(-self.rtt * timers.hz // 10**9)  # usecs_to_jiffies()
            ato = min(ato, timers.delack_max, max(rtt, timers.ato_min))
        timeout = jiffies + ato
        if self.due < NEVER:
            if self.timeout <= jiffies + (ato >> 2):
                return True
            if timeout >= self.timeout:
                return False
        self.timeout, self.due = timeout, timers.time_of(timers.expiry(timeout, jiffies))
        return False

    def expire(self) -> None:
        """Update the state when the timer has fired, before the ACK is sent: tcp_delack_timer_handler()."""
        self.ato = self.timers.ato_min if self.pingpong else min(2 * self.ato, self.timers.delack_max)
        self.pingpong = False

    def event_ack_sent(self) -> None:
        """Update the state after sending a packet with an ACK: tcp_event_ack_sent(), tcp_dec_quickack_mode()."""
        if self.quick and self.scheduled:
            self.quick -= 1
            if not self.quick:
                self.ato = self.timers.ato_min
        self.scheduled, self.pushed, self.due = False, 0, NEVER

    def event_data_sent(self, now: int) -> None:
        """Enter ping-pong mode if the data just sent answers recently received data: tcp_event_data_sent()."""
        if self.timers.jiffies(now) - self.lrcvtime < self.ato:
            self.pingpong = True
