"""Predict the effect of TCP's timers if answers take longer than the timers, such as minutes instead of milliseconds.

In the kernel's timer wheel, a timer may be late by a step of its level, up to an eighth of its time, but never early.
So these laws predict an interval that begins at the formula's figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, pairwise, takewhile
from math import ceil

from lab.model.line import base_rtt, packet
from lab.model.packet import SYN
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import replay
from lab.units import Value

_INITIAL_RTO, _RTO_MAX = 1, 120  # seconds: TCP_TIMEOUT_INIT (RFC 6298, 2.1); TCP_RTO_MAX
_SYN_RETRIES, _LINEAR_TIMEOUTS = 6, 4  # tcp_syn_retries, and tcp_syn_linear_timeouts (since Linux 6.5)
_LINEAR_SINCE = (6, 5)
_BUCKETS, _FINE_BUCKETS = 64, 32_768  # per level of the timer wheel; with fine-timer-wheel.patch
_KEEPALIVE_TIME, _KEEPALIVE_INTERVAL, _KEEPALIVE_PROBES = 7200, 75, 9


def _syn_times(linear: int) -> Iterator[int]:
    """Yield the seconds from the first SYN to each retransmitted SYN: tcp_retransmit_timer() in SYN_SENT."""
    at, rto = 0, _INITIAL_RTO
    for number in count(1):
        at += rto
        yield at
        if number > linear:
            rto = min(2 * rto, _RTO_MAX)


def _late(scenario: Scenario, seconds: float) -> float:
    """Return the largest delay, in seconds, of a timer of `seconds`: calc_wheel_index() in kernel/time/timer.c.

    A level has 2^LVL_BITS buckets, each of eight times as many ticks as in the level below.
    """
    ticks, step = seconds * scenario.kernel.hz, 1
    buckets = _FINE_BUCKETS if "fine-timer-wheel" in scenario.kernel.patches else _BUCKETS
    while ticks >= (buckets - 1) * step:
        step *= 8
    return step / scenario.kernel.hz


def timed(scenario: Scenario, timers: Iterable[float]) -> Value:
    """Return the interval, in seconds, that successive timers take: from all on time to all as late as possible."""
    each = list(timers)
    total = float(sum(each))
    return Value(total, "s", total, total + sum(_late(scenario, seconds) for seconds in each))


def _linear(scenario: Scenario) -> int:
    given = scenario.sender.node.sysctls.get("net.ipv4.tcp_syn_linear_timeouts", _LINEAR_TIMEOUTS)
    return int(given) if scenario.kernel.version >= _LINEAR_SINCE else 0


@replay(formula="times of 1, 2, 3, 4, 5, 7, 11, 19, ... s before RTT", source="RFC 6298, 2.1; tcp_syn_linear_timeouts")
def syn_retransmissions(scenario: Scenario) -> Value:
    """The first five SYN retransmissions are sent a second apart, and each later one after twice the previous interval.

    The law holds if the peer answers within the time of all retries. Before Linux 6.5, each interval was twice the
    previous one.
    """
    rtt = base_rtt(scenario, SYN).number
    if rtt > _last_syn(scenario):
        raise ModelError("the answer comes after the connection has been given up")
    return Value(sum(1 for _ in takewhile(lambda at: at < rtt, _syn_times(_linear(scenario)))), "1")


@replay(formula="Σ RTO of each SYN", source="RFC 6298, 2.1 and 5.5; tcp_syn_retries, tcp_syn_linear_timeouts")
def connect_timeout(scenario: Scenario) -> Value:
    """The client gives up an unanswered connection when the last SYN's timer expires."""
    if base_rtt(scenario, SYN).number < _last_syn(scenario):
        raise ModelError("the answer comes in time")
    times = [0, *_all_syns(scenario)]
    return timed(scenario, (end - start for start, end in pairwise(times)))


@replay(formula="⌈RTT / 120 s⌉ − 1", source="RFC 6298, 2.5: a bound on the RTO; TCP_RTO_MAX")
def needless_retransmissions(scenario: Scenario) -> Value:
    """A segment is retransmitted every two minutes, the longest RTO, until its acknowledgement arrives.

    The law holds if the sender measures round trips from timestamps, which the kernel counts in signed 32 bits of us
    (up to 35 minutes), and if the sender's sysctls allow retries for this time.
    """
    rtt = base_rtt(scenario, packet(scenario), SYN).number
    longest = _RTO_MAX + _late(scenario, _RTO_MAX)
    if rtt * 1e6 >= 2**31:
        raise ModelError("the kernel measures no round trip above 35 minutes: its RTO begins at a second")
    if rtt < _RTO_MAX / 2:
        raise ModelError("the path's RTO is below its bound of two minutes: the law is for longer round trips")
    least, most = (ceil(round(rtt, 3) / each) - 1 for each in (longest, _RTO_MAX))
    return Value(most, "1", least, most) if least < most else Value(most, "1")


@replay(formula="tcp_keepalive_time + tcp_keepalive_probes × tcp_keepalive_intvl", source="RFC 9293, 3.8.4; tcp(7)")
def keepalive_timeout(scenario: Scenario) -> Value:
    """An idle connection ends when the peer answers none of the keepalive probes in time.

    The law holds if the first answer takes longer than the intervals of all probes.
    """
    unanswered = _KEEPALIVE_INTERVAL * _KEEPALIVE_PROBES
    if base_rtt(scenario, SYN).number < unanswered:
        raise ModelError("the answer to a probe arrives before the last probe's timeout")
    return timed(scenario, (_KEEPALIVE_TIME, *[_KEEPALIVE_INTERVAL] * _KEEPALIVE_PROBES))


def _last_syn(scenario: Scenario) -> int:
    """Return the seconds after which the client gives up the connection."""
    return _all_syns(scenario)[-1]


def _all_syns(scenario: Scenario) -> list[int]:
    """Return the expiry of each SYN's timer, in seconds. The linear retries come in addition to tcp_syn_retries."""
    retries = int(scenario.sender.node.sysctls.get("net.ipv4.tcp_syn_retries", _SYN_RETRIES)) + _linear(scenario)
    times = _syn_times(_linear(scenario))
    return [next(times) for _ in range(retries + 1)]
