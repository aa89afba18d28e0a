"""A capture is analysed in the same memory, however many packets it has."""

import json
import subprocess
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import pytest

from bench import memory
from lab.metric import bulk, flow, pcap
from lab.metric.capture import Capture

pytestmark = pytest.mark.long

FEW, MANY = 300_000, 1_200_000
# Both captures are read as one that is longer than what is kept; the limit is on memory of the process's own.
READ = """
import resource, sys
from pathlib import Path
from bench import memory
from lab.metric import bulk, flow, pcap
from lab.metric.capture import Capture
flow._KEPT, pcap._WINDOW, pcap._SMALL = 0, 1 << 22, 0
few, many = (Path(path) for path in sys.argv[2:])
names = ("capture_goodput", "traffic_of")
memory.read(few, names)
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
limit = (own << 10) + (24 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if sys.argv[1] == "whole":
    bulk(Capture(many)).forward
else:
    memory.read(many, names)
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("captures")
    paths = [folder / "few.pcap", folder / "many.pcap"]
    for path, packets in zip(paths, (FEW, MANY), strict=True):
        memory.write(path, packets)
    return paths


@pytest.mark.parametrize(("how", "fits"), [("parts", True), ("whole", False)])
def test_memory_does_not_grow_with_the_packets(captures: list[Path], how: str, fits: bool) -> None:
    """24 MiB more than a few packets took hold what is made of many, but not one direction's columns (41 MB)."""
    ended = subprocess.run([sys.executable, "-c", READ, how, *map(str, captures)], capture_output=True, text=True)
    assert (ended.returncode == 0) is fits, ended.stderr
    assert fits or "MemoryError" in ended.stderr


def test_parts_make_up_the_whole(captures: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that are read again and again, in small pieces, are those that are kept."""
    found = []
    for kept in (1 << 22, 0):
        monkeypatch.setattr(flow, "_KEPT", kept)
        found.append(json.dumps({name: each for name, each in memory.read(captures[0]).items() if name != "megabytes"}))
        found[-1] = "".join(line for line in found[-1].split(",") if "cpu_seconds" not in line)
    assert found[0] == found[1]


def test_the_generated_transfer_is_one(captures: list[Path]) -> None:
    connection = bulk(Capture(captures[0]))
    segments = (FEW - 3) // 3 * 2
    assert connection.handshake_ns() == 1000
    assert connection.forward.retransmitted.sum() == segments // memory.LOST
    assert connection.payload_bytes == memory.PAYLOAD * segments
    assert connection.back.ack[-1] == 1 + memory.PAYLOAD * segments


def test_many_walks_find_the_records_that_one_finds(captures: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    with captures[0].open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for walks in (2048, 1 << 40):
            monkeypatch.setattr(pcap, "_WALKS", walks)
            found.append(np.concatenate([*pcap.Records(data, "<").windows()]))
    assert len(found[0]) == FEW
    assert (found[0] == found[1]).all()
