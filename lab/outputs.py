"""Name the files that a trial leaves in its out/, once for those who write them and those who read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

__all__ = [
    "BULK",
    "BULK_SENDER",
    "CPU",
    "DATAGRAMS",
    "DATAGRAMS_SENDER",
    "FIDELITY",
    "FLENT_SUFFIX",
    "FLOWS",
    "IPERF",
    "IPERF3",
    "IPERF_SERVER",
    "NETCAT",
    "PACKETDRILL",
    "PING",
    "PROGRAM",
    "QDISCS_AFTER",
    "QDISCS_BEFORE",
    "QPERF",
    "SERVICE",
    "SMALL_WRITES",
    "TCP_INFO_RECORD",
    "TIMELINE",
    "TRANSFERS",
    "capture",
    "captures",
    "expert",
    "is_expert",
    "is_tcp_info",
    "netstat",
    "packetdrill",
    "queue",
    "tcp_info",
]

BULK, BULK_SENDER = "bulk.json", "bulk.sender.json"
CPU = "cpu.json"
DATAGRAMS, DATAGRAMS_SENDER = "datagrams.json", "datagrams.sender.json"
FIDELITY = "fidelity.json"  # what the monitor of a trial in real time saw
FLENT_SUFFIX = ".flent.gz"  # Flent itself makes the rest of the name
FLOWS = "flows.json"  # what tells several workloads apart; each one's own outputs are in a folder of its name
IPERF, IPERF_SERVER = "iperf.csv", "iperf.server.csv"
IPERF3 = "iperf3.json"
NETCAT = "netcat.json"
PACKETDRILL = "packetdrill.json"  # how a script ended by each version of IP
PING = "ping.txt"
QDISCS_BEFORE, QDISCS_AFTER = "qdiscs.before.json", "qdiscs.after.json"
PROGRAM, SERVICE = "program", "service"  # .out and .err hold what they said; what they wrote is in the folder program/
QPERF = "qperf.txt"
SMALL_WRITES = "small_writes.json"
TIMELINE = "timeline.json"  # what happened to the links by themselves, and when
TRANSFERS = "transfers.json"

# Precedes each sample in `tcp_info`: time in ns, local port << 16 | remote port, how many bytes of tcp_info follow.
TCP_INFO_RECORD = struct.Struct("<qII")

_CAPTURE, _PCAP = "capture.", ".pcap"
_EXPERT, _TEXT = "expert.", ".txt"
_TCP_INFO, _BINARY = "tcp_info.", ".bin"


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


def packetdrill(version: str, stream: str) -> str:
    """Return the name of the file with what packetdrill wrote to "out" or "err" by a version of IP."""
    return f"packetdrill.{version}.{stream}"


def queue(link: str, way: str) -> str:
    """Return the name of the file with what a link's queue did over time."""
    return f"queue.{link}.{way}.json"


def tcp_info(node: str) -> str:
    """Return the name of the file with the samples of a node's connections."""
    return f"{_TCP_INFO}{node}{_BINARY}"


def is_tcp_info(name: str) -> bool:
    """Return whether the file holds samples of connections."""
    return name.startswith(_TCP_INFO) and name.endswith(_BINARY)
