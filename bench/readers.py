"""Read the same columns of one capture in three ways: with the lab's reader, tshark and scapy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

from lab.errors import LabError, MachineError
from lab.metric.capture import Capture

PACKETS = 100_000  # scapy takes its time
RUNS = 3

Columns = tuple[int, int, int, int]  # packets, and the sums of seq, ack and payload: the same for all, or one is wrong


def lab(capture: Path) -> Columns:
    """Read with the lab's reader."""
    read = Capture(capture)
    columns = (read.seq, read.ack, read.payload)
    return (len(read.time_ns), *(int(column.sum(dtype=np.int64)) for column in columns))  # type: ignore[return-value]


def tshark(capture: Path) -> Columns:
    """Read with tshark, its start included."""
    fields = ("frame.time_epoch", "tcp.seq_raw", "tcp.ack_raw", "tcp.len")
    argv = ["tshark", "-n", "-r", str(capture), "-Y", "tcp", "-T", "fields", *(w for f in fields for w in ("-e", f))]
    rows = [line.split("\t") for line in _output(argv).splitlines()]
    return len(rows), *(sum(int(row[column]) for row in rows) for column in (1, 2, 3))  # type: ignore[return-value]


def scapy(capture: Path) -> Columns:
    """Read with scapy, packet by packet."""
    packets = seq = ack = payload = 0
    with PcapReader(str(capture)) as read:
        for packet in read:
            ip, tcp = packet[IP], packet[TCP]
            packets += 1
            seq += tcp.seq
            ack += tcp.ack
            payload += ip.len - 4 * ip.ihl - 4 * tcp.dataofs
    return packets, seq, ack, payload


def compare(capture: Path, scratch: Path) -> dict[str, list[float]]:
    """Return thousand packets per second of every reader on the same first packets; the lab's on the whole file, too.

    Raises MachineError without tshark or tcpdump, LabError when two readers do not see the same.
    """
    part = scratch / "part.pcap"
    precision = "--time-stamp-precision=nano"
    _output(["tcpdump", precision, "-r", str(capture), "-c", str(PACKETS), "-w", str(part), "tcp"])
    rates: dict[str, list[float]] = {}
    seen: dict[str, Columns] = {}
    for name, read in (("lab", lab), ("tshark", tshark), ("scapy", scapy)):
        seen[name], rates[name] = _timed(read, part)
    if len(set(seen.values())) > 1:
        raise LabError(f"the readers do not agree on packets and sums of seq, ack and payload: {seen}")
    columns, whole = _timed(lab, capture)
    return {**rates, f"lab, all {columns[0]:,} packets": whole}


def _timed(read: Callable[[Path], Columns], capture: Path) -> tuple[Columns, list[float]]:
    rates = []
    for _ in range(RUNS):
        start = perf_counter()
        columns = read(capture)
        rates.append(columns[0] / (perf_counter() - start) / 1000)
    return columns, rates


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise MachineError(f"the tool '{argv[0]}' is missing: `make setup-host` installs it") from None
    except subprocess.CalledProcessError as error:
        raise LabError(f"{argv[0]} failed: {error.stderr.strip()}") from None
