"""Compute the number of bytes that Linux permits in flight: the receiver's window and the sender's buffer.

Both limits count `truesize`, the memory of packets (`lab.model.skb`), not payload.
"""

from __future__ import annotations

from lab.model.delayed_ack import TCP_MSS_DEFAULT
from lab.model.mss import heard, mss, own_segment
from lab.model.scenario import Scenario
from lab.model.skb import SHARED_INFO, SK_BUFF, gso_bytes, kmalloc, overhead, tcp_header
from lab.spec.prediction import law
from lab.units import Value

TCP_DEFAULT_SCALING_RATIO, TCP_RMEM_TO_WIN_SCALE = 128, 8
_RMEM_MAX, _RMEM_MAX_BEFORE, _RMEM_MAX_SINCE = 4 << 20, 212992, (6, 18)  # sysctl_rmem_max (net/core/sock.c)
_MEASURED_SINCE = (6, 6)  # "tcp: get rid of sysctl_tcp_adv_win_scale", dfa2f0483360


def segment_truesize(scenario: Scenario) -> int:
    """Return the memory, in bytes, of a full segment that arrives in its own frame: payload and an skb with a small
    head.

    skb_segment() gives each frame a head for its headers, and leaves the payload in page fragments.
    """
    return mss(scenario) + overhead(scenario.kernel)


def scaling_ratio(scenario: Scenario) -> int:
    """Return the share of the receive buffer that is advertised, in 256ths.

    Since 6.6, tcp_measure_rcv_mss() sets the share to payload / truesize of the first full segment, rounded down. If
    that segment is as long as tcp_initialize_rcv_mss() guessed, the kernel takes no measurement, and the share stays
    one half. Before 6.6, tcp_adv_win_scale (s) sets the share: 1 / 2^-s for s <= 0, else 1 - 1 / 2^s.
    """
    scale = adv_win_scale(scenario)
    if scale is not None:
        return win_by_scale(1 << TCP_RMEM_TO_WIN_SCALE, scale)
    if mss(scenario) == initial_rcv_mss(scenario):
        return TCP_DEFAULT_SCALING_RATIO
    return (mss(scenario) << TCP_RMEM_TO_WIN_SCALE) // segment_truesize(scenario)


def initial_rcv_mss(scenario: Scenario) -> int:
    """Return the receiver's first estimate of a full segment: tcp_initialize_rcv_mss()."""
    receiver = scenario.reversed()
    return min(own_segment(receiver), mss(receiver), TCP_MSS_DEFAULT)


def adv_win_scale(scenario: Scenario) -> int | None:
    """Return tcp_adv_win_scale if it sets the advertised share, or None if the kernel measures the share."""
    if scenario.kernel.version >= _MEASURED_SINCE:
        return None
    return scenario.receiver.sysctl("tcp_adv_win_scale")


def win_by_scale(space: int, scale: int) -> int:
    """Return the part of a buffer that tcp_adv_win_scale offers: tcp_win_from_space(). The kernel computes with whole
    numbers.
    """
    return space >> -scale if scale <= 0 else space - (space >> scale)


@law(formula="tcp_rmem[2] × payload / truesize", source="tcp_grow_window(), __tcp_select_window(), since Linux 6.6")
def window_plateau(scenario: Scenario) -> Value:
    """The advertised window grows up to a share of tcp_rmem[2]: the payload's share of a full segment's memory.

    Since 6.6, tcp_grow_window() stops at the space beside the segment being queued, and __tcp_select_window() rounds up
    to the window scale's unit. Before 6.6, tcp_adv_win_scale sets the share, and window_clamp is the bound.
    """
    return Value(rcv_window(scenario), "B")


def rcv_window(scenario: Scenario) -> int:
    """Return the bytes at which the advertised window stops growing, with the formula of `window_plateau`."""
    scale, unit = adv_win_scale(scenario), 1 << window_scale(scenario)
    if scale is None:
        window = (scenario.rcvbuf_max - segment_truesize(scenario)) * scaling_ratio(scenario) >> TCP_RMEM_TO_WIN_SCALE
    else:
        window = win_by_scale(scenario.rcvbuf_max, scale)
    return -(-window // unit) * unit


def smaller_window(scenario: Scenario) -> int:
    """Return the smaller of receive window and send buffer (tcp_wmem[2]), in bytes: the window in textbooks."""
    return min(rcv_window(scenario), scenario.sndbuf_max)


def window_scale(scenario: Scenario) -> int:
    """Return the shift that the SYN announces: ilog2(space) - 15, from 0 to 14 (tcp_select_initial_window()).

    The space is the larger of tcp_rmem[2] and net.core.rmem_max.
    """
    largest = _RMEM_MAX if scenario.kernel.version >= _RMEM_MAX_SINCE else _RMEM_MAX_BEFORE
    return min(max(max(scenario.rcvbuf_max, largest).bit_length() - 1 - 15, 0), 14)


def gso_segments(scenario: Scenario) -> int:
    """Return the largest number of segments in one skb, from the largest GSO packet or the interface's limit."""
    most = max(gso_bytes(scenario.kernel) // mss(scenario), 1)
    return min(most, scenario.sender.interface.gso_max_segs or most)


def initial_window(scenario: Scenario) -> int:
    """Return the bytes that the SYN-ACK offers: half of tcp_rmem[1], rounded by tcp_select_initial_window()."""
    expected = own_segment(scenario.reversed())
    return min(65535, scenario.receiver.sysctl("tcp_rmem", 1) // 2) // expected * expected


def sndbuf_per_segment(scenario: Scenario) -> int:
    """Return the bytes that tcp_sndbuf_expand() reserves for a segment: an skb with a linear head, a power of two."""
    linear = heard(scenario.reversed()) + tcp_header(scenario.kernel) + SHARED_INFO  # with the MSS before options
    return kmalloc(linear) + SK_BUFF
