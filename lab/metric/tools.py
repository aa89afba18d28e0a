"""Parse what the measuring tools print.

Each parser takes the raw text or JSON and raises MetricError when it is not what the tool prints at the end of a good
run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from lab.metric.flow import MetricError
from lab.units import Value

__all__ = ["Side", "expert_summaries", "iperf3_bits_per_second", "netstat_counters", "ping_rtts", "qperf_results"]

Side = Literal["received", "sent"]

_IPERF_FIELDS = 9  # time, two addresses with ports, id, interval, bytes, bits per second
_QPERF = re.compile(r"^\s+(\w+)\s+=\s+([\d.,]+) (\S+(?: cpus)?)\s*$", re.MULTILINE)
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}  # qperf counts in thousands
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}
_EXPERT = re.compile(r"^\s+(\d+)\s{2,}\S+\s+\S+\s{2}(.+)$", re.MULTILINE)
_PING = re.compile(r"\btime=([\d.]+) ms")


def iperf3_bits_per_second(output: Mapping[str, Any], side: Side) -> float:
    """Return the mean over the whole test that `iperf3 -J` reports for its receiver or its sender, in bit/s."""
    if "error" in output:
        raise MetricError(f"iperf3 failed: {output['error']}")
    try:
        return float(output["end"][f"sum_{side}"]["bits_per_second"])
    except (KeyError, TypeError) as error:
        raise MetricError(f"iperf3 did not report what was {side}: its output has no {error}") from error


def iperf_bits_per_second(text: str) -> float:
    """Return the mean over the whole test from the last line of `iperf -y C` (version 2), in bit/s."""
    lines = [line.split(",") for line in text.splitlines() if line]
    if not lines or len(lines[-1]) < _IPERF_FIELDS:
        raise MetricError(f"iperf reported nothing: {text.strip() or 'no output'}")
    return float(lines[-1][_IPERF_FIELDS - 1])


def qperf_results(text: str) -> dict[str, Value]:
    """Return qperf's results by name: bandwidths in bit/s, times in s, the rest as plain numbers.

    Qperf prints bits ("Gb/sec", with --use_bits_per_sec) or bytes ("GB/sec"); both are read.
    """
    found = {name: _qperf_value(float(number.replace(",", "")), unit) for name, number, unit in _QPERF.findall(text)}
    if not found:
        raise MetricError(f"qperf reported nothing: {text.strip().splitlines()[-1] if text.strip() else 'no output'}")
    return found


def _qperf_value(number: float, unit: str) -> Value:
    if unit in _TIMES:
        return Value(number * _TIMES[unit], "s")
    match = re.fullmatch(r"([KMGT]?)(b|B|bits|bytes)?/sec", unit)
    if match is None:
        return Value(number, "1")
    scale, of = match.groups()
    if of is None:
        return Value(number * _SCALES[scale], "1")
    return Value(number * _SCALES[scale] * (8 if of in ("B", "bytes") else 1), "bit/s")


def ping_rtts(text: str) -> list[float]:
    """Return the round trips that `ping` printed, in seconds, in order."""
    found = [float(number) / 1e3 for number in _PING.findall(text)]
    if not found:
        raise MetricError("ping got no answer")
    return found


def expert_summaries(text: str) -> dict[str, int]:
    """Count the frames per summary in tshark's Expert Info (`-z expert`), over all its severities."""
    if not re.search(r"^(Errors|Warns|Notes|Chats) \(\d+\)$", text, re.MULTILINE):
        raise MetricError("tshark's Expert Info is empty: not even the connection's SYN is in it")
    found: dict[str, int] = {}
    for frames, summary in _EXPERT.findall(text):
        found[summary.strip()] = found.get(summary.strip(), 0) + int(frames)
    return found


def netstat_counters(text: str) -> dict[str, int]:
    """Return the counters of /proc/net/netstat and /proc/net/snmp by name: 'TcpExt.TCPDSACKUndo', 'Tcp.RetransSegs'."""
    rows = [line.split() for line in text.splitlines()]
    found = {
        f"{names[0][:-1]}.{name}": int(number)
        for names, numbers in zip(rows[::2], rows[1::2], strict=False)
        for name, number in zip(names[1:], numbers[1:], strict=False)
    }
    if not found:
        raise MetricError("the kernel's counters are empty")
    return found
