"""One end of a connection of Multipath TCP: its buffers, its scheduler, and what its ACKs say."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import partial
from pathlib import Path as File

import pytest

from lab.ext.mptcp.model import Path, multipath
from lab.ext.mptcp.model.connection import Connection
from lab.ext.mptcp.model.multipath import PHASES, begun, over_path
from lab.ext.mptcp.model.paths import Both
from lab.ext.mptcp.model.subflow import Packet, Subflow
from lab.model import KernelTraits, ModelError, Scenario
from lab.units import Duration, Rate, Size
from tests.model.scenarios import hop, host

MSEC = 10**6
DOWN = Scenario((hop(None), hop("10 Mbit/s")), (hop("10 Mbit/s"), hop(None)), host(), host(), client="receiver")
UP = DOWN.reversed()
# netem's 10 and 3 Mbit/s of the kernel's throughput test, which count 1514 of a frame's 1538 bytes
FAST, SLOW = Rate(1_269_815 * 8), Rate(380_944 * 8)
RECORDED = File(__file__).parents[2] / "data/multipath/start.csv"


def over(scenario: Scenario, *paths: Path) -> Both:
    """Both ends, connected."""
    ways = [over_path(scenario, path) for path in paths]
    both = Both(ways[0])
    for way in ways:
        both.at(0, partial(both.join, way))
    both.at(1, lambda: None)
    both.run(lambda: both.now > 0)
    return both


def test_who_accepts_counts_a_joined_subflow_later() -> None:
    """A subflow's buffer starts with room for two windows of ten: 20 * 2304 bytes; tcp_wmem[0] is added once."""
    for scenario, client, server in ((UP, "near", "far"), (DOWN, "far", "near")):
        both = over(scenario, Path(FAST, Duration(0)), Path(FAST, Duration(0)))
        assert getattr(both, client).sndbuf == 4096 + 2 * 20 * 2304
        assert getattr(both, server).sndbuf == 4096 + 20 * 2304


def test_a_writer_copies_pages_until_its_buffer_is_full() -> None:
    """Each of 32 KiB less a head of 40 B, and one more than fits."""
    end = Connection(UP)
    assert next(end.sendmsg(1 << 20), "done") is None
    assert [frag.data_len for frag in end.unacked] == [32728]
    assert end.wmem_queued == 32768 > end.sndbuf


def test_a_burst_goes_to_the_subflow_that_is_done_soonest() -> None:
    """The first of two idle ones takes all that the window lets out; what comes then goes to the other one."""
    both = over(UP, Path(FAST, Duration(0), 10_000), Path(SLOW, Duration(0), 10_000))
    both.write(both.near, 2, 200_000)
    both.run(lambda: bool(both.near.unacked))
    assert [subflow.write_seq for subflow in both.near.subflows] == [65160, 0]  # the first window, less than a burst
    both.run(lambda: both.near.subflows[1].write_seq > 0)
    second = both.near.subflows[1]
    assert second.maps[0][1] == 65160


def test_an_ack_that_tells_the_end_of_the_data_has_no_room_for_a_sack() -> None:
    both = over(UP, Path(FAST, Duration(0)))
    subflow = both.far.subflows[0]
    subflow.ofo, subflow.recent = [(1420, 2840)], (1420, 2840)
    packets: list[Packet] = []
    subflow.carry = packets.append
    subflow.send_ack(1)
    both.far.close()
    subflow.send_ack(1)
    assert [packet.sack for packet in packets] == [(1420, 2840), None, None]
    assert packets[-1].data_fin == 0


def test_data_out_of_order_waits_for_what_is_missing() -> None:
    both = over(UP, Path(FAST, Duration(0)))
    end, subflow = both.far, both.far.subflows[0]
    before = end.window()
    end.data_ready(subflow, 1420, 1420, 1420 + 832)
    assert (end.ack_seq, end.readable, end.misses()) == (0, False, True)
    assert end.window() < before
    end.data_ready(subflow, 0, 1420, 1420 + 832)
    assert (end.ack_seq, end.readable, end.misses()) == (2840, True, False)
    end.read(1)
    assert end.rmem_alloc == 0


def test_the_start_is_as_in_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same segments by the same path, and each within 0.3 ms of when the client's captures have it.

    16 MiB to the client by 10 Mbit/s, 1 ms and 3 Mbit/s, 25 ms, while it sends 80 KiB: its first 320 ms, 7.2.13-1.
    """
    paths = Path(FAST, Duration(MSEC), 40), Path(SLOW, Duration(25 * MSEC), 30)
    ways = [over_path(DOWN, path) for path in paths]
    both, connected = begun(ways, (Size.of("16 MiB"), Size.of("80 KiB")), Duration.of("200 ms"), MSEC // 2)
    seen: list[tuple[int, int, Packet]] = []
    receive = both.far.receive

    def see(now: int, subflow: Subflow, packet: Packet) -> None:
        if packet.len:
            seen.append((now - connected, both.far.subflows.index(subflow), packet))
        receive(now, subflow, packet)

    monkeypatch.setattr(both.far, "receive", see)
    both.run(lambda: both.now > 330 * MSEC)
    with RECORDED.open() as file:
        rows = [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]
    assert len(rows) == 100
    for path in (0, 1):
        recorded = [row for row in rows if row[1] == path]
        played = [(now, packet) for now, index, packet in seen if index == path][: len(recorded)]
        assert [(packet.seq, packet.len) for _, packet in played] == [row[2:] for row in recorded]
        assert max(abs(now / 1000 - row[0]) for (now, _), row in zip(played, recorded, strict=True)) < 300


def test_a_transfer_takes_longer_than_the_sum_and_is_the_same_each_time() -> None:
    paths = (Path(FAST, Duration(0), 30), Path(SLOW, Duration(0), 20))
    sizes, wait = (Size.of("2 MiB"), Size.of("80 KiB")), Duration.of("200 ms")
    predicted = multipath.transfer_time_over_paths(paths, sizes, "receiver", wait)
    assert predicted.law is not None
    assert predicted(DOWN).number > predicted.law(DOWN).number
    assert predicted(DOWN) == predicted(DOWN)
    times = multipath.transfer_times(DOWN, paths, sizes, wait)
    assert len(times) == PHASES
    assert predicted(DOWN).number == pytest.approx(sum(times) / PHASES)


def test_other_rules_are_not_covered() -> None:
    older = replace(DOWN, kernel=KernelTraits((6, 12)))
    with pytest.raises(ModelError, match=r"7\.2"):
        multipath.transfer_times(older, (Path(FAST, Duration(0)),), (Size(1000), Size(1000)))
