"""The hold-out's cases follow from a date, and cover what the distribution says."""

from collections import Counter
from datetime import date
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.draw import BUFFERS, FRAMES, KERNELS, LIMITS, MTUS, RATES, Dice, Drawn, draw
from lab.guest.network import Shaper
from lab.guest.workload import Bulk
from lab.model import KernelTraits, Scenario
from lab.units import to_plain

DAY = "2026-01-01"


@cache
def many() -> list[Drawn]:
    """The first cases of a day: number 1 is at 0."""
    return [draw(DAY, number) for number in range(1, 401)]


def plain(drawn: Drawn) -> Any:
    case = drawn.case
    return drawn.number, drawn.kernel, drawn.seed, case.key, to_plain([case.network, case.workload, *case.probes])


@pytest.mark.long
def test_a_date_and_a_number_decide_a_case_whatever_was_drawn_before() -> None:
    assert [plain(draw(DAY, number)) for number in (400, 17, 1)] == [
        plain(many()[number - 1]) for number in (400, 17, 1)
    ]


@pytest.mark.long
def test_every_other_date_draws_others() -> None:
    assert not [each for each in many()[:50] if plain(draw("2026-01-02", each.number))[1:] == plain(each)[1:]]


def test_dice_fall_the_same_on_every_python() -> None:
    dice = Dice("2026-01-01 1")
    assert [dice.choose(range(1000)) for _ in range(5)] == [134, 532, 716, 749, 945]


def test_dice_are_fair() -> None:
    dice = Dice("fair")
    seen = Counter(dice.choose("abcd") for _ in range(10_000))
    assert all(2300 < seen[face] < 2700 for face in "abcd")
    assert 2300 < sum(dice.happens(0.25) for _ in range(10_000)) < 2700
    decades = Counter(len(str(int(dice.between((1, 10_000))))) for _ in range(10_000))
    assert all(2300 < decades[digits] < 2700 for digits in (1, 2, 3, 4))


@pytest.mark.long
def test_all_kinds_and_kernels_and_settings_come() -> None:
    ways = [way for each in many() for link in each.case.network.links for way in (link.forward, link.back)]
    kinds = Counter(each.case.arm for each in many())
    assert len(kinds) == 19
    assert min(kinds.values()) >= 2
    assert {each.kernel for each in many()} == set(KERNELS)
    assert {len(each.case.network.links) for each in many()} == {1, 2}
    assert {getattr(each.case.workload, "ip", 4) for each in many()} == {4, 6}
    for what in ("loss", "reorder", "duplicate"):
        assert any(getattr(way, what) for way in ways)
    assert any(way.jitter for way in ways)
    assert any(way.shaper is Shaper.NIC for way in ways)
    assert any(not way.delay for way in ways)
    assert {len(str(way.rate.bps)) for way in ways if way.rate} == {7, 8, 9, 10}  # every decade
    offloads = [end.offloads for each in many() for link in each.case.network.links for end in link.ends]
    assert any(each.tso for each in offloads)
    assert any(each.gro for each in offloads)
    stamps = Counter(each.case.network.node("sender").sysctls["net.ipv4.tcp_timestamps"] for each in many())
    assert stamps["1"] > stamps["0"] > 30


@pytest.mark.long
def test_half_of_the_links_are_the_same_both_ways() -> None:
    links = [link for each in many() for link in each.case.network.links]
    assert 0.4 < sum(link.forward == link.back for link in links) / len(links) < 0.6


@given(st.dates(date(2020, 1, 1), date(2100, 1, 1)), st.integers(1, 10_000))
def test_every_case_has_a_scenario_within_the_distribution(day: date, number: int) -> None:
    case = draw(day.isoformat(), number).case
    scenario = Scenario.of(case.network, case.path, KernelTraits(), case.workload)
    for hop in (*scenario.forward, *scenario.reverse):
        assert hop.rate
        assert RATES[0] - 1000 <= hop.rate.bps <= RATES[1]
        assert MTUS[0] <= hop.mtu.bytes <= MTUS[1]
        assert hop.limit >= LIMITS[0]
    assert all(BUFFERS[0] <= size <= BUFFERS[1] for size in (scenario.sndbuf_max, scenario.rcvbuf_max))
    if isinstance(case.workload, Bulk) and scenario.rate:
        smallest = min(hop.mtu.bytes for hop in scenario.forward) + 38
        size = case.workload.size.bytes if case.workload.size else 0
        seconds = 0 if case.workload.size else case.workload.duration.seconds
        assert max(size, seconds * scenario.rate.bps / 8) <= 1.01 * FRAMES * smallest
