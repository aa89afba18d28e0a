"""Compare the captures of a trial on two kernels, packet by packet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lab.ext.comparison.packets import PacketDifference, first_packet_difference
from lab.metric.capture import Capture
from lab.record.record import Record

Sameness = Literal["identical", "same", "differ"]


@dataclass(frozen=True, slots=True)
class PacketChange:
    """Describes the differences between the packets of two records.

    `said` is "identical" if all captures have the same bytes, "same" if captures differ only in random values, which
    `first_packet_difference` ignores, "differ" if packets differ, and None without a packet capture.
    """

    said: Sameness | None
    capture: str = ""  # the file that differs
    divergence: PacketDifference | None = None  # the first difference in that file


def captured(base: Record, new: Record) -> PacketChange:
    """Compare the packets in two records of one trial. If several captures differ, report the first by name.

    In real time, no two runs have the same packets, so packets are not evidence about a kernel. The same applies to a
    capture without TCP that differs in bytes, and to a capture that only one side has. Raises RecordError and
    CaptureError.
    """
    if new.trial.clock != "virtual":
        return PacketChange(None)
    names = sorted(name for name in base.outputs.keys() | new.outputs.keys() if name.endswith(".pcap"))
    common = [name for name in names if name in base.outputs and name in new.outputs]
    changed = [name for name in common if base.outputs[name] != new.outputs[name]]
    tells = len(changed) < len(common)
    for name in changed:
        ours, theirs = Capture(base.path(name)), Capture(new.path(name))
        if where := first_packet_difference(ours, theirs):
            return PacketChange("differ", name, where)
        tells |= bool(ours.tcp.any())
    if not tells or common != names:
        return PacketChange(None)
    return PacketChange("same" if changed else "identical")


def together(trials: Iterable[PacketChange]) -> PacketChange:
    """Return the summary of a case's trials: the first one that differs, else the result that holds for all trials."""
    found = {each.said: each for each in reversed([*trials])}
    order: tuple[Sameness | None, ...] = ("differ", None, "same", "identical")
    return next((found[said] for said in order if said in found), PacketChange(None))
