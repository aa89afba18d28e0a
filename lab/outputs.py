"""Name the files that a trial leaves in its out/, once for those who write them and those who read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

__all__ = [
    "BULK",
    "BULK_SENDER",
    "CPU",
    "FIDELITY",
    "FLENT_SUFFIX",
    "IPERF",
    "IPERF3",
    "IPERF_SERVER",
    "NETCAT",
    "PING",
    "QDISCS_AFTER",
    "QDISCS_BEFORE",
    "QPERF",
    "SMALL_WRITES",
    "TCP_INFO_RECORD",
    "TIMELINE",
    "capture",
    "captures",
    "expert",
    "is_expert",
    "netstat",
    "queue",
    "tcp_info",
]

BULK, BULK_SENDER = "bulk.json", "bulk.sender.json"
CPU = "cpu.json"
FIDELITY = "fidelity.json"  # what the monitor of a trial in real time saw
FLENT_SUFFIX = ".flent.gz"  # Flent itself makes the rest of the name
IPERF, IPERF_SERVER = "iperf.csv", "iperf.server.csv"
IPERF3 = "iperf3.json"
NETCAT = "netcat.json"
PING = "ping.txt"
QDISCS_BEFORE, QDISCS_AFTER = "qdiscs.before.json", "qdiscs.after.json"
QPERF = "qperf.txt"
SMALL_WRITES = "small_writes.json"
TIMELINE = "timeline.json"  # what happened to the links by themselves, and when

# Precedes each sample in `tcp_info`: time in ns, local port << 16 | remote port, how many bytes of tcp_info follow.
TCP_INFO_RECORD = struct.Struct("<qII")

_CAPTURE, _PCAP = "capture.", ".pcap"
_EXPERT, _TEXT = "expert.", ".txt"


def capture(node: str, interface: str) -> str:
    """Return the name of the file with the packets that passed an interface."""
    return f"{_CAPTURE}{node}.{interface}{_PCAP}"


def captures(names: Iterable[str], node: str | None = None) -> list[str]:
    """Return the names that are captures; only those of `node`, if it is given."""
    start = _CAPTURE if node is None else f"{_CAPTURE}{node}."
    return [name for name in names if name.startswith(start) and name.endswith(_PCAP)]


def expert(node: str, interface: str) -> str:
    """Return the name of the file with tshark's Expert Info on what passed an interface."""
    return f"{_EXPERT}{node}.{interface}{_TEXT}"


def is_expert(name: str) -> bool:
    """Return whether the file holds Expert Info."""
    return name.startswith(_EXPERT) and name.endswith(_TEXT)


def netstat(node: str, when: str) -> str:
    """Return the name of the file with the kernel's counters on a node, "before" or "after" the workload."""
    return f"netstat.{node}.{when}.txt"


def queue(link: str, way: str) -> str:
    """Return the name of the file with what a link's queue did over time."""
    return f"queue.{link}.{way}.json"


def tcp_info(node: str) -> str:
    """Return the name of the file with the samples of a node's connections."""
    return f"tcp_info.{node}.bin"
