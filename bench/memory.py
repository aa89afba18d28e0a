"""Analyse a capture of very many packets, and say what memory that takes.

    python -m bench.memory FOLDER [--packets 100000000]

Writes a capture as a trial's of a long transfer, reads it with each metric that goes over a capture's packets, and
removes it. Prints one JSON document: the most memory that the reading process had, and the seconds of CPU of each.
100,000,000 packets take 10.2 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import struct
import subprocess
import sys
from collections.abc import Container
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lab import metric
from lab.guest.outputs import capture as name_of
from lab.metric.acks import packets_per_gb, segments_per_ack
from lab.record.record import Record
from lab.report.traffic import traffic_of
from lab.spec.metric import Measure
from lab.units import Value

NODE, INTERFACE = "sender", "eth0"
PAYLOAD, SNAP = 1448, 96  # bytes
GAP_NS = 1231  # of a full frame at 10 Gbit/s
STRETCH = 3 * (1 << 16)  # packets made at a time: two data segments and an ACK, again and again
LOST = 10_000  # one data segment of so many is sent again

_MAGIC = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 1)
_HEADERS = [
    *(("seconds", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("frame", "<u4")),
    *(("macs", "S12"), ("kind", ">u2"), ("version", "u1"), ("tos", "u1"), ("total", ">u2"), ("id", ">u2")),
    *(("fragment", ">u2"), ("ttl", "u1"), ("protocol", "u1"), ("ip_checksum", ">u2"), ("ends", ">u8")),
    *(("source_port", ">u2"), ("destination_port", ">u2"), ("seq", ">u4"), ("ack", ">u4"), ("offset", "u1")),
    *(("flags", "u1"), ("window", ">u2"), ("checksum", ">u2"), ("urgent", ">u2")),
    *(("layout", ">u4"), ("value", ">u4"), ("echo", ">u4")),
]
_HEAD = np.dtype(_HEADERS)
_WHOLE = np.dtype([*_HEADERS, ("payload", f"S{16 + SNAP - _HEAD.itemsize}")])
_SYNS = (b"\x02\x04\x05\xb4\x01\x01\x08\x0a", b"\x01\x03\x03\x07")  # MSS 1460, timestamps, scale 7
_THERE, _BACK = 0x0A000101_0A000102, 0x0A000102_0A000101


def write(path: Path, packets: int) -> None:
    """Write a capture of so many packets: a handshake, then data and ACKs, both past 2^32 bytes if there are enough."""
    with path.open("wb") as file:
        file.write(_MAGIC + _handshake())
        for first in range(0, packets - 3, STRETCH):
            file.write(_stretch(first, min(STRETCH, packets - 3 - first)))


def _handshake() -> bytes:
    parts = []
    for number, (flags, seq, ack, there) in enumerate(((0x02, 0, 0, True), (0x12, 0, 1, False), (0x10, 1, 1, True))):
        head = _filled(np.zeros(1, _HEAD), np.array([there]), np.array([number * 1000]))
        head["flags"], head["seq"], head["ack"] = flags, seq, ack
        more = _SYNS[1] if flags & 0x02 else b""
        head["offset"] = 0xA0 if more else 0x80
        if more:
            head["layout"] = int.from_bytes(_SYNS[0][:4], "big")
            head["captured"] = head["frame"] = 74
            head["total"] = 60
            parts.append(head.tobytes()[:-8] + _SYNS[0][4:] + bytes(8) + more)
        else:
            parts.append(head.tobytes())
    return b"".join(parts)


def _stretch(first: int, count: int) -> bytes:
    number = np.arange(first, first + count, dtype=np.int64)
    data = number % 3 < 2
    segment = number // 3 * 2 + number % 3  # for an ACK: how many segments were sent before it
    again = data & (segment % LOST == LOST - 1)
    rows = _filled(np.zeros(count, _WHOLE), data, 3000 + number * GAP_NS)
    rows["flags"] = 0x10
    rows["seq"] = np.where(data, 1 + PAYLOAD * (segment - 3 * again), 1) % 2**32
    rows["ack"] = np.where(data, 1, 1 + PAYLOAD * segment) % 2**32
    rows["total"] = np.where(data, 52 + PAYLOAD, 52)
    rows["frame"] = 14 + rows["total"]
    rows["captured"] = np.where(data, SNAP, _HEAD.itemsize - 16)
    bytes_of = rows.view(np.uint8).reshape(count, _WHOLE.itemsize)
    kept = np.ones((count, _WHOLE.itemsize), bool)
    kept[~data, _HEAD.itemsize :] = False
    return bytes_of[kept].tobytes()


def _filled(rows: npt.NDArray[Any], there: npt.NDArray[Any], time: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fill in what packets of either direction have in common."""
    rows["seconds"], rows["fraction"] = 1_750_000_000 + time // 10**9, time % 10**9
    rows["captured"] = rows["frame"] = _HEAD.itemsize - 16
    rows["macs"], rows["kind"], rows["version"], rows["ttl"], rows["protocol"] = b"\2" * 12, 0x0800, 0x45, 64, 6
    rows["ends"] = np.where(there, np.uint64(_THERE), np.uint64(_BACK))
    rows["source_port"], rows["destination_port"] = np.where(there, 5000, 5001), np.where(there, 5001, 5000)
    rows["offset"], rows["window"], rows["total"], rows["layout"] = 0x80, 8192, 52, 0x0101080A
    rows["value"] = rows["echo"] = (time // 10**6) % 2**32
    return rows


def measures(seconds: float) -> dict[str, Measure]:
    """Return the metrics that go over a capture's packets, for a transfer of so many seconds."""
    half = (seconds / 4, 3 * seconds / 4)
    return {
        "capture_goodput": metric.capture_goodput(*half),
        "idle_share": metric.idle_share(*half),
        "retransmits": metric.retransmits(),
        "header_length": metric.header_length(),
        "header_share": metric.header_share(),
        "largest_payload": metric.largest_payload(),
        "window_plateau": metric.window_plateau(),
        "window_settled": metric.window_settled(),
        "segments_per_ack": segments_per_ack(*half, node=NODE),
        "packets_per_gb": packets_per_gb(*half, node=NODE),
        "traffic_of": lambda record: Value(traffic_of(record).segments, "1"),
    }


def read(path: Path, names: Container[str] | None = None) -> dict[str, Any]:
    """Read the capture with each metric in turn, or with those of these names."""
    record = cast(Record, SimpleNamespace(outputs={name_of(NODE, INTERFACE): None}, path=lambda _: path, port=None))
    capture = metric.Capture(path)
    times = (int(each.time_ns[0]) for each in capture.blocks())
    first = next(times)
    seconds = (max(times, default=first + 10**9) - first) / 1e9
    found: dict[str, Any] = {"packets": len(capture), "bytes": path.stat().st_size}
    wanted = {name: each for name, each in measures(seconds).items() if names is None or name in names}
    for name, measure in wanted.items():
        start = process_time()
        found[name] = {"value": measure(record).number, "cpu_seconds": round(process_time() - start, 1)}
    return found | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000}


def main() -> None:
    """Write, read in a process of its own, and remove."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--packets", type=int, default=100_000_000)
    parser.add_argument("--read", action="store_true", help="only read the capture that is there")
    options = parser.parse_args()
    path: Path = options.folder / "many.pcap"
    if options.read:
        print(json.dumps(read(path), indent=1))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        write(path, options.packets)
        subprocess.run([sys.executable, "-m", "bench.memory", str(options.folder), "--read"], check=True)
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
