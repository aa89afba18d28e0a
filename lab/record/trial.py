"""Define a trial: every input that decides what its packets are, and the address that follows from them."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from lab.spec.clock import Clock, Place
from lab.spec.key import CaseKey
from lab.units import to_plain

__all__ = ["FABRIC", "HOST", "Trial", "canonical"]

HOST = "host"  # the userland of a trial that runs the host's own programs
FABRIC = "netlink"  # makes the network unless another is asked for


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Holds the inputs of one run. Two trials with equal inputs are the same trial, wherever and whenever they run."""

    claim: str
    arm: str
    point: str  # "" outside a sweep
    source_sha256: str  # covers what the experiment file means, and its patches
    network: dict[str, Any]  # this and the next four in plain form (`lab.units.to_plain`)
    workload: dict[str, Any]
    probes: list[dict[str, Any]]
    middleboxes: list[dict[str, Any]]
    kernel: dict[str, Any]
    on: Place
    clock: Clock
    seed: int
    repeat: int
    tools: dict[str, str]  # each tool that touches the packets -> its version; of a sealed userland its id says it
    fabric: str = FABRIC  # what makes the network; left out of the JSON where it is the usual one
    userland: str = HOST  # the id of the userland that the guest boots from; left out of the JSON for the host's own

    @property
    def key(self) -> CaseKey:
        """The key of the case that this is a trial of."""
        return CaseKey(self.arm, self.point)

    @property
    def address(self) -> str:
        """The SHA-256 of the canonical JSON, in hex: the trial's place in every store."""
        return hashlib.sha256(canonical(self)).hexdigest()

    @property
    def run_address(self) -> str:
        """The SHA-256 of what is performed: the inputs without the names of claim, arm and point, and without the file.

        In virtual time, trials with the same one leave the same bytes.
        """
        return msgspec.structs.replace(self, claim="", arm="", point="", source_sha256="").address


def canonical(value: Any) -> bytes:
    """Return the one JSON text of `value`: keys sorted, no spaces, UTF-8."""
    return msgspec.json.encode(to_plain(value), order="sorted")
