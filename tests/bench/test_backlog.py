"""The queue of a drawn transfer, from crafted captures at both ends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench import backlog, transfers
from tests.ext.explain.captures import MSS, START, Packet, pcap


def test_a_repeated_segment_waits_from_its_last_departure(tmp_path: Path) -> None:
    drawn = transfers.draw("2026-11-01", 1)
    delay = drawn.case.network.links[0].forward.delay.ns / 1e6
    sent = [Packet(0, seq=1, size=MSS), Packet(1, seq=1 + MSS, size=MSS), Packet(500, seq=1 + MSS, size=MSS)]
    came = [Packet(2 + delay, seq=1, size=MSS), Packet(505 + delay, seq=1 + MSS, size=MSS)]
    for end, packets in (("sender", sent), ("receiver", came)):
        (tmp_path / f"{end}.pcap").write_bytes(pcap(packets))
    record = SimpleNamespace(path=lambda name: tmp_path / f"{name.split('.')[1]}.pcap")
    queue = backlog.queue_of(cast(Any, record), drawn)
    assert [round((each - START) / 1e6) for each in queue.left] == [0, 500]
    assert [round(each / 1e6) for each in queue.busy] == [2, 5]
