"""Links that change while frames are on them, each change at its moment; traces; losses in bursts; long delays."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import groupby, islice, pairwise
from statistics import correlation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab.guest import trace
from lab.guest.fabric import moments
from lab.guest.fabric.timeline import states
from lab.guest.network import Change, Direction, Shaper, Trace
from lab.units import Duration, Size
from tests.guest.fabric.conftest import FRAME, Case, Streams, even

RATE = 10e6
WIRE = 8e9 * (FRAME + 24)
MS = 10**6
LOSS = {"p": "2 %", "r": "20 %", "bad": "80 %", "good": "0.5 %"}


def mahimahi(seconds: int, seed: int) -> list[int]:
    """A cellular-like trace: opportunities in bunches, with silences of up to half a second."""
    chance, times, at = random.Random(seed), [], 0
    while at < 1000 * seconds:
        if chance.random() < 0.01:
            at += chance.randrange(500)
        times += [at] * chance.choice([0, 0, 0, 1, 1, 2, 5])
        at += 1
    return [time for time in times if time < 1000 * seconds] + [1000 * seconds]


TRACE = mahimahi(60, 1)
CSV = "duration,rate\n500 ms,10 Mbit/s\n250 ms,0 bit/s\n1 s,3 Mbit/s\n"
FAULT = {"every_about": "50 ms", "down": "5 ms"}
CASES = {
    "rate": Case(
        {
            "rate": "10 Mbit/s",
            "limit": "ample",
            "changes": [{"at": "100 ms", "rate": "2 Mbit/s"}, {"at": "300.5 ms", "rate": "20 Mbit/s"}],
        },
        [(0, 0, FRAME)] * 300,
    ),
    "delay": Case({"delay": "5 ms", "changes": [{"at": "50 ms", "delay": "30 ms"}]}, even(0.1, 100e6)),
    "loss": Case({"rate": "100 Mbit/s", "changes": [{"at": "1 s", "loss": "10 %"}]}, even(3, 50e6)),
    "down": Case({"rate": "100 Mbit/s", "changes": [{"at": "100 ms", "down": "200 ms"}]}, even(0.5, 20e6)),
    "copies": Case({"duplicate": "50 %", "changes": [{"at": "100 ms", "down": "200 ms"}]}, even(0.5, 20e6)),
    "trace": Case(
        {"trace": "lte"}, [(0, 0, FRAME)] * (len(TRACE) + 100), files={"lte": "\n".join(map(str, TRACE))}, drain_s=60.5
    ),
    "csv": Case({"trace": "steps.csv"}, [(0, 0, FRAME)] * 1500, files={"steps.csv": CSV}, drain_s=1.9),
    "idle": Case(
        {"trace": "slow"},
        [(15 * MS, 0, FRAME), (35 * MS, 0, FRAME), (35 * MS, 0, FRAME)],
        files={"slow": "10\n20\n30\n"},
        drain_s=0.1,
    ),
    "bursts": Case({"rate": "1 Gbit/s", "burst_loss": LOSS}, even(0.2, 100e6, size=100)),
    "long": Case({"rate": "1 Mbit/s", "delay": "180 min"}, [(0, 0, FRAME)], drain_s=3 * 3600 + 1),
    "slots": Case({"slot": {"min": "10 ms", "max": "10 ms"}}, even(0.1, 10e6)),
    "corrupt": Case({"rate": "1 Gbit/s", "corrupt": "10 %"}, even(0.2, 100e6, size=1000)),
    "handovers": Case(
        {
            "delay": "20 ms",
            "changes": [
                {"at": "1 s", "every": "2 s", "delay": "40 ms", "down": "100 ms"},
                {"at": "2 s", "every": "2 s", "times": 3, "delay": "20 ms"},
            ],
        },
        [(number * 10 * MS, 0, 100) for number in range(1000)],
    ),
    "faults": Case({"changes": [FAULT]}, [(number * MS, 0, 100) for number in range(10_000)], seed="7"),
    "jitter": Case({"delay": "3 s", "jitter": "2144 ms", "jitter_correlation": "90 %"}, even(20, 1e6), drain_s=6),
}


@pytest.fixture(scope="module")
def came(streams: Streams) -> dict[str, Any]:
    found = streams(CASES)
    assert [each["differences"] + each["timeline"]["differences"] for each in found.values()] == [[]] * len(found)
    return found


def gaps(out: Any) -> list[int]:
    times = [at for at, _ in out["came"]]
    return [after - before for before, after in pairwise(times)]


@pytest.mark.guest
def test_every_change_is_on_time(came: Any) -> None:
    done = [each for out in came.values() for each in out["timeline"]["done"]]
    repeated = {name: len(came[name]["timeline"]["done"]) for name in ("handovers", "faults")}
    assert len(done) == 2 + 1 + 1 + 2 + 2 + 3 + sum(repeated.values()), "and one entry for each trace"
    assert repeated["handovers"] == 5 + 5 + 3, "changes at 1, 3, 5, 7, 9 s, their ends, and three times back"
    assert max(each["late_ns"] for each in done) <= 1000


@pytest.mark.guest
def test_a_rate_changes_at_its_moment(came: Any) -> None:
    """Frames that begin before it take the old rate's time, all others the new one's; none is lost."""
    out = came["rate"]
    expected, at = [], 0.0
    for _ in range(300):
        rate = 10e6 if at < 100 * MS else 2e6 if at < 300.5 * MS else 20e6
        at += WIRE / rate
        expected.append(at)
    assert [at for at, _ in out["came"]] == pytest.approx(expected, abs=1000)


@pytest.mark.guest
def test_a_delay_changes_at_its_moment(came: Any) -> None:
    sends = CASES["delay"].sends
    for at, number in came["delay"]["came"]:
        sent = sends[number][0]
        assert at - sent == pytest.approx(5 * MS if sent < 50 * MS else 30 * MS, abs=1000)


@pytest.mark.guest
def test_a_loss_begins_at_its_moment(came: Any) -> None:
    sends = CASES["loss"].sends
    lost = set(range(len(sends))) - {number for _, number in came["loss"]["came"]}
    assert min(sends[number][0] for number in lost) >= 1e9
    after = sum(at >= 1e9 for at, _, _ in sends)
    assert abs(len(lost) - after * 0.1) < 3.29 * math.sqrt(after * 0.09)


@pytest.mark.guest
def test_a_link_that_is_down_loses_what_it_is_given(came: Any) -> None:
    sends = CASES["down"].sends
    lost = sorted(set(range(len(sends))) - {number for _, number in came["down"]["came"]})
    assert lost == [number for number, (at, _, _) in enumerate(sends) if 100 * MS <= at < 300 * MS]


@pytest.mark.guest
def test_a_change_repeats(came: Any) -> None:
    """The link is down for 100 ms at each odd second; the delay is short again at 2, 4 and 6 s, but not at 8 s."""
    sends = CASES["handovers"].sends
    found = {number: at - sends[number][0] for at, number in came["handovers"]["came"]}
    for number, (sent, _, _) in enumerate(sends):
        second, rest = divmod(sent // MS, 1000)
        if second % 2 and rest < 100:
            assert number not in found
        else:
            far = second >= 7 or second % 2
            assert found[number] == pytest.approx(40 * MS if far else 20 * MS, abs=1000)


@pytest.mark.guest
def test_the_seed_decides_when_faults_come(came: Any) -> None:
    """Every frame that meets one of the drawn faults is lost, and no other."""
    faults = []
    for at in moments.moments(Change(Duration(0), every_about=Duration.of("50 ms")), "7/path/forward/changes/0"):
        if at > 10_000 * MS:
            break
        faults.append(at)
    assert abs(len(faults) - 200) < 3.89 * math.sqrt(200), "a Poisson count"
    sends = CASES["faults"].sends
    met = {number for number, (at, _, _) in enumerate(sends) if any(0 <= at - fault < 5 * MS for fault in faults)}
    assert set(range(len(sends))) - {number for _, number in came["faults"]["came"]} == met


@pytest.mark.guest
def test_no_copy_crosses_a_link_that_is_down(came: Any) -> None:
    found = came["copies"]["came"]
    assert not [at for at, _ in found if 100 * MS <= at < 300 * MS]
    assert len(found) > len({number for _, number in found}), "there are copies before and after"


@pytest.mark.guest
def test_a_trace_reproduces_itself(came: Any) -> None:
    """As many full frames in each millisecond of the minute as the trace has opportunities, at its start."""
    assert Counter(at // MS for at, _ in came["trace"]["came"] if at < 60_000 * MS) == Counter(TRACE[:-1])
    assert all(at % MS <= 1000 for at, _ in came["trace"]["came"])


@pytest.mark.guest
def test_a_trace_in_steps_carries_its_rate(came: Any) -> None:
    """Cumulative: what has come by each millisecond is what the rates have made up by then, in whole frames."""
    arrived = Counter(at // MS for at, _ in came["csv"]["came"])
    total = 0
    for ms in range(1, 1751):
        total += arrived[ms]
        bits = min(ms, 500) * 10_000 + max(0, ms - 750) * 3_000
        assert total == bits // (8 * 1538)


@pytest.mark.guest
def test_an_opportunity_that_nobody_took_is_gone(came: Any) -> None:
    """Nothing took those at 10 and 30 ms; frames that come at 15, 35 and 35 ms still wait, each for one of its own."""
    assert [round(at / MS, 3) for at, _ in came["idle"]["came"]] == [20, 40, 50]


@pytest.mark.guest
def test_losses_come_in_bursts(came: Any) -> None:
    """The Gilbert-Elliott model's share of losses, and how often one loss follows another; both by the chain's law."""
    sends = len(CASES["bursts"].sends)
    arrived = {number for _, number in came["bursts"]["came"]}
    lost = [number not in arrived for number in range(sends)]
    p, r, bad, good = 0.02, 0.20, 0.80, 0.005
    in_bad = p / (p + r)
    share = in_bad * bad + (1 - in_bad) * good
    # Neighbours are alike: the chain remembers 1 - p - r of its state, so n frames say as much as fewer free ones.
    memory = 1 - p - r
    free = sends * (1 - memory) / (1 + memory)
    assert abs(sum(lost) / sends - share) < 3.29 * math.sqrt(share * (1 - share) / free)
    after = sum(one and other for one, other in pairwise(lost)) / sum(lost)
    pair = in_bad * bad * ((1 - r) * bad + r * good) + (1 - in_bad) * good * (p * bad + (1 - p) * good)
    assert after == pytest.approx(pair / share, abs=3.29 * math.sqrt(0.25 / sum(lost)))


@pytest.mark.guest
def test_hours_of_delay_are_exact(came: Any) -> None:
    ((at, _),) = came["long"]["came"]
    assert at == pytest.approx(3 * 3600e9 + WIRE / 1e6, abs=1000)


@pytest.mark.guest
def test_frames_leave_at_slots(came: Any) -> None:
    """All that came in 10 ms leave in one moment."""
    times = [at for at, _ in came["slots"]["came"]]
    moments = [moment for moment, _ in groupby(times)]
    assert 8 <= len(moments) <= 12
    assert all(after - before >= 10 * MS for before, after in pairwise(moments))


@pytest.mark.guest
def test_some_frames_are_corrupted(came: Any) -> None:
    """A flipped bit in the first hundred bytes makes some of them unreadable as ours: at most those are missing."""
    out = came["corrupt"]
    missing = len(CASES["corrupt"].sends) - len(out["came"])
    assert 0 < missing < 0.1 * 0.2 * len(CASES["corrupt"].sends)


@pytest.mark.guest
def test_jitter_is_correlated(came: Any) -> None:
    """Neighbours' delays are alike with 90 %, and within the jitter."""
    sends = CASES["jitter"].sends
    delays = {number: at - sends[number][0] for at, number in came["jitter"]["came"]}
    assert all(0.856e9 - 1000 <= delay <= 5.144e9 + 1000 for delay in delays.values())
    series = [delays[number] for number in range(len(sends))]
    assert correlation(series[:-1], series[1:]) == pytest.approx(0.9, abs=3.29 * math.sqrt((1 - 0.9**2) / len(sends)))


def test_gaps_by_chance_are_exponential() -> None:
    """Kolmogorov's distance from the law, the mean, and the independence of successive gaps, for a fixed seed."""
    count, mean = 20_000, Duration.of("10 s")
    found = [each / mean.ns for each in islice(moments.gaps("seed", mean), count)]
    places = [1 - math.exp(-each) for each in sorted(found)]
    distance = max(max((rank + 1) / count - place, place - rank / count) for rank, place in enumerate(places))
    assert distance < math.sqrt(math.log(2 / 1e-4) / 2 / count)
    assert sum(found) / count == pytest.approx(1, abs=3.89 / math.sqrt(count))
    assert abs(correlation(found[:-1], found[1:])) < 3.89 / math.sqrt(count)


def test_a_seed_decides_the_gaps() -> None:
    """So the bytes of a trial are the same on every machine. These are the first gaps of seed 1, in ns."""
    mean = Duration.of("10 s")
    assert list(islice(moments.gaps("1", mean), 3)) == [6862435794, 597422135, 21627635818]
    assert list(islice(moments.gaps("2", mean), 1)) != [6862435794]


def test_directions_share_a_fault_only_if_they_share_the_setting() -> None:
    def first(way: str, shared: bool) -> int:
        change = Change(Duration(0), every_about=Duration.of("10 s"), down=Duration.of("1 s"), shared=shared)
        return next(states(_direction(change), "1/path", way))[0]

    assert first("forward", shared=True) == first("back", shared=True)
    assert first("forward", shared=False) != first("back", shared=False)


def test_overlapping_faults_end_with_the_last() -> None:
    change = Change(Duration(0), every=Duration(10), times=2, down=Duration(15))
    found = [(at, now.loss) for at, now in states(_direction(change), "1/path", "forward")]
    assert found == [(0, 1.0), (10, 1.0), (15, 1.0), (25, 0.0)]


def test_a_link_that_is_down_duplicates_no_frame() -> None:
    """Of two copies, netem loses one, so a duplicate would come through."""
    change = Change(Duration(0), down=Duration(15))
    found = [
        (at, now.loss, now.duplicate)
        for at, now in states(structs.replace(_direction(change), duplicate=0.1), "1/path", "forward")
    ]
    assert found == [(0, 1.0, 0.0), (15, 0.0, 0.1)]


def _direction(*changes: Change) -> Direction:
    plain: Any = {"rate": None, "delay": Duration(0), "jitter": Duration(0), "mtu": Size(1500), "limit": 9}
    return Direction(**plain, loss=0, reorder=0, duplicate=0, shaper=Shaper.PATH, changes=changes)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=50).filter(any))
def test_a_trace_is_kept_whole(counts: list[int]) -> None:
    *moments, (period, _) = trace.decoded(Trace("x", trace.encoded(counts)))
    assert period == len(counts) - 1
    assert moments == [(at, count) for at, count in enumerate(counts) if count]
