"""Parse the output of measuring tools.

Each parser takes the raw text or JSON. A parser raises MetricError if the text is not the output of a successful run.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from lab.guest import outputs
from lab.spec.metric import MetricError
from lab.units import Rate, Value

Side = Literal["received", "sent"]
Way = Literal["forward", "back"]

_RUNAWAY = 2  # times its own rate: iperf3 is at most one block ahead of it
_IPERF_FIELDS = 9  # time, two addresses with ports, id, interval, bytes, bits per second
_QPERF = re.compile(r"^\s+(\w+)\s+=\s+([\d,]*\.?\d+) (\S+(?: cpus)?)\s*$", re.MULTILINE)
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}  # qperf counts in thousands
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}
_EXPERT = re.compile(r"^\s+(\d+)\s{2,}\S+\s+\S+\s{2}(.+)$", re.MULTILINE)
_REPEATED = re.compile(r"\(suspected\) (?:(\w+) )?retransmission")
_PING = re.compile(r"\btime=(\d+(?:\.\d+)?) ms")


def iperf3_bits_per_second(text: str, side: Side, flow: int | None = None, way: Way = "forward") -> float:
    """Return the mean rate of the whole test that `iperf3 -J` reports for the receiver or the sender, in bit/s.

    The rate is the sum of all flows in one direction, or of one flow, counted from 1. The text may begin with warnings.
    """
    if flow is None:
        part = f"sum_{side}" if way == "forward" else f"sum_{side}_bidir_reverse"
        return _iperf3_number(_iperf3_end(text), (part, "bits_per_second"), f"how much was {side}")
    found = _iperf3_flow(text, flow, way)
    if "udp" in found and side == "received":
        raise MetricError("iperf3 does not report how much of each UDP flow was received; use side='sent', or Flows")
    part = "udp" if "udp" in found else "receiver" if side == "received" else "sender"
    return _iperf3_number(found, (part, "bits_per_second"), f"how much of flow {flow} was {side}")


def iperf3_datagrams(text: str, field: Literal["jitter_ms", "lost_percent"], flow: int | None = None) -> float:
    """Return the jitter in ms, or the lost datagrams in per cent, that `iperf3 -u -J` reports for the receiver.

    The value is the one for all flows, whose jitter is the mean, or for one flow, counted from 1.
    """
    found, part = (_iperf3_end(text), "sum") if flow is None else (_iperf3_flow(text, flow), "udp")
    return _iperf3_number(found, (part, field), "how datagrams arrived")


def _iperf3_flow(text: str, flow: int, way: Way = "forward") -> Any:
    """Return iperf3's report of one flow in a direction. Raises MetricError if there is no such flow."""
    flows = _iperf3_flows(text, way)
    if not 1 <= flow <= len(flows):
        raise MetricError(f"iperf3 has no flow {flow}: it reports {len(flows)} in the direction {way}, counted from 1")
    return flows[flow - 1]


def _iperf3_flows(text: str, way: Way) -> list[Any]:
    """Return what iperf3 reports of each flow in a direction."""
    end = _iperf3_end(text)
    try:
        return [
            each
            for each in end["streams"]
            if next(iter(each.values()))["sender"] == (way == "forward")  # whether the client sends
        ]
    except (AttributeError, KeyError, StopIteration, TypeError):
        raise MetricError("iperf3 did not report its flows") from None


def _iperf3_end(text: str) -> Any:
    """Return the end of iperf3's report. Raises MetricError if iperf3 failed, or sent far too much.

    iperf3 3.16 to 3.19 divides what it sent by the time since its start. If it starts to send in the microsecond of
    its start, the result is infinite, becomes 0 as an integer, and iperf3 sends without a limit until its clock moves.
    """
    output = outputs.report(text)
    if output is None:
        raise MetricError(f"iperf3 reported nothing: {outputs.sentence('iperf3', text)}")
    if "error" in output:
        raise MetricError(f"iperf3 failed: {output['error']}")
    try:
        target = output["start"].get("target_bitrate")
        flows = output["start"].get("test_start", {}).get("num_streams", 1) or 1
        if target and (sent := output["end"]["sum_sent"]["bits_per_second"]) > _RUNAWAY * target * flows:
            raise MetricError(
                f"iperf3 sent {sent / target / flows:.0f} times its rate of {Rate(target)}: its clock had not moved "
                "when it began to send, and it divided by zero; use a different seed, or a link with a lower rate"
            )
        return output["end"]
    except (AttributeError, KeyError, TypeError) as error:
        raise MetricError(f"iperf3 did not report what it sent: its output has no {error}") from error


def _iperf3_number(found: Any, place: tuple[str, str], about: str) -> float:
    """Return a number in a part of iperf3's report. Raises MetricError if the number is missing."""
    try:
        return float(found[place[0]][place[1]])
    except (KeyError, TypeError, ValueError) as error:
        raise MetricError(f"iperf3 did not report {about}: its output has no {error}") from error


def iperf_bits_per_second(text: str) -> float:
    """Return the mean rate of the whole test from the last line of `iperf -y C` (version 2), in bit/s."""
    lines = [line.split(",") for line in text.splitlines() if line]
    if not lines or len(lines[-1]) < _IPERF_FIELDS:
        raise MetricError(f"iperf reported nothing: {outputs.sentence('iperf', text)}")
    try:
        return float(lines[-1][_IPERF_FIELDS - 1])
    except ValueError:
        raise MetricError("iperf's last line has no rate in its last field") from None


def qperf_results(text: str) -> dict[str, Value]:
    """Return qperf's results by name: bandwidths in bit/s, times in s, all others as plain numbers.

    The parser reads bits ("Gb/sec", which qperf prints with --use_bits_per_sec) and bytes ("GB/sec").
    """
    found = {name: _qperf_value(float(number.replace(",", "")), unit) for name, number, unit in _QPERF.findall(text)}
    if not found:
        raise MetricError(f"qperf reported nothing: {outputs.sentence('qperf', text)}")
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
        raise MetricError(f"ping got no answer: {outputs.sentence('ping', text)}")
    return found


def expert_summaries(text: str) -> dict[str, int]:
    """Return the number of frames for each summary in tshark's Expert Info (`-z expert`), over all severities."""
    if not re.search(r"^(Errors|Warns|Notes|Chats) \(\d+\)$", text, re.MULTILINE):
        raise MetricError("tshark's Expert Info is empty: not even the connection's SYN is in it")
    found: dict[str, int] = {}
    for frames, summary in _EXPERT.findall(text):
        found[summary.strip()] = found.get(summary.strip(), 0) + int(frames)
    return found


def expert_repeats(text: str) -> tuple[int, dict[str, int]]:
    """Return the number of frames that tshark's Expert Info lists as retransmissions, in total and for each kind.

    A fast or spurious retransmission has a second line for the same frame, which is counted only once.
    """
    found = expert_summaries(text)
    kinds = {kind[1]: frames for said, frames in found.items() if (kind := _REPEATED.search(said)) and kind[1]}
    return sum(frames for said, frames in found.items() if (kind := _REPEATED.search(said)) and not kind[1]), kinds


def netstat_counters(text: str) -> dict[str, int]:
    """Return the counters of /proc/net/netstat and /proc/net/snmp by name: 'TcpExt.TCPDSACKUndo', 'Tcp.RetransSegs'."""
    rows = [line.split() for line in text.splitlines()]
    try:
        found = {
            f"{names[0][:-1]}.{name}": int(number)
            for names, numbers in zip(rows[::2], rows[1::2], strict=False)
            for name, number in zip(names[1:], numbers[1:], strict=False)
        }
    except (IndexError, ValueError):
        raise MetricError("the kernel's counters are damaged") from None
    if not found:
        raise MetricError("the kernel's counters are empty")
    return found
