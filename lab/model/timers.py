"""Predict what TCP's timers do where an answer takes longer than they wait: minutes, and not milliseconds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, takewhile

from lab.model.line import ModelError, base_rtt, packet
from lab.model.packet import SYN
from lab.model.scenario import Scenario
from lab.prediction import law
from lab.units import Value

__all__ = ["connect_timeout", "keepalive_timeout", "needless_retransmissions", "syn_retransmissions"]

_INITIAL_RTO, _RTO_MAX = 1, 120  # seconds: TCP_TIMEOUT_INIT, as RFC 6298, 2.1 has it; TCP_RTO_MAX
_SYN_RETRIES, _LINEAR_TIMEOUTS = 6, 4  # tcp_syn_retries, and tcp_syn_linear_timeouts, which is since Linux 6.5
_LINEAR_SINCE = (6, 5)
_KEEPALIVE_TIME, _KEEPALIVE_INTERVAL, _KEEPALIVE_PROBES = 7200, 75, 9


def _syn_times(linear: int) -> Iterator[int]:
    """Yield the seconds from the first SYN to the second, the third, ...: tcp_retransmit_timer() in SYN_SENT."""
    at, rto = 0, _INITIAL_RTO
    for number in count(1):
        at += rto
        yield at
        if number > linear:
            rto = min(2 * rto, _RTO_MAX)


def _linear(scenario: Scenario) -> int:
    return _LINEAR_TIMEOUTS if scenario.kernel.version >= _LINEAR_SINCE else 0


@law(formula="times of 1, 2, 3, 4, 5, 7, 11, 19, ... s before RTT", source="RFC 6298, 2.1; tcp_syn_linear_timeouts")
def syn_retransmissions(scenario: Scenario) -> Value:
    """A SYN is sent again a second after the one before, five times, and then after twice the time before.

    It holds for a peer that answers, within the time of all retries. Before Linux 6.5 each time was twice the one
    before.
    """
    rtt = base_rtt(scenario, SYN).number
    if rtt > _last_syn(scenario):
        raise ModelError("the answer comes after the connection has been given up")
    return Value(sum(1 for _ in takewhile(lambda at: at < rtt, _syn_times(_linear(scenario)))), "1")


@law(formula="Σ RTO of each SYN", source="RFC 6298, 2.1 and 5.5; tcp_syn_retries, tcp_syn_linear_timeouts")
def connect_timeout(scenario: Scenario) -> Value:
    """A connection that nobody answers is given up when the last of its SYNs has waited for its own time."""
    if base_rtt(scenario, SYN).number < _last_syn(scenario):
        raise ModelError("the answer comes in time")
    return Value(_last_syn(scenario), "s")


@law(formula="⌈RTT / 120 s⌉ − 1", source="RFC 6298, 2.5: a bound on the RTO; TCP_RTO_MAX")
def needless_retransmissions(scenario: Scenario) -> Value:
    """A segment is sent again each two minutes, the longest RTO that there is, until its acknowledgement comes.

    It holds for a sender that knows the round trip by timestamps, which the kernel counts in signed 32 bits of us: up
    to 35 minutes; and that its sysctls let try for as long.
    """
    rtt = base_rtt(scenario, packet(scenario), SYN).number
    if rtt * 1e6 >= 2**31:
        raise ModelError("the kernel takes no round trip of more than 35 minutes: its RTO begins with a second")
    if rtt < _RTO_MAX / 2:
        raise ModelError("the RTO is the path's own, and not its bound")
    return Value(-(-int(1000 * rtt) // (1000 * _RTO_MAX)) - 1, "1")


@law(formula="tcp_keepalive_time + tcp_keepalive_probes × tcp_keepalive_intvl", source="RFC 9293, 3.8.4; tcp(7)")
def keepalive_timeout(scenario: Scenario) -> Value:
    """An idle connection ends when as many probes as there are have had no answer in their time.

    It holds where the first answer takes longer than all the probes' intervals.
    """
    unanswered = _KEEPALIVE_INTERVAL * _KEEPALIVE_PROBES
    if base_rtt(scenario, SYN).number < unanswered:
        raise ModelError("a probe is answered before the last one is given up")
    return Value(_KEEPALIVE_TIME + unanswered, "s")


def _last_syn(scenario: Scenario) -> int:
    """Return the seconds after which a connection is given up: the retries without back-off come on top of others."""
    retries = int(scenario.sender.node.sysctls.get("net.ipv4.tcp_syn_retries", _SYN_RETRIES)) + _linear(scenario)
    times = _syn_times(_linear(scenario))
    return [next(times) for _ in range(retries + 1)][-1]
