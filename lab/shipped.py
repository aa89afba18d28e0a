"""Say where claims, topologies and notebooks are: a user's own, those that the lab ships, and the packs of both.

A pack is a folder with experiments/, topologies/ and notebooks/ of its own, below packs/ or anywhere else.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder", "packs", "places", "roots"]


def folder() -> Path:
    """Return the folder with experiments/, topologies/, notebooks/ and packs/: in the package, or of the checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "share"  # only a wheel has it: pyproject.toml says what goes in
    return installed if installed.is_dir() else package.parent


def roots() -> tuple[Path, ...]:
    """Return the current directory, and the folder of what the lab ships."""
    return tuple(dict.fromkeys((Path.cwd(), folder())))


def packs() -> dict[str, Path]:
    """Return name -> folder of every pack, sorted; the current directory's before the lab's own."""
    found: dict[str, Path] = {}
    for root in roots():
        for path in sorted((root / "packs").glob("[!.]*")):
            if (path / "experiments").is_dir():
                found.setdefault(path.name, path)
    return dict(sorted(found.items()))


def places() -> tuple[Path, ...]:
    """Return every folder that may hold experiments/, topologies/ and notebooks/: the nearest first, packs last."""
    return (*roots(), *packs().values())
