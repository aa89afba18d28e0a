"""Queues in a guest against their laws and their RFCs' own numbers, by streams that do not answer."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from lab.machine.kernel import UmlKernel
from lab.model import codel, pie, red
from lab.units import Duration, Rate, Size
from tests.guest.fabric.conftest import FRAME, Case, Streams, even
from tests.guest.fabric.test_queue import has

pytestmark = pytest.mark.guest

RATE = Rate.of("10 Mbit/s")
WIRE = FRAME + 24
FRAME_NS = 8e9 * WIRE / RATE.bps
STANDING = 40  # frames that stand in RED's queue
RED = {"kind": "red", "limit": "1 MB", "min": "30 kB", "max": "90 kB", "probability": "10 %", "ewma": 5, "ecn": True}


def through(queue: Any, sends: Any, **more: Any) -> Case:
    return Case({"rate": str(RATE), "queue": queue}, sends, **more)


def twins(kind: str) -> Case:
    """One flow sends twice the link's rate, another a little less than its fair half."""
    return through({"kind": kind}, sorted([*even(4, 20e6, 0), *even(4, 4.9e6, 1)]), drain_s=0.2)


CASES = {
    "codel": through({"kind": "codel", "limit": 10000}, even(3, 20e6), drain_s=0.001),
    "codel-slow": through({"kind": "codel", "limit": 10000, "interval": "300 ms"}, even(3, 20e6), drain_s=0.001),
    "red": through(RED, sorted([(0, 0, FRAME)] * STANDING + even(25, RATE.bps))),
    "dctcp": through({**RED, "min": "30000 B", "max": "30001 B", "ewma": 0}, [(0, 0, FRAME)] * 100),
    "pie": through({"kind": "pie", "limit": 10000}, even(30, 12.5e6), drain_s=0.001),
    "fq_codel": twins("fq_codel"),
    "fq_pie": twins("fq_pie"),
    "cake": twins("cake"),
    "sfq": twins("sfq"),
    "fq": twins("fq"),
    "dualpi2": through({"kind": "dualpi2", "limit": 10000}, even(30, 12.5e6), drain_s=0.001, ecn=0),
    "dualpi2-l4s": Case({"rate": "100 Mbit/s", "queue": {"kind": "dualpi2"}}, [(0, 0, FRAME)] * 100, ecn=0b01),
    "pfifo": through({"kind": "pfifo", "limit": 20}, [(0, 0, FRAME)] * 100),
    "bfifo": through({"kind": "bfifo", "limit": f"{20 * FRAME} B"}, [(0, 0, FRAME)] * 100),
}


@pytest.fixture(scope="module")
def came(streams: Streams, kernel: UmlKernel) -> dict[str, Any]:
    cases = {name: case for name, case in CASES.items() if has(kernel, name.split("-")[0].replace("dctcp", "red"))}
    found = streams(cases)
    assert [each["differences"] for each in found.values()] == [[]] * len(found)
    return found


def queue_of(out: Any) -> Any:
    return next(each for each in out["qdiscs"] if each["interface"] == "q0b")


@pytest.mark.parametrize(("name", "interval"), [("codel", "100 ms"), ("codel-slow", "300 ms")])
def test_codel_drops_by_its_control_law(came: Any, name: str, interval: str) -> None:
    """Under twice the rate the sojourn passes 5 ms after 10 ms, and from then on drops follow the kernel's law."""
    above = 3 - 2 * codel.TARGET.seconds
    predicted = codel.drops_within(above, Duration.of(interval))
    assert queue_of(came[name])["drops"] == pytest.approx(predicted, rel=0.02, abs=1)


def test_red_marks_by_its_curve(came: Any) -> None:
    """Floyd and Jacobson: a queue that stands is marked at the curve's share. The average settles soon.

    At the moment at which a frame comes one has just left, so that it finds one fewer than stand there.
    """
    marks = queue_of(came["red"])["counted"]["marks"]
    sent = len(CASES["red"].sends)
    share = red.marked_share((STANDING - 1) * FRAME, Size.of("30 kB"), Size.of("90 kB"), 0.10)
    assert marks == pytest.approx(share * sent, rel=0.05)
    assert queue_of(came["red"])["drops"] == 0


def test_a_threshold_marks_what_comes_above_it(came: Any) -> None:
    """DCTCP's marking, RFC 8257, 3.1: of 100 frames at once, all that find more than 30 kB queued, and no other."""
    found = queue_of(came["dctcp"])
    below = 30_000 // FRAME + 1  # frames that find at most the threshold before them
    assert abs(found["counted"]["marks"] - (100 - 1 - below)) <= 1


@pytest.mark.parametrize("kind", ["pie", "dualpi2"])
def test_a_controller_keeps_its_target_and_drops_the_rest(came: Any, kind: str) -> None:
    """RFC 8033 and RFC 9332: a target of 15 ms, at the drop probability of what is offered too much: a fifth.

    DualPI2 does so for classic traffic, whose probability is the square of what its controller finds.
    """
    if kind not in came:
        pytest.skip(f"this kernel lacks {kind}")
    sends = CASES[kind].sends
    waited = [at - sends[number][0] - FRAME_NS for at, number in came[kind]["came"] if sends[number][0] > 15e9]
    assert fmean(waited) == pytest.approx(pie.TARGET.seconds * 1e9, rel=0.15)
    offered = sum(at > 15e9 for at, _, _ in sends)
    assert 1 - len(waited) / offered == pytest.approx(pie.drop_probability(Rate.of("12.5 Mbit/s"), RATE), abs=0.01)


def test_l4s_frames_are_marked_above_their_step(came: Any) -> None:
    """RFC 9332, A.1: of 100 L4S frames at once, all that wait for more than 1 ms, and no other; none is lost."""
    if "dualpi2-l4s" not in came:
        pytest.skip("this kernel lacks dualpi2")
    found = queue_of(came["dualpi2-l4s"])
    below = int(1e-3 * 100e6 / (8 * WIRE)) + 1  # frames that wait for 1 ms at most, the first for nothing
    assert abs(found["counted"]["marks"] - (100 - below)) <= 1
    assert (found["drops"], len(came["dualpi2-l4s"]["came"])) == (0, 100)


@pytest.mark.parametrize("kind", ["fq_codel", "fq_pie", "cake", "sfq", "fq"])
def test_a_fair_queue_shares_evenly(came: Any, kind: str) -> None:
    """A flow of twice the link's rate leaves the other its share, RFC 8290, 1.3; the FIFO that follows does not."""
    if kind not in came:
        pytest.skip(f"this kernel lacks {kind}")
    sends = CASES[kind].sends
    flows = [sends[number][1] for at, number in came[kind]["came"] if 2e9 < at < 4e9]
    shares = [flows.count(flow) * FRAME_NS / 2e9 for flow in (0, 1)]
    assert shares[0] == pytest.approx(shares[1], abs=0.03), "Jain's index is above 0.999"
    assert sum(shares) == pytest.approx(1, abs=0.001), "the link is full"


@pytest.mark.parametrize("kind", ["pfifo", "bfifo"])
def test_a_fifo_holds_its_limit_and_delays_by_little(came: Any, kind: str) -> None:
    """Of 100 frames at once, one is on its way and 20 wait, each for those before it, to the microsecond."""
    arrivals = [at for at, _ in came[kind]["came"]]
    assert len(arrivals) == 21
    assert arrivals == pytest.approx([FRAME_NS * (number + 1) for number in range(21)], abs=1000)
    assert queue_of(came[kind])["drops"] == 79
