"""Transfers of many kinds, to the last ACK as they were replayed segment by segment, without any shortcut.

tests/data/transfers.json was recorded by the model of 2026-11-23, which played every segment by itself. A change of the
kernel's rules may change it, and then the history of claims says so; making the model faster may not.
"""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from lab.guest.workload import Bulk, Iperf, Iperf3, Netcat
from lab.model import KernelTraits, Scenario
from lab.units import Duration, Size
from tests.model.scenarios import hop, scenario

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "transfers.json").read_text())
CASES = 60


def drawn(number: int) -> Scenario:
    """A path, its hosts and what runs on them, the same for each number every time."""
    draw = Random(number)
    duration, size = Duration.of(draw.choice(("150 ms", "400 ms"))), Size.of(draw.choice(("100 KiB", "3 MiB", "9 MiB")))
    workload = draw.choice(
        (
            Iperf(),
            Iperf3(),
            Netcat(size=size),
            Bulk(duration=duration, effort=Duration.of(draw.choice(("0 s", "300 us", "2263 us")))),
            Bulk(duration=duration, watermark=Size.of(draw.choice(("1 B", "1448 B", "5 kB", "16 KiB")))),
            Bulk(size=size, watermark=Size.of(draw.choice(("1 B", "16 KiB", "100 KiB")))),
        )
    )
    writer = workload.writer()
    if writer.size is None:
        writer = structs.replace(writer, duration=duration)  # iperf counts whole seconds: part of one will do here
    rate = draw.choice(("1 Mbit/s", "10 Mbit/s", "100 Mbit/s", "500 Mbit/s", "1 Gbit/s", "1 Gbit/s"))
    mtu = draw.choice((1500, 1500, 1500, 500, 9000))
    there = [hop(rate, draw.choice(("0 s", "0 s", "5 ms", "20 ms", "60 ms")), mtu)]
    back = [hop(rate, draw.choice(("0 s", "0 s", "3 ms")), mtu)]
    if draw.random() < 0.4:
        there.append(hop(draw.choice(("50 Mbit/s", "1 Gbit/s", None)), "1 ms", mtu))
        back.insert(0, there[-1])
    version = draw.choice(((7, 2), (7, 2), (7, 2), (6, 12), (6, 1)))
    buffers: dict[str, Any] = {name: draw.choice((6 << 20, 6 << 20, 1 << 20, 200_000)) for name in ("sndbuf", "rcvbuf")}
    return scenario(
        there,
        back,
        **buffers,
        timestamps=draw.random() < 0.8,
        writer=writer,
        reader=workload.reader(),
        client=draw.choice(("sender", "receiver")),
        kernel=KernelTraits(version, hz=draw.choice((1000, 1000, 250))),
    )


def played(path: Scenario) -> list[Any]:
    """What became of a transfer: when all has arrived, how many ACKs came, and a hash of everything."""
    done = import_module("lab.model.transfer")._played.__wrapped__(path)
    times, acked, windows = map(list, done.acks)
    scalars = done.seconds, done.written, done.total, done.sent, done.queue, done.started, done.first, done.drained
    everything = repr((scalars, done.peaks, done.peaks_back, times, acked, windows))
    return [done.drained, len(times), hashlib.sha256(everything.encode()).hexdigest()]


@pytest.mark.long
def test_transfers_are_replayed_to_the_last_ack_as_they_were_recorded() -> None:
    assert [number for number in range(CASES) if played(drawn(number)) != RECORDED[number]] == []


def test_enough_kinds_of_transfers_are_recorded() -> None:
    kinds = {(path.writer.sendfile, path.reader.rcvlowat, path.kernel.version) for path in map(drawn, range(CASES))}
    assert len(kinds) > 10
    assert len(RECORDED) == CASES
