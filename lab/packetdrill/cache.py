"""Keep packetdrills that were built, each in a folder of its own that is named by all that decides what it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lab import cache as caches
from lab.errors import MachineError

__all__ = ["PROGRAM", "RECORD", "Packetdrill", "PacketdrillMissing", "find", "home", "load"]

PROGRAM = "packetdrill"
RECORD = "packetdrill.json"


class PacketdrillMissing(MachineError):
    """No such packetdrill is kept here."""


@dataclass(frozen=True, slots=True)
class Packetdrill:
    """Name a packetdrill that was built."""

    id: str  # of all that decides what it is
    source: str  # SHA-256 of its source
    sha256: str  # of the program

    @property
    def path(self) -> Path:
        """Return where the program is."""
        return home() / self.id / PROGRAM


def find(ident: str | None = None) -> Packetdrill:
    """Return the packetdrill with this id, or the one that `build` was last asked for.

    Raises PacketdrillMissing, which names the cure.
    """
    kept = sorted(home().glob(f"{ident or '*'}/{RECORD}"), key=lambda file: file.stat().st_mtime_ns)
    found = load(kept[-1].parent.name) if kept else None
    if found is None:
        raise PacketdrillMissing(f"packetdrill{f' {ident}' if ident else ''} is not here: run `lab packetdrill build`")
    return found


def home() -> Path:
    """Return where they are kept."""
    return caches.folder(PROGRAM)


def load(ident: str) -> Packetdrill | None:
    """Return the packetdrill with this id, or None when it is not here, whole."""
    try:
        plain: dict[str, str] = json.loads((home() / ident / RECORD).read_text(encoding="utf-8"))
        return Packetdrill(**plain)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
