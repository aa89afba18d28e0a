"""The laws of a link's own queue, and of DCTCP, against arithmetic done by hand; and what they do not cover."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab import model
from lab.guest.network import Direction, Queue, Setting
from lab.guest.task import Writer
from lab.guest.workload import Bulk, Flow, Flows, Ping
from lab.model import KernelTraits, ModelError, Scenario
from lab.spec import find
from lab.spec.changes import Changes
from lab.spec.prediction import Prediction
from lab.units import Rate
from tests.model.scenarios import hop, host, scenario

FRAME = 1538 * 8  # bits of a full segment on the wire


def wire(kind: str, rate: str, parameters: Mapping[str, Setting]) -> Direction:
    return structs.replace(hop(rate, "20 ms"), queue=Queue(kind, tuple(sorted(parameters.items()))))


def path(kind: str, rate: str = "10 Mbit/s", offered: str = "", **parameters: Setting) -> Scenario:
    writer = Writer(offered=Rate.of(offered)) if offered else Writer()
    return scenario(wire(kind, rate, parameters), hop("10 Mbit/s", "20 ms"), writer=writer)


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


def test_a_target_of_two_and_a_half_frames_is_too_short() -> None:
    """At 5 Mbit/s two frames take 4.92 of the 5 ms, and 6.3 ms were measured."""
    with pytest.raises(ModelError, match="two and a half frames take longer than the target of 5 ms"):
        model.codel_target(path("codel", rate="5 Mbit/s"))


@pytest.mark.parametrize(("seconds", "drops"), [(0.0, 1), (0.1, 2), (0.15, 3), (0.2, 3)])
def test_drops_come_sooner_and_sooner(seconds: float, drops: int) -> None:
    """At 0, 100 ms, 150 ms by the kernel's first root of a half, 208 ms."""
    assert model.codel_drops(seconds)(path("codel", offered="16 Mbit/s")).number == drops
    assert model.codel_drops(2 * seconds)(path("codel", offered="16 Mbit/s", interval="200 ms")).number == drops


@pytest.mark.parametrize(
    ("offered", "seconds", "stands"), [(12, 4, True), (12, 8, False), (14, 8, True), (16, 8, True)]
)
def test_a_queue_stands_while_more_is_in_excess_than_the_law_drops(offered: int, seconds: int, stands: bool) -> None:
    """12 Mbit/s for a link of 10 are 162.5 frames a second too many: 1,317 until 8 s, and the law needs 1,670."""
    about = path("codel", offered=f"{offered} Mbit/s")
    if stands:
        assert model.codel_drops(seconds)(about).number == {4: 435, 8: 1670}[seconds]
    else:
        with pytest.raises(ModelError, match="1670 drops in 8 s of 1317 frames in excess: no queue stands"):
            model.codel_drops(seconds)(about)


@pytest.mark.parametrize("offered", ["", "10 Mbit/s"])
def test_without_an_excess_no_queue_stands(offered: str) -> None:
    with pytest.raises(ModelError, match="the workload offers no more than the rate"):
        model.codel_drops(1)(path("codel", offered=offered))


def home(count: int, congestion: str, queue: str, **links: Any) -> Scenario:
    """So many flows from both senders of home-uplink in turn, through this queue."""
    network = find.topology("home-uplink").resolve(Changes(links={"uplink": {"forward": {"queue": queue}}, **links}))
    flows = [
        Flow(f"f{each}", Bulk(client=("sender", "rival")[each % 2], congestion=congestion)) for each in range(count)
    ]
    return Scenario.of(network, ("sender", "receiver"), KernelTraits(), Flows(tuple(flows)))


@pytest.mark.parametrize(("law", "queue"), [(model.codel_target, "codel"), (model.pie_target, "pie")])
def test_a_controller_is_saturated_where_no_flow_can_give_way(law: Prediction, queue: str) -> None:
    assert law(home(8, "reno", queue)).number > 0
    with pytest.raises(ModelError, match="each of 40 flows has a window of"):
        law(home(40, "reno", queue))


def test_a_buffer_that_no_window_fills_is_not_full() -> None:
    with pytest.raises(ModelError, match="nothing fills the queue"):
        model.rtt_through_full_queue(scenario(wire("pfifo", "10 Mbit/s", {"limit": 100_000}), writer=Bulk().writer()))


def test_a_sparse_flow_waits_for_two_frames() -> None:
    for kind in ("fq_codel", "cake", "fq_pie", "sfq", "fq"):
        assert model.rtt_of_sparse_flow(path(kind)).number == pytest.approx(PING + 2 * FRAME / 10e6)
    with pytest.raises(ModelError, match="the queue is codel"):
        model.rtt_of_sparse_flow(path("codel"))


@pytest.mark.parametrize("law", [model.codel_target, model.pie_target, model.rtt_of_sparse_flow, model.nothing_lost])
def test_a_plain_wire_has_no_queue_of_its_own(law: Prediction) -> None:
    with pytest.raises(ModelError, match="exactly one queue discipline"):
        law(scenario(hop("10 Mbit/s")))


def test_nothing_is_lost_where_all_know_ecn() -> None:
    sender, receiver = host("sender", tcp_ecn=1), host("receiver", tcp_ecn=1)

    def marked(kind: str, loss: float = 0.0, **parameters: Setting) -> Scenario:
        there = structs.replace(wire(kind, "10 Mbit/s", parameters), loss=loss)
        return scenario(there, hop("10 Mbit/s"), sender=sender, receiver=receiver)

    assert model.nothing_lost(marked("codel", ecn=True)).number == 0
    assert model.nothing_lost(marked("cake")).number == 0
    with pytest.raises(ModelError, match="the queue is pie"):
        model.nothing_lost(marked("pie", ecn=True))
    with pytest.raises(ModelError, match="does not mark"):
        model.nothing_lost(marked("codel"))
    with pytest.raises(ModelError, match="loses frames by chance"):
        model.nothing_lost(marked("codel", ecn=True, loss=0.01))
    with pytest.raises(ModelError, match="does not use ECN"):
        model.nothing_lost(path("codel", ecn=True))


def rack(*congestion: str, microseconds: int = 246, delay: str = "100 us", burst: int | None = None) -> Scenario:
    queue = {"kind": "codel", "limit": 10000, "ecn": True, "ce_threshold": f"{microseconds} us"}
    changes = {"port": {"delay": delay, "forward": {"queue": queue}}}
    single = {name: {"gso_max_segs": burst} for name in ("sender", "rival")} if burst else {}
    network = find.topology("rack").resolve(Changes(links=changes, hosts=single))
    hosts = ("sender", "rival") * len(congestion)
    flows = [
        Flow(f"{host}-{each}", Bulk(client=host, congestion=each))
        for host, each in zip(hosts, congestion, strict=False)
    ]
    return Scenario.of(network, ("sender", "receiver"), KernelTraits(), Flows((*flows, Flow("ping", Ping()))))


def test_dctcp_saws_about_its_threshold() -> None:
    """A gigabit, 800 us and what frames take: K = 65 frames, C x RTT = 66.4."""
    two = rack("dctcp", "dctcp", microseconds=800, delay="400 us", burst=1)
    frame = FRAME / 1e9
    window = 800e-6 / frame + (800e-6 + 1.1 * frame + 1.1 * 102 * 8 / 1e9) / frame
    amplitude = sqrt(2 * 2 * window) / 2
    assert model.dctcp_queue_delay(two).number == pytest.approx((65 + 2 - amplitude / 2) * frame, rel=0.01)
    assert model.dctcp_marked_share(two).number == pytest.approx(sqrt(2 / (window / 2)), rel=0.01)
    alone = rack("dctcp", microseconds=800, delay="400 us", burst=1)
    assert model.dctcp_marked_share(alone).number == pytest.approx(sqrt(2 / window), rel=0.01)
    with pytest.raises(ModelError, match="no flow has DCTCP"):
        model.dctcp_queue_delay(rack("cubic", "reno"))


def test_dctcps_laws_are_for_many_segments_without_bursts_over_a_threshold_that_is_high_enough() -> None:
    with pytest.raises(ModelError, match=r"the window is 18.\d segments"):
        model.dctcp_marked_share(rack("dctcp", "dctcp", burst=1))
    with pytest.raises(ModelError, match="sends bursts"):
        model.dctcp_marked_share(rack("dctcp", "dctcp", microseconds=1600))
    with pytest.raises(ModelError, match="the threshold is 20 frames: the law is for C × RTT / 7 and a burst, 47"):
        model.dctcp_queue_delay(rack("dctcp", "dctcp"))
    assert model.dctcp_queue_delay(rack("dctcp", "dctcp", burst=1)).number > 0
    with pytest.raises(ModelError, match=r"the threshold is 1\.63 frames"):
        model.dctcp_queue_delay(rack("dctcp", "dctcp", microseconds=20, burst=1))
