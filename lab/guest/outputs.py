"""Name the files that a trial leaves behind in its out/ folder, and find a tool's error message in them.

Both the writers and the readers of these files use this module.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

__all__ = [
    "BULK",
    "BULK_SENDER",
    "CPU",
    "DATAGRAMS",
    "DATAGRAMS_SENDER",
    "FIDELITY",
    "FLENT_LOG",
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
    "losses",
    "netstat",
    "packetdrill",
    "queue",
    "report",
    "sentence",
    "tcp_info",
]

BULK, BULK_SENDER = "bulk.json", "bulk.sender.json"
CPU = "cpu.json"
DATAGRAMS, DATAGRAMS_SENDER = "datagrams.json", "datagrams.sender.json"
FIDELITY = "fidelity.json"  # the monitor's observations of a trial in real time
FLENT_LOG = "flent.log"
FLENT_SUFFIX = ".flent.gz"  # Flent itself makes the rest of the name
FLOWS = "flows.json"  # how to distinguish several workloads; the outputs of each are in a folder of its name
IPERF, IPERF_SERVER = "iperf.csv", "iperf.server.csv"
IPERF3 = "iperf3.json"
NETCAT = "netcat.json"
PACKETDRILL = "packetdrill.json"  # how a script ended, for each version of IP
PING = "ping.txt"
QDISCS_BEFORE, QDISCS_AFTER = "qdiscs.before.json", "qdiscs.after.json"
PROGRAM, SERVICE = "program", "service"  # .out and .err hold their output; program/ holds the files that they wrote
QPERF = "qperf.txt"
SMALL_WRITES = "small_writes.json"
TIMELINE = "timeline.json"  # the changes of the links, and when they happened
TRANSFERS = "transfers.json"

# Precedes each sample in `tcp_info`: time in ns, local port << 16 | remote port, how many bytes of tcp_info follow.
TCP_INFO_RECORD = struct.Struct("<qII")

_CAPTURE, _PCAP = "capture.", ".pcap"
_EXPERT, _TEXT = "expert.", ".txt"
_TCP_INFO, _BINARY = "tcp_info.", ".bin"


def capture(node: str, interface: str) -> str:
    """Return the name of the file with the packets that crossed an interface."""
    return f"{_CAPTURE}{node}.{interface}{_PCAP}"


def captures(names: Iterable[str], node: str | None = None) -> list[str]:
    """Return the names of captures among `names`. With `node`, return only that node's captures."""
    start = _CAPTURE if node is None else f"{_CAPTURE}{node}."
    return [name for name in names if name.startswith(start) and name.endswith(_PCAP)]


def expert(node: str, interface: str) -> str:
    """Return the name of the file with tshark's Expert Info about the packets on an interface."""
    return f"{_EXPERT}{node}.{interface}{_TEXT}"


def is_expert(name: str) -> bool:
    """Return whether the file holds Expert Info."""
    return name.startswith(_EXPERT) and name.endswith(_TEXT)


def losses(link: str, way: str) -> str:
    """Return the name of the file with the segments that a link was to lose, and those that it lost."""
    return f"losses.{link}.{way}.json"


def netstat(node: str, when: str) -> str:
    """Return the name of the file with the kernel's counters on a node, "before" or "after" the workload."""
    return f"netstat.{node}.{when}.txt"


def packetdrill(version: str, stream: str) -> str:
    """Return the name of the file with packetdrill's output on the stream "out" or "err", for an IP version."""
    return f"packetdrill.{version}.{stream}"


def queue(link: str, way: str) -> str:
    """Return the name of the file with a link's queue over time."""
    return f"queue.{link}.{way}.json"


def tcp_info(node: str) -> str:
    """Return the name of the file with the tcp_info samples of a node's connections."""
    return f"{_TCP_INFO}{node}{_BINARY}"


def is_tcp_info(name: str) -> bool:
    """Return whether the file holds tcp_info samples of connections."""
    return name.startswith(_TCP_INFO) and name.endswith(_BINARY)


def report(text: str) -> Any:
    """Return the JSON object in a tool's output, without the warnings around it; None if there is no object."""
    start = re.search(r"^\{", text, re.MULTILINE)
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text, start.start())[0] if start else None
    return None


def sentence(tool: str, text: str) -> str:
    """Return a tool's reason for its failure.

    The reason is the "error" in the tool's JSON, else a line with the tool's name or a line that begins with "error",
    else the last line.
    """
    if isinstance(found := report(text), dict) and "error" in found:
        return str(found["error"])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    signed = re.compile(rf"(?:{re.escape(tool)}(?: v\S+)?(?: \(\w+\))?: |error\b)", re.IGNORECASE)
    return next(reversed([line for line in lines if signed.match(line)] or lines), "it left no message")
