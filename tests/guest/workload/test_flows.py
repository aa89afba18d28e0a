"""Several workloads run side by side on one clock, each with a start, a port and outputs of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lab import metric
from lab.guest import outputs
from lab.guest.probe import Capture, TcpInfo
from lab.guest.workload import (
    Arrivals,
    Bulk,
    Flent,
    Flow,
    Flows,
    Iperf,
    Iperf3,
    Netcat,
    OnOff,
    PacedReader,
    Ping,
    Qperf,
    RequestResponse,
    SmallWrites,
)
from lab.runner.guest import TrialFailed
from lab.units import Duration, Rate, Size
from tests.kinds import Perform

SECOND = Duration.of("1 s")
SAMPLED = (TcpInfo(node="receiver", interval=Duration.of("20 ms")),)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ((), "no flows"),
        ((Flow("a", Bulk()), Flow("a", Ping())), "two flows are called 'a'"),
    ],
)
def test_flows_that_cannot_be_told_apart_are_refused(flows: tuple[Flow, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Flows(flows)


def test_the_name_of_a_flow_names_a_folder() -> None:
    with pytest.raises(ValueError, match=r"'\.\./a' does not name a flow"):
        Flow("../a", Bulk())


@pytest.mark.guest
def test_flows_start_and_stop_when_they_are_told_to(perform: Perform) -> None:
    early = Bulk(client="sender", duration=Duration.of("3 s"), congestion="reno")
    late = Bulk(client="rival", duration=SECOND)
    flows = Flows((Flow("early", early), Flow("late", late, start=SECOND)))
    record = perform("shared-bottleneck", flows, SAMPLED)
    shares = metric.shares_of(record)
    assert shares.starts["late"] - shares.starts["early"] == pytest.approx(1, abs=1e-4)  # a timer slack of 50 us
    assert shares.goodput("late", 0, 1) == 0
    assert shares.goodput("late", 1, 3) > 1e6
    assert shares.goodput("late", 2.5, 3) == 0
    whole = metric.total_goodput(0.5, 2.5)(record).number
    assert whole == pytest.approx(94.1e6, rel=0.05)
    assert metric.utilisation("bottleneck", 0.5, 2.5)(record).number == pytest.approx(whole / 100e6)
    assert metric.flow_share("early", 0, 1)(record).number == 1


@pytest.mark.guest
def test_each_flow_is_measured_as_if_it_were_alone(perform: Perform) -> None:
    both = (Capture(node="receiver"), *(TcpInfo(node=node) for node in ("sender", "rival")))
    flows = Flows(
        (
            Flow("mine", Bulk(size=Size.of("1 MiB"))),
            Flow("theirs", Bulk(client="rival", size=Size.of("2 MiB"))),
            Flow("ping", Ping(client="rival", count=5, interval=Duration.of("200 ms")), start=Duration.of("50 ms")),
        )
    )
    record = perform("shared-bottleneck", flows, both)
    for name, size in (("mine", 1 << 20), ("theirs", 2 << 20)):
        part = metric.part_of(record, name)
        assert part.json(outputs.BULK)["bytes"] == size
        assert metric.connection_of(part, "receiver").payload_bytes == size
    alone = metric.of_flow("mine", metric.bulk_goodput())(record)
    assert alone.number == metric.bulk_goodput()(metric.part_of(record, "mine")).number < 94e6
    assert metric.of_flow("ping", metric.ping_rtt("max"))(record).number > 0.021 > 0.0201
    assert metric.of_flow("mine", metric.retransmitted_share("sender"))(record).number < 0.1
    with pytest.raises(metric.MetricError, match="no flow 'nobody'; use one of mine, theirs, ping"):
        metric.part_of(record, "nobody")


@pytest.mark.guest
def test_any_workload_runs_beside_any_other(perform: Perform) -> None:
    little: dict[str, Any] = {
        "arrivals": Arrivals(count=5),
        "bulk": Bulk(duration=SECOND),
        "flent": Flent(length=SECOND),
        "iperf": Iperf(duration=SECOND),
        "iperf3": Iperf3(duration=SECOND),
        "netcat": Netcat(size=Size.of("1 MiB")),
        "onoff": OnOff(duration=SECOND),
        "paced": PacedReader(duration=SECOND, rate=Rate.of("10 Mbit/s")),
        "ping": Ping(count=2),
        "qperf": Qperf(duration=SECOND),
        "requests": RequestResponse(count=3),
        "writes": SmallWrites(messages=3),
    }
    record = perform("symmetric-1g", Flows(tuple(Flow(name, each) for name, each in little.items())))
    ports = [flow["port"] for flow in metric.flows_of(record).values()]
    assert len(set(ports)) == len(little)
    for name, goodput in (
        ("bulk", metric.bulk_goodput()),
        ("iperf", metric.iperf_goodput()),
        ("iperf3", metric.iperf3_goodput()),
        ("qperf", metric.qperf_goodput()),
        ("flent", metric.flent_goodput()),
    ):
        assert metric.of_flow(name, goodput)(record).number > 1e7, name


@pytest.mark.guest
def test_the_first_failure_ends_the_others_and_names_the_flow(perform: Perform) -> None:
    flows = Flows((Flow("long", Bulk(duration=Duration.of("1000 s"))), Flow("odd", Bulk(congestion="mine"))))
    with pytest.raises(TrialFailed, match=r"flow 'odd': this kernel has no congestion control 'mine', but .*cubic"):
        perform("symmetric-1g", flows)


@pytest.mark.guest
def test_a_spread_and_arrivals_follow_the_seed(perform: Perform) -> None:
    flows = Flows(
        (
            Flow("short", Arrivals(count=200, interval=Duration.of("10 ms"))),
            Flow("late", Ping(), start=SECOND, spread=SECOND),
        )
    )
    records = [perform("symmetric-1g", flows, seed=seed) for seed in (1, 2)]
    begun = [metric.flows_of(record) for record in records]
    late = [(flow["late"]["start_ns"] - flow["short"]["start_ns"]) / 1e9 for flow in begun]
    assert late[0] != late[1]
    assert all(1 <= each <= 2 for each in late)
    for record in records:
        starts = np.array(record.json(f"short/{outputs.TRANSFERS}")["start_ns"])
        pauses = np.diff(starts) / 1e9
        # A Poisson process: the pauses are as long in the mean as they deviate, each within 4 standard errors.
        assert pauses.mean() == pytest.approx(0.01, rel=4 / 200**0.5)
        assert pauses.std() == pytest.approx(0.01, rel=8 / 200**0.5)
        times = metric.completion_times(metric.part_of(record, "short"))
        assert len(times) == 200
        assert times.min() > 0


@pytest.mark.guest
def test_ten_thousand_transfers_are_under_way_at_once(perform: Perform) -> None:
    many = Arrivals(count=10_000, interval=Duration.of("1 us"), size=Size.of("1448 B"), even=True)
    record = perform("symmetric-10g", many, links={"path": {"delay": "20 ms"}})
    transfers = {name: np.array(times) for name, times in record.json(outputs.TRANSFERS).items()}
    assert transfers["start_ns"].max() < transfers["end_ns"].min()
    assert len(transfers["end_ns"]) == 10_000
    # each takes two round trips at least, and what lost its SYN asks again after a second
    assert metric.completion_times(record).min() > 0.080


@pytest.mark.guest
def test_a_connection_that_cannot_begin_is_named(perform: Perform) -> None:
    ports = {"receiver": {"sysctls": {"net.ipv4.ip_local_port_range": "40000 40009"}}}
    with pytest.raises(TrialFailed, match=r"transfer 11 of 20: Cannot assign requested address"):
        perform("symmetric-1g", Arrivals(count=20, interval=Duration.of("1 us")), hosts=ports)


@pytest.mark.guest
def test_cross_traffic_is_on_and_off_at_its_rate(perform: Perform) -> None:
    halves = OnOff(duration=Duration.of("4 s"), rate=Rate.of("8 Mbit/s"), on=SECOND, off=SECOND, even=True)
    record = perform("symmetric-1g", halves, (Capture(),))
    sent = record.json(outputs.DATAGRAMS_SENDER)["sent"]
    assert sent == record.json(outputs.DATAGRAMS)["received"]
    assert sent * 8 * (1472 + 66) == pytest.approx(2 * 8e6, rel=0.002)
    capture = metric.capture_of(record, "receiver")
    times = (capture.time_ns[capture.udp] - capture.time_ns[capture.udp][0]) / 1e9
    assert not ((times % 2 > 1.001) & (times % 2 < 1.999)).any()


@pytest.mark.guest
def test_what_waits_in_a_queue_is_seen_on_both_sides_of_it(perform: Perform) -> None:
    watched = (Capture(node="router", interface="eth2"), Capture(node="receiver"))
    record = perform("shared-bottleneck", Bulk(duration=SECOND), watched)
    when, waited = metric.sojourns(record, "bottleneck")
    assert (np.diff(when) >= 0).all()
    assert waited.min() < 1e-6
    # 245 frames queue and are in flight, 10 ms of it: the rest waits for the others' time on the wire
    assert waited.max() == pytest.approx(245 * 1538 * 8 / 100e6 - 0.010, abs=0.3e-3)
    assert metric.queue_delay("bottleneck", 1.0)(record).number == waited.max()


@pytest.mark.guest
def test_a_flow_with_a_spread_connects_at_the_moment_that_was_drawn(perform: Perform) -> None:
    drawn = tuple(
        Flow(f"drawn-{number}", Bulk(size=Size.of("1 MiB")), spread=Duration.of("10 ms")) for number in range(4)
    )
    record = perform("symmetric-1g", Flows((*drawn, Flow("on-beat", Bulk(size=Size.of("1 MiB"))))))
    begun = metric.flows_of(record)
    late = {
        name: metric.part_of(record, name).json(outputs.BULK_SENDER)["start_ns"] - flow["start_ns"]
        for name, flow in begun.items()
    }
    assert all(abs(late[flow.name] - 20e6) < 0.1e6 for flow in drawn), late  # a timer slack of 50 us, twice
    assert len({begun[flow.name]["start_ns"] // 1_000_000 for flow in drawn}) > 1
    assert (begun["on-beat"]["start_ns"] + late["on-beat"]) % 20_000_000 < 0.1e6
