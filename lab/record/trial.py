"""A trial: every input that decides what its packets are, and the address that follows from them."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from lab.spec.case import CaseKey
from lab.units import to_plain

__all__ = ["FABRIC", "Trial", "canonical"]

FABRIC = "netlink"  # what makes a network unless something else is asked for


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The inputs of one run. Two trials with equal inputs are the same trial, wherever and whenever they run.

    `network`, `workload`, `probes`, `middleboxes` and `kernel` are in plain form (`lab.units.to_plain`); `point` is ""
    outside a sweep; `source_sha256` covers what the experiment file means, and its patches; `on` and `clock` say where
    it runs ("uml", "virtual"); `tools` maps each tool that touches the packets to its version; `fabric` makes the
    network, and is left out where it is the usual one.
    """

    claim: str
    arm: str
    point: str
    source_sha256: str
    network: dict[str, Any]
    workload: dict[str, Any]
    probes: list[dict[str, Any]]
    middleboxes: list[dict[str, Any]]
    kernel: dict[str, Any]
    on: str
    clock: str
    seed: int
    repeat: int
    tools: dict[str, str]
    fabric: str = FABRIC

    @property
    def key(self) -> CaseKey:
        """Which case of its claim it is a trial of."""
        return CaseKey(self.arm, self.point)

    @property
    def address(self) -> str:
        """SHA-256 of the canonical JSON, in hex: the trial's place in every store."""
        return hashlib.sha256(canonical(self)).hexdigest()


def canonical(value: Any) -> bytes:
    """The one JSON text of `value`: keys sorted, no spaces, UTF-8."""
    return msgspec.json.encode(to_plain(value), order="sorted")
