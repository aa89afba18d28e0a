"""`make explain-truth`: what it draws, and how it reads the kernel's account."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from bench import explained
from lab.ext.explain.explaining import explain
from lab.ext.explain.limits import MEANING, Limit
from lab.ext.explain.page import render
from lab.metric.tcp_info import read

DATA = Path(__file__).parents[1] / "data"
DAY = "2026-11-01"


def test_a_date_decides_the_draw() -> None:
    one, other = (
        [(each.seed, each.case.network, each.case.workload) for each in map(partial(explained.draw, DAY), (1, 2, 3))]
        for _ in range(2)
    )
    assert one == other
    assert len({str(network) for _, network, _ in one}) == 3


def test_every_limit_has_a_meaning_a_group_and_a_colour() -> None:
    assert set(MEANING) == set(Limit)
    assert sorted(limit for limits in explained.GROUPS.values() for limit in limits) == sorted(Limit)
    page = render(explain(DATA / "lossy.pcap"))
    assert "limit-slow-start" in page


def test_the_account_covers_the_time_of_the_samples() -> None:
    samples = max(read(DATA / "lossy.tcp_info.bin"), key=len)
    drawn = next(each for each in (explained.draw(DAY, number) for number in range(1, 50)) if each.case.arm == "bulk")
    found = list(explained.account(samples, drawn))
    assert found[0][0] == samples.time_ns[0]
    assert found[-1][1] == samples.time_ns[-1]
    assert all(one[1] == other[0] for one, other in pairwise(found))
    assert {group for _, _, group in found} <= set(explained.GROUPS)
    assert "slow start" in {group for _, _, group in found}


def test_the_matrix_shows_the_share_of_each_row() -> None:
    compared = explained.Compared(1, "bulk", "sender", {("Nagle", "Nagle"): 3.0, ("Nagle", "application"): 1.0})
    assert compared.right == pytest.approx(0.75)
    table = explained.matrix([compared], "title")
    assert str(table.caption).startswith("75.0 % of 4 s")
