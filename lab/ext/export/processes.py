"""List the programs of a trial's workload whose times are in the record, with these times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lab.ext.export.outputs import Number, typed
from lab.guest import outputs
from lab.record.record import Record


@dataclass(frozen=True)
class Span:
    """Describes a program that ran on a node, from `start_ns` to `end_ns` of the trial's clock."""

    node: str
    name: str
    start_ns: int
    end_ns: int


class _Started(msgspec.Struct):
    start_ns: Number


class _Received(msgspec.Struct):
    first_ns: Number
    last_ns: Number


class _Ran(msgspec.Struct):
    start_ns: Number
    end_ns: Number


def spans(record: Record) -> Iterator[Span]:
    """Yield the programs of the workload, in the order of its flows.

    Only the lab's own transfer and netcat have such times. Other tools do not record the trial's clock.
    """
    workload = record.trial.workload
    flows: list[dict[str, Any]] = workload.get("flows", [{"name": "", "workload": workload}])
    for flow in flows:
        prefix = f"{flow['name']}/" if flow["name"] else ""
        yield from _of(record, flow["workload"], prefix, f"{flow['name']}: " if flow["name"] else "")


def _of(record: Record, workload: dict[str, Any], prefix: str, of: str) -> Iterator[Span]:
    sent = typed(record, prefix + outputs.BULK_SENDER, _Started)
    received = typed(record, prefix + outputs.BULK, _Received)
    netcat = typed(record, prefix + outputs.NETCAT, _Ran)
    if sent and received:
        yield Span(workload["client"], f"{of}sender", sent.start_ns, received.last_ns)
        yield Span(workload["server"], f"{of}receiver", received.first_ns, received.last_ns)
    if netcat:
        yield Span(workload["client"], f"{of}nc", netcat.start_ns, netcat.end_ns)
