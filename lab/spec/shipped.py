"""Find claims, topologies and notebooks, from the user, from the lab, and from packs.

A pack is a folder with its own experiments/, topologies/ and notebooks/, below packs/ or anywhere else.
"""

from __future__ import annotations

from pathlib import Path

from lab.base.moving import entries

PACKAGE = Path(__file__).resolve().parents[1]  # the lab's own code


def folder() -> Path:
    """Return the folder with experiments/, topologies/, notebooks/ and packs/: in the package, or in the checkout."""
    installed = PACKAGE / "share"  # only a wheel has it; pyproject.toml lists its contents
    return installed if installed.is_dir() else PACKAGE.parent


def roots() -> tuple[Path, ...]:
    """Return the current directory, and the folder of the shipped files."""
    return tuple(dict.fromkeys((Path.cwd(), folder())))


def packs() -> dict[str, Path]:
    """Return the folders of all packs by name, sorted. The current directory's packs override the lab's own."""
    found: dict[str, Path] = {}
    for root in roots():
        for path in entries(root / "packs"):
            if not path.name.startswith(".") and (path / "experiments").is_dir():
                found.setdefault(path.name, path)
    return dict(sorted(found.items()))


def places() -> tuple[Path, ...]:
    """Return every folder that may hold experiments/, topologies/ and notebooks/, the nearest first and packs last."""
    return (*roots(), *packs().values())
