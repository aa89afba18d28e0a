"""The laws of several flows at one queue, against arithmetic done by hand, and what they do not cover."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab import model
from lab.model import ModelError, Scenario, in_step, red
from lab.model.in_step import Rival
from lab.units import Duration, Size
from tests.model.test_shared import shared

RED = {"kind": "red", "limit": "300 kB", "min": "15 kB", "max": "90 kB", "probability": "10 %", "ewma": 5}
FULL = 1538 * 8  # bits on the wire


def path(*kinds: str, farther: str = "0 ms", rate: str = "20 Mbit/s", **forward: Any) -> Scenario:
    """Flows over 20 ms, or with `farther` each way, behind this queue."""
    bottleneck = {"rate": rate, "forward": {"limit": None, **forward}}
    return shared(*kinds, links={"bottleneck": bottleneck, "rival-access": {"delay": farther}})


def ungreedy(about: Scenario) -> Scenario:
    """The same flows, but the last one writes once in a while."""
    *others, last = about.flows
    paced = replace(last.scenario, writer=structs.replace(last.scenario.writer, interval=Duration.of("1 s")))
    return replace(about, flows=(*others, replace(last, scenario=paced)))


def bounds(about: Scenario) -> tuple[float, float]:
    return model.share_at_full_queue(about).bounds


@pytest.mark.parametrize("kind", ["reno", "cubic"])
def test_equal_flows_share_equally_in_step_or_not(kind: str) -> None:
    assert bounds(path(*[kind] * 3, limit=100)) == pytest.approx((1 / 3, 1 / 3))


def test_a_round_trip_counts_twice_for_reno_in_step_and_once_by_chance() -> None:
    about = path("reno", "reno", farther="10 ms", limit=100)
    near, far = (model.base_rtt(flow.scenario).number for flow in about.flows)
    step = in_step.in_step([Rival("reno", near), Rival("reno", far)], 20e6 / FULL, 83 * FULL / 20e6)
    ratio = (far + step.wait) / (near + step.wait)
    assert bounds(about) == pytest.approx((ratio / (1 + ratio), ratio**2 / (1 + ratio**2)), rel=0.01)
    assert model.share_in_step(about).number == bounds(about)[1]


def test_a_round_trip_counts_once_for_cubic_in_step() -> None:
    # Windows that grow by time are equal: 1 Gbit/s and 100 ms are far beyond CUBIC's region of Reno.
    rivals = [Rival("cubic", 0.1), Rival("cubic", 0.2)]
    found = in_step.in_step(rivals, 1e9 / FULL, 0.1)
    assert found.windows[0] == found.windows[1]
    assert found.windows[0].top == pytest.approx(0.4 * found.period**3 / 0.3)
    assert sum(each.top / (rival.rtt + 0.1) for each, rival in zip(found.windows, rivals, strict=True)) == (
        pytest.approx(1e9 / FULL)
    )


def test_cubic_and_reno_are_equal_in_renos_region_and_not_beyond() -> None:
    assert bounds(path("reno", "cubic", limit=100)) == pytest.approx((0.5, 0.5), abs=1e-6)
    low, high = bounds(path("cubic", "reno", rate="500 Mbit/s", limit=2000))
    assert 0.5 < low < high


def test_two_of_reno_in_step_leave_half_of_a_queue_of_one_product() -> None:
    rivals = [Rival("reno", 0.1)] * 2
    assert in_step.in_step(rivals, 1000.0, 0.1).wait == pytest.approx(0.05)
    assert in_step.in_step(rivals, 1000.0, 0.3).wait == pytest.approx(0.2)  # of windows of 200, 150 on average
    about = path("reno", "reno", queue={"kind": "pfifo", "limit": 33})
    low, high = model.wait_at_full_queue(about).bounds
    full = 33 * FULL / 20e6
    assert low == pytest.approx(full / 2, rel=0.05)
    assert high == pytest.approx(full - (full - low) / sqrt(2))


def test_a_difference_halves_with_each_loss() -> None:
    # d = sqrt(1 / 0.95 - 1) = 0.229 takes three halvings; windows of 100 segments grow back by 50 in 50 round trips.
    about = path("reno", "reno", rate="100 Mbit/s", limit=245)
    longest = model.convergence_at_full_queue(0.95, 1.0)(about)
    period = 163 / 2 * 0.0304
    assert longest.number == pytest.approx(0.04 + 3 * period + 1, rel=0.05)
    assert longest.bounds == (1.0, longest.number)
    with pytest.raises(ValueError, match="an index of 1"):
        model.convergence_at_full_queue(1.0, 1.0)


def test_bbr_takes_what_the_bound_of_two_products_lets_in() -> None:
    # Ware and others (2019), equation 9, of one BBR flow and a queue of 8 products: 1/2 - 1/16 - 4/q. The least is
    # what a cut of one of two flows leaves: 3/4 of their windows, so that they have 2/3.
    product = 20e6 * 0.0203 / FULL
    about = path("bbr", "reno", "reno", limit=round(8.5 * product))
    others = 0.5 - 1 / 16 - 4 / (8 * product)
    probing = (9 * 0.0203 + 0.2) / 10
    least, most = (1 - 2 / 3) * (1 - probing), (1 - others) * (1 - probing)
    assert model.share_beside_bbr(about).bounds == pytest.approx((least, most), rel=0.01)
    other = model.share_beside_bbr(path("reno", "reno", "bbr", limit=round(8.5 * product)))
    assert other.bounds == pytest.approx(((1 - most) / 2, (1 - least) / 2), rel=0.01)


def test_beside_bbr_nothing_is_left_in_a_queue_of_one_product() -> None:
    product = 20e6 * 0.0204 / FULL
    assert model.share_beside_bbr(path("bbr", "cubic", limit=round(1.6 * product))).bounds[1] > 0.97


def test_a_sawtooth_below_the_path_uses_three_quarters_of_its_turns() -> None:
    # Reno far away: from half of the path to the whole, 3/4 on average; from a quarter, 5/8. BBR takes the rest.
    about = path("bbr", "reno", farther="300 ms", queue={"kind": "fq_codel"})
    assert model.share_of_fair_queue("f1")(about).bounds == pytest.approx((0.625 / 2, 0.75 / 2), rel=0.04)
    assert sum(model.share_of_fair_queue(name)(about).number for name in ("f0", "f1")) == pytest.approx(1)
    near = model.share_of_fair_queue("f1")(path("bbr", "reno", queue={"kind": "fq_codel"}))
    assert near.bounds == (near.number, near.number)  # two round trips end within CoDel's interval
    unequal = path("reno", "reno", farther="20 ms", queue={"kind": "fq_codel"})
    low, high = model.share_of_fair_queue("f0")(unequal).bounds
    assert 0.5 < low < high  # only the far flow may be cut twice, and the near one takes what it leaves
    equal = path("reno", "reno", "reno", queue={"kind": "cake"})
    assert [model.share_of_fair_queue(name)(equal).number for name in ("f0", "f1", "f2")] == pytest.approx([1 / 3] * 3)


def test_mathis_the_other_way_round() -> None:
    about = path("reno", "reno", queue={"kind": "pie"})
    window = 20e6 / FULL * (model.base_rtt(about.flows[0].scenario).number + 0.015) / 2
    assert model.dropped_by_aqm(about).number == pytest.approx(1.5 / window**2)
    assert model.share_by_chance(about).number == pytest.approx(0.5)
    far = path("reno", "reno", farther="10 ms", queue={"kind": "codel"})
    near, longer = (model.base_rtt(flow.scenario).number + 0.005 for flow in far.flows)
    assert model.share_by_chance(far).number == pytest.approx(longer / (near + longer))


def test_codel_lets_windows_grow_for_an_interval_and_cuts_one_of_them() -> None:
    # 20 Mbit/s over 25.4 ms with the target hold 41.3 packets. Two windows grow by 100 ms / 25.4 ms each, and a cut
    # takes half of one, an eighth of both on average.
    about = path("reno", "reno", queue={"kind": "codel"})
    rtt = model.base_rtt(about.flows[0].scenario).number + 0.005
    held = 20e6 / FULL * rtt
    window = (held + 2 * 0.1 / rtt - held / 8) / 2
    assert model.dropped_by_aqm(about).number == pytest.approx(1.5 / window**2)
    assert model.share_by_chance(about).number == pytest.approx(0.5)


def test_codel_drops_several_packets_in_a_long_round_trip() -> None:
    # In 185 ms, CoDel drops packets after 0, 100 and 170 ms (or 150, with the kernel's first root). Three packets hit
    # 2 (1 - 1/8) of two flows, so that 3 / 1.75 packets are lost for each cut.
    about = path("reno", "reno", queue={"kind": "codel"}, delay="170 ms")
    rtt = model.base_rtt(about.flows[0].scenario).number + 0.005
    window = (20e6 / FULL * rtt * (1 - 1.75 / 8) + 2 * 0.1 / rtt) / 2
    assert model.dropped_by_aqm(about).number == pytest.approx(1.5 / window**2 * 3 / 1.75, rel=0.01)


@given(st.integers(4, 5), st.floats(8, 14))
def test_red_rests_where_windows_of_random_losses_fill_the_link(count: int, megabits: float) -> None:
    about = path(*["reno"] * count, rate=f"{megabits:.3f} Mbit/s", queue=RED)
    wait = model.red_wait(about).number
    assert about.rate is not None
    rate = about.rate.bps / FULL
    loss = red.marked_share(wait * rate * 1514, Size(15_000), Size(90_000), 0.1)
    rtt = model.base_rtt(about.flows[0].scenario).number
    assert count * 1.31 / sqrt(loss) / (rtt + wait) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("law", "about", "message"),
    [
        (model.share_at_full_queue, path("reno", limit=100), "several flows"),
        (model.share_at_full_queue, path("reno", "bbr", limit=100), "for reno and cubic, not for bbr"),
        (
            model.share_at_full_queue,
            path("reno", "reno", queue={"kind": "pie"}),
            "queue is pie: the law is for a full FIFO",
        ),
        (model.share_at_full_queue, path("reno", "reno", limit=100, loss="1 %"), "frames by chance"),
        (model.share_at_full_queue, path(*["reno"] * 40, limit=100), r"has a window of 2\.\d segments"),
        (model.wait_at_full_queue, path("reno", "vegas", limit=100), "not for vegas"),
        (model.convergence_at_full_queue(0.9, 1), path(*["reno"] * 16, limit=100), r"windows fall to 3\.\d segments"),
        (model.convergence_at_full_queue(0.9, 1), path("reno", "cubic", limit=100), "the law is for equal flows"),
        (
            model.convergence_at_full_queue(0.9, 1),
            path("cubic", "cubic", rate="500 Mbit/s", limit=2000),
            "the law is for additive increase",
        ),
        (model.share_beside_bbr, path("bbr", "bbr", limit=100), "beside flows of Reno or of CUBIC"),
        (model.share_beside_bbr, path("bbr", "reno", "cubic", limit=100), "beside flows of Reno or of CUBIC"),
        (model.share_beside_bbr, path("bbr", "reno", limit=30), r"has 0\.\d+ bandwidth-delay products"),
        (model.share_beside_bbr, path("bbr", "reno", farther="1 ms", limit=99), "round trips differ"),
        (model.share_beside_bbr, path("bbr", "reno", limit=99, loss="2 %"), "frames by chance"),
        (model.share_beside_bbr, ungreedy(path("bbr", "reno", "reno", limit=99)), "always have more to send"),
        (model.share_of_fair_queue("f0"), path("reno", "reno", queue={"kind": "cake"}, loss="2 %"), "frames by chance"),
        (model.red_wait, path(*["reno"] * 4, rate="10 Mbit/s", queue=RED, loss="2 %"), "frames by chance"),
        (model.share_by_chance, path("reno", "reno", queue={"kind": "pie"}, loss="2 %"), "frames by chance"),
        (model.share_of_fair_queue("f0"), path("reno", "vegas", queue={"kind": "cake"}), "not for vegas"),
        (model.share_of_fair_queue("f0"), path("reno", "reno", queue={"kind": "codel"}), "the queue is codel"),
        (
            model.share_of_fair_queue("f2"),
            path("reno", "reno", queue={"kind": "cake"}),
            "no flow 'f2': the flows are f0, f1",
        ),
        (model.share_by_chance, path("reno", "reno", queue={"kind": "cake"}), "for codel, pie and red"),
        (model.share_by_chance, path(*["reno"] * 20, queue={"kind": "pie"}), "segments: the law is for more"),
        (model.dropped_by_aqm, path(*["reno"] * 20, queue={"kind": "pie"}), "segments: the law is for more"),
        (model.red_wait, path("cubic", "reno", queue=RED), "for flows of Reno"),
        (model.red_wait, path("reno", "reno", rate="1 Gbit/s", queue=RED), "between RED's thresholds"),
        (model.red_wait, path("reno", "reno", rate="60 Mbit/s", queue=RED), "runs empty after a cut"),
        (model.red_wait, path("reno", "reno", queue=RED | {"min": "60 kB"}), "near RED's first threshold"),
        (model.red_wait, path("reno", "reno", queue={"kind": "pie"}), "not RED"),
    ],
)
def test_a_law_says_what_it_does_not_cover(law: Any, about: Scenario, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        law(about)
