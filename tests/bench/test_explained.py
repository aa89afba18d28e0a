"""`make explain-truth`: what it draws, and how it reads the kernel's account."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from bench import backlog, explained, transfers
from bench.draw import Drawn
from lab.ext.explain.explaining import explain
from lab.ext.explain.limits import MEANING, Limit
from lab.ext.explain.page import render
from lab.metric.arrays import np
from lab.metric.tcp_info import FIELDS, Samples, read

DATA = Path(__file__).parents[1] / "data"
DAY = "2026-11-01"


def test_a_date_decides_the_draw() -> None:
    one, other = (
        [(each.seed, each.case.network, each.case.workload) for each in map(partial(transfers.draw, DAY), (1, 2, 3))]
        for _ in range(2)
    )
    assert one == other
    assert len({str(network) for _, network, _ in one}) == 3


def test_every_limit_has_a_meaning_a_group_and_a_colour() -> None:
    assert set(MEANING) == set(Limit)
    assert sorted(limit for limits in explained.GROUPS.values() for limit in limits) == sorted(Limit)
    page = render(explain(DATA / "lossy.pcap"))
    assert "limit-slow-start" in page


def _drawn(arm: str, congestion: str = "") -> Drawn:
    """Draw a transfer of this kind."""
    drawn = (transfers.draw(DAY, number) for number in range(1, 200))
    return next(
        each
        for each in drawn
        if each.case.arm == arm and congestion in ("", getattr(each.case.workload, "congestion", ""))
    )


NO_QUEUE = backlog.Queue(np.zeros(0, np.int64), np.zeros(0, np.int64))


def test_the_account_covers_the_time_of_the_samples() -> None:
    samples = max(read(DATA / "lossy.tcp_info.bin"), key=len)
    found = list(explained.account(samples, _drawn("bulk"), NO_QUEUE))
    assert found[0][0] == samples.time_ns[0]
    assert found[-1][1] == samples.time_ns[-1]
    assert all(one[1] == other[0] for one, other in pairwise(found))
    groups = {group for _, _, both in found for group in both}
    assert groups <= set(explained.GROUPS)
    assert "slow start" in groups


def _accounted(drawn: Drawn, **state: int | tuple[int, ...]) -> str:
    """Return the account of the first of two intervals of 10 ms, whose ends have this state. Tuples are columns."""
    return _at_both_ends(drawn, **state)[1]


def _at_both_ends(drawn: Drawn, **state: int | tuple[int, ...]) -> tuple[str, str]:
    """Return the account at the start and at the end of the first interval."""
    usual = {"snd_cwnd": 10, "snd_ssthresh": 0x7FFFFFFF, "snd_mss": 1448, "rtt": 20_000, "min_rtt": 20_000}
    raw = np.zeros((3, max(at + np.dtype(kind).itemsize for at, kind in FIELDS.values())), np.uint8)
    for row in range(3):
        grown = {"busy_time": (0, 10_000, 20_000), "bytes_sent": (0, 1, 2)}
        for name, column in {**usual, **grown, **state}.items():
            value = column[row] if isinstance(column, tuple) else column
            at, kind = FIELDS[name]
            raw[row, at : at + np.dtype(kind).itemsize] = np.frombuffer(np.array([value], kind).tobytes(), np.uint8)
    samples = Samples(10**7 * np.arange(3), 5001, 5001, raw)
    return next(explained.account(samples, drawn, NO_QUEUE))[2]


def test_time_in_which_the_kernel_had_no_data_is_the_programs() -> None:
    assert _accounted(_drawn("bulk"), busy_time=(0, 2_000, 4_000)) == "application"
    assert _accounted(_drawn("slow-writer"), busy_time=(0, 2_000, 4_000)) == "application"


def test_a_lost_syn_is_no_time_out_of_data() -> None:
    waits: dict[str, int | tuple[int, ...]] = {"unacked": 1, "total_retrans": (0, 0, 1), "busy_time": 0}
    assert _accounted(_drawn("bulk"), **waits, bytes_sent=0) == "application"
    assert _accounted(_drawn("bulk"), **waits, bytes_sent=1448) == "congestion window"


def test_a_full_buffer_and_the_timer_are_both_right_while_the_sender_waits_for_the_timer() -> None:
    waits: dict[str, int | tuple[int, ...]] = {"unacked": 5, "sndbuf_limited": (0, 10_000, 20_000)}
    assert _at_both_ends(_drawn("bulk"), **waits) == ("send buffer", "send buffer")
    waits["total_retrans"] = (0, 0, 1)
    assert _at_both_ends(_drawn("bulk"), **waits) == ("congestion window", "send buffer")
    waits["bytes_acked"] = (0, 1, 2)
    assert _at_both_ends(_drawn("bulk"), **waits) == ("send buffer", "send buffer")


@pytest.mark.parametrize("tail", [0, 100])
def test_a_program_that_never_rests_waits_for_its_buffer(tail: int) -> None:
    for arm in ("bulk", "slow-reader"):
        assert _accounted(_drawn(arm), unacked=5, notsent_bytes=tail) == "send buffer"
    assert _accounted(_drawn("slow-writer"), unacked=5, notsent_bytes=tail) == ("Nagle" if tail else "application")


def test_between_two_samples_it_is_not_known_when_the_state_changed() -> None:
    filled: dict[str, int | tuple[int, ...]] = {
        "unacked": (10, 5, 5),
        "notsent_bytes": (10**6, 0, 0),
        "snd_ssthresh": 8,
    }
    assert _at_both_ends(_drawn("bulk", "cubic"), **filled) == ("congestion window", "send buffer")
    filled["rwnd_limited"] = (0, 8_000, 16_000)
    assert _at_both_ends(_drawn("bulk", "cubic"), **filled) == ("receive window", "receive window")


def test_data_that_arrived_behind_a_hole_uses_the_rate_too() -> None:
    drawn = _drawn("bulk", "cubic")
    rate = drawn.case.network.links[0].forward.rate
    assert rate is not None
    carried = round(rate.bps * explained.PAYLOAD / 8 / 100 / 1448) + 1  # segments in 10 ms
    recovering = {"unacked": 10**6, "notsent_bytes": 10**6, "snd_ssthresh": 8, "ca_state": 3, "rtt": 10_000}
    assert _accounted(drawn, **recovering) == "congestion window"
    assert _accounted(drawn, **recovering, sacked=(0, carried, 2 * carried)) == "bottleneck rate"


def test_slow_start_is_told_by_what_each_congestion_control_does_with_ssthresh() -> None:
    full = {"unacked": 10, "notsent_bytes": 10**6}
    assert _accounted(_drawn("bulk", "cubic"), **full) == "slow start"
    assert _accounted(_drawn("bulk", "cubic"), **full, snd_ssthresh=20) == "slow start", "after a time-out"
    assert _accounted(_drawn("bulk", "cubic"), **full, snd_ssthresh=20, ca_state=3) == "congestion window"
    assert _accounted(_drawn("bulk", "bbr"), **full) == "slow start"
    assert _accounted(_drawn("bulk", "bbr"), **full, snd_ssthresh=20) == "congestion window"


def test_a_queue_stands_while_segments_would_wait_in_the_mean_of_a_round_trip() -> None:
    ms = 1_000_000
    burst = backlog.Queue(np.array([0, 0, 0, 100]) * ms, np.array([2, 4, 16, 1]) * ms)
    moments = np.array([5, 9, 15, 30, 101]) * ms
    assert burst.stood(moments, 10 * ms).tolist() == [True, True, True, False, False]
    assert burst.stood(moments, 100 * ms).tolist() == [False] * 5
    assert not NO_QUEUE.stood(moments, 10 * ms).any()


def test_the_matrix_shows_the_share_of_each_row() -> None:
    compared = explained.Compared(1, "bulk", "sender", True, {("Nagle", "Nagle"): 3.0, ("Nagle", "application"): 1.0})
    assert compared.right == pytest.approx(0.75)
    table = explained.matrix([compared], "title")
    assert str(table.caption).startswith("75.0 % of 4 s")
