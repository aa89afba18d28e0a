"""Store packetdrill builds, each in a folder that is named after the hash of the build's inputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lab.base import cache as caches
from lab.errors import MachineError

PROGRAM = "packetdrill"
RECORD = "packetdrill.json"


class PacketdrillMissing(MachineError):
    """Raised if the requested packetdrill is not in the cache."""


@dataclass(frozen=True, slots=True)
class Packetdrill:
    """Identifies a packetdrill build."""

    id: str  # covers everything that decides it
    source: str  # SHA-256 of its source
    sha256: str  # of the program

    @property
    def path(self) -> Path:
        """The path of the program."""
        return home() / self.id / PROGRAM


def find(ident: str | None = None) -> Packetdrill:
    """Return the packetdrill with this id, or the last one that `build` built.

    Raises PacketdrillMissing with the fix.
    """
    kept = sorted(home().glob(f"{ident or '*'}/{RECORD}"), key=lambda file: file.stat().st_mtime_ns)
    found = load(kept[-1].parent.name) if kept else None
    if found is None:
        raise PacketdrillMissing(f"packetdrill{f' {ident}' if ident else ''} is not here; run `lab packetdrill build`")
    return found


def home() -> Path:
    """Return the folder that holds packetdrill builds."""
    return caches.folder(PROGRAM)


def load(ident: str) -> Packetdrill | None:
    """Return the packetdrill with this id, or None if it is missing or incomplete."""
    try:
        plain: dict[str, str] = json.loads((home() / ident / RECORD).read_text(encoding="utf-8"))
        return Packetdrill(**plain)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
