"""The laws of several flows, and of random loss, against arithmetic done by hand; and what they do not cover."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.guest.task import Writer
from lab.guest.workload import Bulk, Flows, Netcat
from lab.guest.workload import Flow as Named
from lab.model import KernelTraits, ModelError, Scenario
from lab.spec import find
from lab.spec.changes import Changes
from tests.model.scenarios import hop, scenario


def shared(*congestion: str, **changes: Any) -> Scenario:
    """Flows from both senders of shared-bottleneck in turn."""
    network = find.topology("shared-bottleneck").resolve(Changes(**changes))
    hosts = ("sender", "rival") * len(congestion)
    flows = [
        Named(f"f{number}", Bulk(client=host, congestion=each))
        for number, (host, each) in enumerate(zip(hosts, congestion, strict=False))
    ]
    return Scenario.of(network, ("sender", "receiver"), KernelTraits(), Flows(tuple(flows)))


def lossy(p: float, congestion: str = "reno", delay: str = "10 ms") -> Scenario:
    there = hop("100 Mbit/s", delay, loss=p)
    return scenario(there, hop("100 Mbit/s", delay), writer=Writer(congestion=congestion))


@pytest.mark.parametrize("count", [2, 3, 50])
@pytest.mark.parametrize("congestion", ["reno", "cubic"])
def test_equals_share_equally(count: int, congestion: str) -> None:
    flows = shared(*[congestion] * count)
    assert model.fair_share(flows).number == 1 / count
    assert model.fairness_index(flows).number == 1
    assert model.total_goodput(flows).number == pytest.approx(100e6 * 1448 / 1538)


def test_each_flow_has_a_way_of_its_own() -> None:
    flows = shared("reno", "cubic", links={"rival-access": {"delay": "5 ms"}}).flows
    assert [flow.name for flow in flows] == ["f0", "f1"]
    assert [flow.scenario.writer.congestion for flow in flows] == ["reno", "cubic"]
    near, far = (model.base_rtt(flow.scenario).number for flow in flows)
    assert far - near == pytest.approx(0.010)


def test_a_server_that_sends_is_where_the_way_begins() -> None:
    network = find.topology("shared-bottleneck").resolve(Changes())
    fetched = Flows((Named("a", Netcat(client="receiver", server="rival")),))
    (flow,) = Scenario.of(network, ("sender", "receiver"), KernelTraits(), fetched).flows
    assert (flow.scenario.sender.node.name, flow.scenario.receiver.node.name) == ("rival", "receiver")
    assert flow.scenario.client == "receiver"


def test_of_two_round_trips_the_shorter_gets_the_square_of_the_ratio_more() -> None:
    # 20.3 ms of idle path and 10 ms of queue on average, against 20 ms more of path.
    flows = shared("reno", "reno", links={"rival-access": {"delay": "10 ms"}})
    near, far = (model.base_rtt(flow.scenario).number for flow in flows.flows)
    queue = (245 * 1538 * 8 / 100e6 - 0.010) / 2
    square = ((far + queue) / (near + queue)) ** 2
    assert square == pytest.approx((50 / 30) ** 2, rel=0.02)
    assert model.share_in_step(flows).number == pytest.approx(square / (1 + square), rel=0.01)
    assert model.share_in_step(shared("reno", "reno")).number == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("law", "about", "message"),
    [
        (model.fair_share, shared("cubic", "bbr"), r"differs \(bbr, cubic\)"),
        (model.fair_share, shared("reno", "reno", links={"rival-access": {"delay": "1 ms"}}), "round trips differ"),
        (model.fair_share, shared("reno"), "a single flow shares nothing"),
        (model.fair_share, shared("bbr", "bbr"), "bbr has no additive increase"),
        (model.fairness_index, shared(*["reno"] * 90), r"each of 90 flows has a window of 3\.\d segments"),
        (model.total_goodput, shared("reno", "reno", links={"bottleneck": {"forward": {"limit": 120}}}), "runs empty"),
        (model.share_in_step, shared("reno", "bbr"), "the law is for reno and cubic, not for bbr"),
        (model.goodput_bulk, shared("reno", "reno"), "several flows share the path"),
        (model.goodput_response_reno, lossy(0.001, "cubic"), "the law is for reno"),
        (model.goodput_response_reno, lossy(0), "a loss above 0"),
        (model.goodput_response_reno, lossy(0.05), "up to 2 %"),
        (model.goodput_response_reno, lossy(0.00005), "nearly full"),
        (model.completion_time_by_rounds, lossy(0), "a client that fetches"),
    ],
)
def test_a_law_says_what_it_does_not_cover(law: Any, about: Scenario, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        law(about)


def test_the_response_functions_are_the_published_ones() -> None:
    # RFC 9438, section 5.1: the windows of its table, RTT 100 ms, of Reno and of CUBIC.
    for p, reno, cubic in ((1e-2, 12, 12), (1e-3, 38, 38), (1e-4, 120, 187), (1e-5, 379, 1054)):
        assert model.window_reno(p) == pytest.approx(reno, rel=0.03)
        assert model.window_cubic(p, 0.1) == pytest.approx(cubic, rel=0.03)


@given(st.floats(0.002, 0.02), st.integers(5, 50))
def test_reno_goes_with_the_square_root_and_the_round_trip(p: float, milliseconds: int) -> None:
    about = lossy(p, delay=f"{milliseconds} ms")
    window = 1448 * 8 * sqrt(1.5 / p)
    assert model.goodput_response_reno(about).number == pytest.approx(window / (2e-3 * milliseconds), rel=0.05)


@given(st.integers(1, 300))
def test_a_round_trip_for_each_doubling(segments: int) -> None:
    way = hop("1 Gbit/s", "10 ms")
    about = scenario(way, way, writer=Writer(size=segments * 1448), client="receiver")
    sent, rounds = 0, 0
    while sent < segments:
        last, rounds = min(10 << rounds, segments - sent), rounds + 1
        sent += last
    expected = model.base_rtt(about).number * (1 + rounds) + last * 1538 * 8e-9
    assert model.completion_time_by_rounds(about).number == pytest.approx(expected)
