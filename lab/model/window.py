"""Compute how many bytes Linux allows in flight: the receiver's window and the sender's buffer.

Both are counted in `truesize`, what packets cost in memory (`lab.model.skb`), and not in payload.
"""

from __future__ import annotations

from lab.model.delayed_ack import TCP_MSS_DEFAULT
from lab.model.mss import heard, mss, own_segment
from lab.model.scenario import Scenario
from lab.model.skb import SHARED_INFO, SK_BUFF, gso_bytes, kmalloc, overhead, tcp_header
from lab.prediction import law
from lab.units import Value

TCP_DEFAULT_SCALING_RATIO, TCP_RMEM_TO_WIN_SCALE = 128, 8
_RMEM_MAX, _RMEM_MAX_BEFORE, _RMEM_MAX_SINCE = 4 << 20, 212992, (6, 18)  # sysctl_rmem_max (net/core/sock.c)
_MEASURED_SINCE = (6, 6)  # "tcp: get rid of sysctl_tcp_adv_win_scale", dfa2f0483360


def segment_truesize(scenario: Scenario) -> int:
    """Return what a full segment costs that arrives in its own frame: its payload and an skb with a small head.

    skb_segment() gives each frame a head for its headers and leaves the payload in page fragments.
    """
    return mss(scenario) + overhead(scenario.kernel)


def scaling_ratio(scenario: Scenario) -> int:
    """Return the share of the receive buffer that is advertised, in 256ths.

    Since 6.6, tcp_measure_rcv_mss() takes payload / truesize of the first full segment, rounded down. Where that is as
    long as tcp_initialize_rcv_mss() guessed, it looks no further, and the share stays one half.
    Before 6.6, tcp_adv_win_scale (s) sets it: 1 / 2^-s for s <= 0, else 1 - 1 / 2^s.
    """
    scale = adv_win_scale(scenario)
    if scale is not None:
        return win_by_scale(1 << TCP_RMEM_TO_WIN_SCALE, scale)
    if mss(scenario) == initial_rcv_mss(scenario):
        return TCP_DEFAULT_SCALING_RATIO
    return (mss(scenario) << TCP_RMEM_TO_WIN_SCALE) // segment_truesize(scenario)


def initial_rcv_mss(scenario: Scenario) -> int:
    """Return what the receiver takes for a full segment before it has seen one: tcp_initialize_rcv_mss()."""
    receiver = scenario.reversed()
    return min(own_segment(receiver), mss(receiver), TCP_MSS_DEFAULT)


def adv_win_scale(scenario: Scenario) -> int | None:
    """Return tcp_adv_win_scale where it sets the share that is advertised; None where the share is measured."""
    if scenario.kernel.version >= _MEASURED_SINCE:
        return None
    return scenario.receiver.sysctl("tcp_adv_win_scale")


def win_by_scale(space: int, scale: int) -> int:
    """Return the share of a buffer that tcp_adv_win_scale offers: tcp_win_from_space(). What it subtracts is whole."""
    return space >> -scale if scale <= 0 else space - (space >> scale)


@law(formula="tcp_rmem[2] × payload / truesize", source="tcp_grow_window(), __tcp_select_window(), since Linux 6.6")
def window_plateau(scenario: Scenario) -> Value:
    """The advertised window grows up to a share of tcp_rmem[2]: what the payload takes of a full segment's memory.

    Since 6.6, tcp_grow_window() stops at the space next to the segment that is being queued, and
    __tcp_select_window() rounds up to what the window scale can express. Before, tcp_adv_win_scale sets the share, and
    window_clamp is the bound.
    """
    return Value(rcv_window(scenario), "B")


def rcv_window(scenario: Scenario) -> int:
    """Return the bytes at which the advertised window stops growing, as `window_plateau` says."""
    scale, unit = adv_win_scale(scenario), 1 << window_scale(scenario)
    if scale is None:
        window = (scenario.rcvbuf_max - segment_truesize(scenario)) * scaling_ratio(scenario) >> TCP_RMEM_TO_WIN_SCALE
    else:
        window = win_by_scale(scenario.rcvbuf_max, scale)
    return -(-window // unit) * unit


def smaller_window(scenario: Scenario) -> int:
    """Return the smaller of receive window and send buffer, tcp_wmem[2], in bytes: what textbooks call the window."""
    return min(rcv_window(scenario), scenario.sndbuf_max)


def window_scale(scenario: Scenario) -> int:
    """Return the shift announced in the SYN: ilog2(space) - 15, from 0 to 14 (tcp_select_initial_window()).

    The space is the larger of tcp_rmem[2] and net.core.rmem_max.
    """
    largest = _RMEM_MAX if scenario.kernel.version >= _RMEM_MAX_SINCE else _RMEM_MAX_BEFORE
    return min(max(max(scenario.rcvbuf_max, largest).bit_length() - 1 - 15, 0), 14)


def gso_segments(scenario: Scenario) -> int:
    """Return the most segments of one skb: the largest GSO packet's, or as many as the interface allows."""
    most = max(gso_bytes(scenario.kernel) // mss(scenario), 1)
    return min(most, scenario.sender.interface.gso_max_segs or most)


def initial_window(scenario: Scenario) -> int:
    """Return the bytes that the SYN-ACK offers: half of tcp_rmem[1], as tcp_select_initial_window() rounds it."""
    expected = own_segment(scenario.reversed())
    return min(65535, scenario.receiver.sysctl("tcp_rmem", 1) // 2) // expected * expected


def sndbuf_per_segment(scenario: Scenario) -> int:
    """Return what tcp_sndbuf_expand() reserves for a segment: an skb with a linear head, a power of two."""
    linear = heard(scenario.reversed()) + tcp_header(scenario.kernel) + SHARED_INFO  # the MSS is that before options
    return kmalloc(linear) + SK_BUFF
