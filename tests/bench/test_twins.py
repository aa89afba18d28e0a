"""`make explain-twins`: how far two captures are the same, and what this says about a label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import transfers, twins
from bench.backlog import Queue
from bench.explained import Part
from lab.metric.arrays import np
from tests.ext.explain.captures import MS, MSS, PSH, START, Packet, pcap

PACKETS = [Packet(number, seq=1 + number * MSS, size=MSS) for number in range(10)]


def _until(tmp_path: Path, other: list[Packet]) -> tuple[float, str] | None:
    """Return until when (ms) a capture is the same as `PACKETS`, and what is different then."""
    for name, packets in (("one", PACKETS), ("other", other)):
        (tmp_path / name).write_bytes(pcap(packets))
    found = twins.same_until(tmp_path / "one", tmp_path / "other")
    return None if found is None else ((found[0] - START) / MS, found[1])


def test_captures_are_the_same_until_a_byte_a_length_or_a_time_differs(tmp_path: Path) -> None:
    assert _until(tmp_path, PACKETS) is None
    changes = [({"flags": PACKETS[4].flags | PSH}, "bytes"), ({"window": 1}, "bytes"), ({"ack": 2}, "bytes"),
               ({"size": MSS - 1}, "length"), ({"stamps": (1, 1)}, "length"), ({"ms": 4.000001}, "time")]  # fmt: skip
    for change, name in changes:
        changed = replace(PACKETS[4], **change)  # type: ignore[arg-type]
        assert _until(tmp_path, [*PACKETS[:4], changed, *PACKETS[5:]]) == (4, name)
    sooner = replace(PACKETS[4], ms=3.5)
    assert _until(tmp_path, [*PACKETS[:4], sooner, *PACKETS[5:]]) == (3.5, "time")
    assert _until(tmp_path, PACKETS[:4]) == (4, "end")
    assert _until(tmp_path, [*PACKETS, Packet(17)]) == (17, "end")


@pytest.mark.parametrize(
    ("until", "twin", "fate"),
    [
        (None, "bottleneck rate", twins.THROUGHOUT),
        (61, "bottleneck rate", twins.SAME),
        (60, "bottleneck rate", twins.DIFFERENT),  # the last segment that left by then arrives after 60 ms
        (25, "bottleneck rate", twins.DIFFERENT),
        (None, "send buffer", twins.ALIKE),
    ],
)
def test_a_label_cannot_be_told_if_all_that_left_by_then_is_the_same(until: int | None, twin: str, fate: str) -> None:
    """Segments leave at 0 and 10 ms, and arrive after 30 and 60 ms. The part is from 20 to 30 ms at the receiver."""
    queue = Queue(np.array([0, 10]) * MS, np.array([10, 30]) * MS)
    part = Part(20 * MS, 30 * MS, "send buffer", "application")
    other = replace(part, truth="application")
    account = [(0, 10 * MS, (twin, "application"))]
    found = twins.fates([part, other], None if until is None else until * MS, queue, account, 20 * MS)
    assert found == {("application", fate): pytest.approx(0.01)}


def test_a_twin_is_the_same_transfer_with_a_larger_send_buffer() -> None:
    for number in range(1, 30):
        one, other = transfers.draw("2026-11-01", number), transfers.draw("2026-11-01", number, twins.BUFFER)
        assert (one.seed, one.case.workload, one.case.network.links) == (
            other.seed,
            other.case.workload,
            other.case.network.links,
        )
        for node, node2 in zip(one.case.network.nodes, other.case.network.nodes, strict=True):
            changed = {name for name in node2.sysctls if node.sysctls.get(name) != node2.sysctls[name]}
            assert changed == {"net.ipv4.tcp_wmem"}


def test_the_table_has_the_score_with_and_without_what_no_capture_can_tell() -> None:
    time = {(twins.FULL, twins.DIFFERENT): 6.0, ("application", twins.DIFFERENT): 2.0, ("application", twins.SAME): 1.0,
            (twins.FULL, twins.THROUGHOUT): 1.0}  # fmt: skip
    made = twins.table([twins.Twins(1, "bulk", True, time, "time")], "title")
    assert str(made.caption) == "70.0 % of 10.0 s; 75.0 % of 8.0 s without the time that no capture can tell"
