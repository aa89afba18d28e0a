"""Small writes by the kernel's rules: against what is known of them, and packet by packet against a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.guest.probe import Capture
from lab.guest.task import Traffic
from lab.guest.workload import Bulk, SmallWrites
from lab.metric import counts_of, latencies
from lab.model import KernelTraits, ModelError, Scenario
from lab.record.record import Record
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import Size, Value

NEAR = {"path": {"delay": "200 us"}}


KERNEL = KernelTraits()


def path(workload: Traffic, kernel: KernelTraits = KERNEL, topology: str = "loopback", **changes: Any) -> Scenario:
    network = find.topology(topology).resolve(Changes(**changes))
    return Scenario.of(network, (workload.client, workload.server), kernel, workload)


def loopback(**declared: Any) -> SmallWrites:
    return SmallWrites(client="host", server="host", **declared)


@pytest.mark.parametrize(("hz", "ms"), [(1000, 41), (250, 44), (100, 50)])
def test_a_stall_is_a_delayed_ack(hz: int, ms: int) -> None:
    asked = path(loopback(), KernelTraits(hz=hz))
    assert model.message_latency(asked) == Value(ms / 1000, "s")
    assert model.exchange_time(asked).number == pytest.approx(9999 * ms / 1000)  # the first meets quick ACKs
    for older in (KernelTraits(hz=hz, patches=("timers-on-their-tick",)), KernelTraits((4, 7), hz)):
        assert model.message_latency(replace(asked, kernel=older)) == Value(0.04, "s")


@pytest.mark.parametrize(("way", "packets"), [("plain", 2), ("nodelay", 15), ("cork", 1), ("writev", 1)])
def test_packets_of_each_way(way: Any, packets: int) -> None:
    assert model.data_packets(path(loopback(way=way))) == Value(packets, "1")


@pytest.mark.parametrize(("size", "stalls"), [(103, True), (104, False)])
def test_a_full_segment_ends_the_stall(size: int, stalls: bool) -> None:
    """The first of 15 writes is on its way; 14 more fill 1448 bytes, or not."""
    asked = path(SmallWrites(size=Size(size), messages=20), topology="symmetric-1g", links=NEAR)
    assert (model.message_latency(asked).number > 0.04) == stalls


@given(st.integers(1, 40), st.integers(1, 500), st.sampled_from(["plain", "nodelay", "cork", "writev"]))
def test_everything_arrives_in_no_more_packets_than_writes(writes: int, size: int, way: Any) -> None:
    asked = path(SmallWrites(messages=5, writes=writes, size=Size(size), way=way), topology="symmetric-1g", links=NEAR)
    played = model.exchange(asked)
    full = -(-writes * size // 1448)
    assert all(full <= packets <= max(writes, full) + full for packets in played.data)
    assert all(0 < seconds < 0.09 for seconds in played.latency)


def test_another_workload_is_not_predicted() -> None:
    with pytest.raises(ModelError, match="small writes"):
        model.exchange(path(Bulk(client="host", server="host")))


@pytest.mark.guest
@pytest.mark.parametrize(
    ("topology", "workload"),
    [
        ("loopback", loopback(messages=50, way="nodelay")),
        ("symmetric-1g", SmallWrites(messages=50, way="nodelay")),
        ("symmetric-1g", SmallWrites(messages=50, size=Size(200))),
        ("symmetric-1g", SmallWrites(messages=50, way="cork", file=Size.of("8 KiB"))),
    ],
    ids=["loopback", "nodelay", "plain", "sendfile"],
)
def test_the_kernel_sends_the_very_packets(
    perform: Callable[..., Record], topology: str, workload: SmallWrites
) -> None:
    """Of every message, the first ones too, which meet quick ACKs and a small congestion window."""
    links = NEAR if topology == "symmetric-1g" else {}
    where = Capture(node="host", interface="lo") if topology == "loopback" else Capture(node="sender")
    record = perform(topology, workload, (where,), links=links)
    counts, played = counts_of(record, where.node), model.exchange(path(workload, topology=topology, links=links))
    assert list(played.data) == counts.client_data.tolist()
    assert list(played.acks) == counts.server_acks.tolist()
    assert list(played.first) == counts.first.tolist()
    if links:
        assert list(played.latency) == pytest.approx(latencies(record).tolist(), abs=1e-9)
