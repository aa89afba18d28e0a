"""Each random setting has the distribution that it states, over the range that a topology may give it, by real frames.

Chance is held to intervals that a right distribution leaves once in 10,000 times; each case has its seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.guest.fabric import jitter
from lab.spec.changing import MOST_JITTER
from lab.units import Duration
from tests.guest.fabric.conftest import Case, Streams

COUNT, APART_NS, MS = 4000, 100_000, 10**6
SIGMAS = 3.89  # of the normal distribution, once in 10,000 times
KS = math.sqrt(math.log(2 / 1e-4) / 2)  # Kolmogorov's distance, times the root of the count
SIZE = 100  # bytes
SENDS = [(number * APART_NS, 0, SIZE) for number in range(COUNT)]

JITTERS = ("50 us", "1 ms", "17 ms", "25 ms", "100 ms", "500 ms", "1200 ms", "1500 ms", "2000 ms", "2147 ms")
SHARES = (0.001, 0.01, 0.3, 0.9, 1.0)
CORRELATIONS = (0.01, 0.5, 0.9)
SLOTS = (("10 ms", "50 ms"), ("0 ms", "2147 ms"))
BURSTS = ((0.001, 0.9), (0.3, 0.3), (0.9, 0.05))


def percent(share: float) -> str:
    return f"{100 * share:.10g} %"


def late(jitter_: str) -> float:
    """Seconds after which all has come."""
    return 2 * Duration.of(jitter_).seconds + 1


CASES = {
    **{f"jitter {each}": Case({"delay": each, "jitter": each}, SENDS, drain_s=late(each)) for each in JITTERS},
    "jitter about a delay": Case({"delay": "3 s", "jitter": "1500 ms"}, SENDS, drain_s=6),
    **{
        f"correlation {each}": Case(
            {"delay": "3 s", "jitter": "2144 ms", "jitter_correlation": percent(each)}, SENDS, drain_s=7
        )
        for each in CORRELATIONS
    },
    **{f"loss {each}": Case({"loss": percent(each)}, SENDS) for each in SHARES},
    **{f"duplicate {each}": Case({"duplicate": percent(each)}, SENDS) for each in SHARES},
    "loss and duplicate": Case({"loss": "30 %", "duplicate": "40 %"}, SENDS),
    **{f"reorder {each}": Case({"delay": "1 s", "reorder": percent(each)}, SENDS, drain_s=2) for each in SHARES},
    **{f"corrupt {each}": Case({"corrupt": percent(each)}, SENDS, whole=True) for each in SHARES},
    **{
        f"slot {least} {most}": Case({"slot": {"min": least, "max": most}}, _sends, drain_s=4)
        for (least, most), _sends in (
            (SLOTS[0], [(number * MS // 2, 0, SIZE) for number in range(2 * COUNT)]),
            (SLOTS[1], [(number * 20 * MS, 0, SIZE) for number in range(2 * COUNT)]),
        )
    },
    **{f"burst {p} {r}": Case({"burst_loss": {"p": percent(p), "r": percent(r)}}, SENDS) for p, r in BURSTS},
}


@pytest.fixture(scope="module")
def came(streams: Streams) -> Mapping[str, Any]:
    """What came of each case, all in one guest."""
    return streams(CASES)


def distance(values: Sequence[float], least: float, most: float) -> float:
    """Kolmogorov's distance between the values and an even distribution from `least` to `most`."""
    places = [min(1.0, max(0.0, (value - least) / (most - least))) for value in sorted(values)]
    count = len(places)
    return max(max((rank + 1) / count - place, place - rank / count) for rank, place in enumerate(places))


def by_chance(found: int, count: int, chance: float) -> bool:
    return abs(found - count * chance) <= SIGMAS * math.sqrt(count * chance * (1 - chance))


def delays(case: Mapping[str, Any], sends: Sequence[tuple[int, int, int]] = SENDS) -> list[int]:
    """ns that each frame took, in the order in which they were sent."""
    return [at - sends[number][0] for number, at in sorted((number, at) for at, number in case["came"])]


@pytest.mark.guest
@pytest.mark.parametrize("each", JITTERS)
def test_a_jitter_is_even(came: Mapping[str, Any], each: str) -> None:
    found, width = delays(came[f"jitter {each}"]), 2 * Duration.of(each).ns
    assert len(found) == COUNT
    assert distance(found, 0, width) < KS / math.sqrt(COUNT)
    assert fmean(found) == pytest.approx(width / 2, abs=SIGMAS * width / math.sqrt(12 * COUNT))


@pytest.mark.guest
def test_a_delay_is_the_mean_of_its_jitter(came: Mapping[str, Any]) -> None:
    """netem by itself makes 2.743 s of 3 s, plus or minus 1.5 s."""
    found = delays(came["jitter about a delay"])
    assert fmean(found) == pytest.approx(3e9, abs=SIGMAS * 3e9 / math.sqrt(12 * COUNT))
    assert 1.5e9 <= min(found) < max(found) <= 4.5e9


@pytest.mark.guest
@pytest.mark.parametrize("each", CORRELATIONS)
def test_a_correlation_narrows_the_jitter(came: Mapping[str, Any], each: float) -> None:
    """Each draw is a mean of a new one and the one before, so the spread is that of an autoregressive series."""
    found = delays(came[f"correlation {each}"])
    spread = 2 * 2.144e9 / math.sqrt(12) * math.sqrt((1 - each) / (1 + each))
    free = COUNT * (1 - each) / (1 + each)
    assert fmean(found) == pytest.approx(3e9, abs=SIGMAS * spread / math.sqrt(free))
    assert stdev(found) == pytest.approx(spread, rel=SIGMAS / math.sqrt(2 * COUNT * (1 - each**2) / (1 + each**2)))
    middle = fmean(found)
    alike = sum((one - middle) * (other - middle) for one, other in pairwise(found)) / sum(
        (one - middle) ** 2 for one in found
    )
    assert alike == pytest.approx(each, abs=SIGMAS * math.sqrt(max(1 - each**2, 0.01) / COUNT) + 0.002)


@pytest.mark.guest
@pytest.mark.parametrize("share", SHARES)
def test_so_many_frames_are_lost(came: Mapping[str, Any], share: float) -> None:
    assert by_chance(COUNT - len(came[f"loss {share}"]["came"]), COUNT, share)


@pytest.mark.guest
@pytest.mark.parametrize("share", SHARES)
def test_so_many_frames_come_twice(came: Mapping[str, Any], share: float) -> None:
    times = Counter(number for _, number in came[f"duplicate {share}"]["came"])
    assert set(times) == set(range(COUNT))
    assert set(times.values()) <= {1, 2}
    assert by_chance(sum(each == 2 for each in times.values()), COUNT, share)


@pytest.mark.guest
def test_a_frame_that_is_lost_and_doubled_comes_once(came: Mapping[str, Any]) -> None:
    """Of a doubled frame the second may be lost, too, by a draw of its own."""
    loss, double = 0.3, 0.4
    times = Counter(number for _, number in came["loss and duplicate"]["came"])
    assert by_chance(COUNT - len(times), COUNT, loss * (1 - double))
    assert by_chance(sum(each == 2 for each in times.values()), COUNT, double * (1 - loss) ** 2)


@pytest.mark.guest
@pytest.mark.parametrize("share", SHARES)
def test_so_many_frames_overtake(came: Mapping[str, Any], share: float) -> None:
    found = delays(came[f"reorder {share}"])
    assert all(each < MS or abs(each - 1000 * MS) < MS for each in found)
    assert by_chance(sum(each < MS for each in found), COUNT, share)


@pytest.mark.guest
@pytest.mark.parametrize("share", SHARES)
def test_so_many_frames_have_one_bit_flipped(came: Mapping[str, Any], share: float) -> None:
    """The bit is anywhere in the frame, evenly."""
    case = came[f"corrupt {share}"]
    came_ = [int(each, 16) for each in case["bytes"] if len(each) == 2 * SIZE]
    flipped = [one ^ other for one, other in zip((int(each, 16) for each in case["sent"]), came_, strict=True)]
    places = [8 * SIZE - each.bit_length() for each in flipped if each]
    assert all(each.bit_count() <= 1 for each in flipped)
    assert by_chance(len(places), COUNT, share)
    assert distance(places, 0, 8 * SIZE - 1) < KS / math.sqrt(len(places)) + 1 / (8 * SIZE)


@pytest.mark.guest
@pytest.mark.parametrize(("least", "most"), SLOTS)
def test_slots_are_evenly_apart(came: Mapping[str, Any], least: str, most: str) -> None:
    """A slot opens so long after the frame that found none open, which is the first after the slot before."""
    moments = [moment for moment, _ in groupby(at for at, _ in came[f"slot {least} {most}"]["came"])]
    gaps = [after - before for before, after in pairwise(moments)]
    assert len(gaps) > 50
    assert distance(gaps, Duration.of(least).ns, Duration.of(most).ns) < KS / math.sqrt(len(gaps)) + 0.02


@pytest.mark.guest
@pytest.mark.parametrize(("p", "r"), BURSTS)
def test_bursts_are_as_long_and_as_often_as_stated(came: Mapping[str, Any], p: float, r: float) -> None:
    arrived = {number for _, number in came[f"burst {p} {r}"]["came"]}
    lost = [number not in arrived for number in range(COUNT)]
    turns = Counter(pairwise(lost))
    begun, kept = turns[False, True], turns[False, False]
    ended, stayed = turns[True, False], turns[True, True]
    assert by_chance(begun, begun + kept, p)
    assert by_chance(ended, ended + stayed, r)


@given(st.integers(1, MOST_JITTER.ns))
def test_every_jitter_is_drawn_evenly_enough(ns: int) -> None:
    """Either netem's own draw is even to 0.2 %, or a table makes it so, by tabledist()'s own arithmetic."""
    table = jitter.table(Duration(ns))
    if table is None:
        assert jitter.unevenness(Duration(ns)) <= jitter.MOST_UNEVEN
        return
    steps = memoryview(table).cast("h")
    drawn = [_tabledist(ns, step) for step in steps]
    assert len(steps) <= 16_384, "NETEM_DIST_MAX"
    assert sum(drawn) == 0
    assert drawn == sorted(drawn)
    assert -ns <= drawn[0] < drawn[-1] <= ns
    assert distance(drawn, -ns, ns) < 1e-4


def test_an_uneven_draw_is_short_by_as_much_as_it_is_uneven() -> None:
    """What netem by itself makes of 3 s, plus or minus 1.5 s; and what shipped claims have stays as it was."""
    assert 3 - 1.5 * jitter.unevenness(Duration.of("1500 ms")) == pytest.approx(2.743, abs=0.0005)
    assert jitter.table(Duration.of("25 ms")) is None


def _tabledist(sigma: int, step: int) -> int:
    """What net/sched/sch_netem.c adds to the delay for one step of the table, with C's division."""
    rest = sigma % 8192 * step
    rest += 4096 if rest >= 0 else -4096
    return (abs(rest) // 8192) * (1 if rest >= 0 else -1) + sigma // 8192 * step
