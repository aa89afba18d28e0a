"""Define a trial: every input that decides its packets, and the address that follows from these inputs."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lab.guest.clock import Clock, Place
from lab.guest.key import CaseKey
from lab.units import to_plain

__all__ = ["FABRIC", "HOST", "Name", "Text", "Trial", "canonical"]

HOST = "host"  # the userland of a trial that runs with the host's programs
FABRIC = "netlink"  # makes the network by default

# The patterns of a name, a claim's id and other text. They also hold for a trial that is read from a file. A name may
# be a file's name, so it never leads out of a folder.
Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z", max_length=128)]
Claim = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f-\x9f/]+(/[^\x00-\x1f\x7f-\x9f/]+)*\Z", max_length=512)]
Text = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f-\x9f]*\Z", max_length=512)]
Digest = Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")]


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Holds the inputs of one run. Trials with equal inputs are the same trial, on any machine and at any time."""

    claim: Claim
    arm: Name
    point: Text  # "" outside a sweep
    source_sha256: Digest  # covers the meaning of the experiment file, and its patches
    network: dict[str, Any]  # this and the next four in plain form (see `lab.record.declared`)
    workload: dict[str, Any]
    probes: list[dict[str, Any]]
    middleboxes: list[dict[str, Any]]
    kernel: dict[str, Any]
    on: Place
    clock: Clock
    seed: Annotated[int, Meta(ge=0)]  # below 2^64
    repeat: Annotated[int, Meta(ge=0, lt=1 << 32)]
    tools: dict[Text, Text]  # each tool that touches the packets -> its version; a sealed userland's id covers its own
    fabric: Name = FABRIC  # what makes the network; the JSON leaves out the default
    userland: Name = HOST  # the id of the userland that the guest boots; the JSON leaves out the host's own

    @property
    def key(self) -> CaseKey:
        """The key of this trial's case."""
        return CaseKey(self.arm, self.point)

    @property
    def address(self) -> str:
        """The SHA-256 of the canonical JSON, in hex: the trial's place in every store."""
        return hashlib.sha256(canonical(self)).hexdigest()

    @property
    def run_address(self) -> str:
        """The SHA-256 of the trial's inputs, without the experiment file's hash and the names of claim, arm and point.

        In virtual time, trials with the same run address produce the same bytes.
        """
        return msgspec.structs.replace(self, claim="", arm="", point="", source_sha256="").address


def canonical(value: Any) -> bytes:
    """Return the canonical JSON text of `value`: sorted keys, no spaces, UTF-8."""
    return msgspec.json.encode(to_plain(value), order="sorted")
