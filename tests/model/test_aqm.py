"""The laws of a link's own queue, and of DCTCP, against arithmetic done by hand; and what they do not cover."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab import model
from lab.model import KernelTraits, ModelError, Scenario
from lab.prediction import Prediction
from lab.spec import find
from lab.spec.changes import Changes
from lab.spec.network import Direction, Queue, Setting
from lab.workload import Bulk, Flow, Flows, Ping
from tests.model.scenarios import hop, host, scenario

FRAME = 1538 * 8  # bits of a full segment on the wire


def wire(kind: str, rate: str, parameters: Mapping[str, Setting]) -> Direction:
    return structs.replace(hop(rate, "20 ms"), queue=Queue(kind, tuple(sorted(parameters.items()))))


def path(kind: str, rate: str = "10 Mbit/s", **parameters: Setting) -> Scenario:
    return scenario(wire(kind, rate, parameters), hop("10 Mbit/s", "20 ms"))


PING = 2 * (0.02 + 122 * 8 / 10e6)  # 84 B of IP and Ethernet's 38, both ways


@given(st.integers(1, 1000))
def test_the_last_of_a_full_fifo_waits_for_all_of_it(frames: int) -> None:
    longest = PING + frames * FRAME / 10e6
    assert model.rtt_through_full_queue(path("pfifo", limit=frames)).number == pytest.approx(longest)
    in_bytes = path("bfifo", limit=f"{frames * 1514 + 1513} B")
    assert model.rtt_through_full_queue(in_bytes).number == pytest.approx(longest), "no part of a frame fits"


def test_targets_are_the_queues_own_or_the_kernels() -> None:
    assert model.codel_target(path("codel")).number == 0.005
    assert model.codel_target(path("fq_codel", target="20 ms")).number == 0.02
    assert model.pie_target(path("pie")).number == 0.015
    assert model.pie_target(path("fq_pie", target="30 ms")).number == 0.03


def test_a_target_of_two_frames_is_too_short() -> None:
    with pytest.raises(ModelError, match="two frames take longer than the target of 5 ms"):
        model.codel_target(path("codel", rate="4 Mbit/s"))


@pytest.mark.parametrize(("seconds", "drops"), [(0.0, 1), (0.1, 2), (0.15, 3), (0.2, 3)])
def test_drops_come_sooner_and_sooner(seconds: float, drops: int) -> None:
    """At 0, 100 ms, 150 ms by the kernel's first root of a half, 208 ms."""
    assert model.codel_drops(seconds)(path("codel")).number == drops
    assert model.codel_drops(2 * seconds)(path("codel", interval="200 ms")).number == drops


def test_a_sparse_flow_waits_for_one_frame() -> None:
    for kind in ("fq_codel", "cake", "fq_pie", "sfq", "fq"):
        assert model.rtt_of_sparse_flow(path(kind)).number == pytest.approx(PING + FRAME / 10e6)
    with pytest.raises(ModelError, match="the queue is codel"):
        model.rtt_of_sparse_flow(path("codel"))


@pytest.mark.parametrize("law", [model.codel_target, model.pie_target, model.rtt_of_sparse_flow, model.nothing_lost])
def test_a_plain_wire_has_no_queue_of_its_own(law: Prediction) -> None:
    with pytest.raises(ModelError, match="one queue of its own"):
        law(scenario(hop("10 Mbit/s")))


def test_nothing_is_lost_where_all_know_ecn() -> None:
    sender, receiver = host("sender", tcp_ecn=1), host("receiver", tcp_ecn=1)

    def marked(kind: str, loss: float = 0.0, **parameters: Setting) -> Scenario:
        there = structs.replace(wire(kind, "10 Mbit/s", parameters), loss=loss)
        return scenario(there, hop("10 Mbit/s"), sender=sender, receiver=receiver)

    assert model.nothing_lost(marked("codel", ecn=True)).number == 0
    assert model.nothing_lost(marked("cake")).number == 0
    with pytest.raises(ModelError, match="does not mark"):
        model.nothing_lost(marked("codel"))
    with pytest.raises(ModelError, match="loses frames by chance"):
        model.nothing_lost(marked("codel", ecn=True, loss=0.01))
    with pytest.raises(ModelError, match="does not ask for ECN"):
        model.nothing_lost(path("codel", ecn=True))


def rack(*congestion: str) -> Scenario:
    network = find.topology("rack").resolve(Changes())
    hosts = ("sender", "rival") * len(congestion)
    flows = [
        Flow(f"{host}-{each}", Bulk(client=host, congestion=each))
        for host, each in zip(hosts, congestion, strict=False)
    ]
    return Scenario.of(network, ("sender", "receiver"), KernelTraits(), Flows((*flows, Flow("ping", Ping()))))


def test_dctcp_saws_about_its_threshold() -> None:
    """A gigabit, 200 us and what frames take: K = 20 frames, C x RTT = 17.6."""
    two = rack("dctcp", "dctcp")
    frame = FRAME / 1e9
    window = 246e-6 / frame + (200e-6 + 1.1 * frame + 1.1 * 102 * 8 / 1e9) / frame
    amplitude = sqrt(2 * 2 * window) / 2
    assert model.dctcp_queue_delay(two).number == pytest.approx((20 + 2 - amplitude / 2) * frame, rel=0.01)
    assert model.dctcp_marked_share(two).number == pytest.approx(sqrt(2 / (window / 2)), rel=0.01)
    assert model.dctcp_marked_share(rack("dctcp")).number == pytest.approx(sqrt(2 / window), rel=0.01)
    with pytest.raises(ModelError, match="no flow has DCTCP"):
        model.dctcp_queue_delay(rack("cubic", "reno"))


def test_fair_queues_share_whatever_the_flows_are() -> None:
    network = find.topology("home-uplink").resolve(Changes(links={"uplink": {"forward": {"queue": "fq_codel"}}}))
    flows = Flows((Flow("a", Bulk(congestion="bbr")), Flow("b", Bulk(client="rival", congestion="cubic"))))
    assert model.fair_queue_share(Scenario.of(network, ("sender", "receiver"), KernelTraits(), flows)).number == 0.5
    alone = Scenario.of(network, ("sender", "receiver"), KernelTraits(), Bulk())
    with pytest.raises(ModelError, match="one flow shares with nobody"):
        model.fair_queue_share(alone)
