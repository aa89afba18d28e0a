"""Find claims, topologies and notebooks, from the user, from the lab, and from packs.

A pack is a folder with its own experiments/, topologies/ and notebooks/, below packs/ or anywhere else.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISDIR

from lab.base.moving import entries

EXPERIMENTS, TOPOLOGIES = "experiments", "topologies"  # folders of a project
PACKAGE = Path(__file__).resolve().parents[1]  # the lab's own code


def folder() -> Path:
    """Return the folder with experiments/, topologies/, notebooks/ and packs/: in the package, or in the checkout."""
    installed = PACKAGE / "share"  # only a wheel has it; pyproject.toml lists its contents
    return installed if installed.is_dir() else PACKAGE.parent


def project() -> Path:
    """Return the project's folder: the current directory if it has experiments/ or topologies/, else the nearest parent
    with topologies/, else the current directory.

    Experiments are programs. So a parent counts only if its topologies/ belongs to the user, or to the owner of the
    current directory: not a folder that a stranger made in /tmp.
    """
    here = Path.cwd()
    if (here / EXPERIMENTS).is_dir() or (here / TOPOLOGIES).is_dir():
        return here
    owners = {os.getuid(), here.stat().st_uid}
    return next((path for path in here.parents if _owner(path / TOPOLOGIES) in owners), here)


def _owner(path: Path) -> int | None:
    """Return the owner of a folder, or None without such a folder."""
    try:
        found = path.lstat()
    except OSError:  # among other reasons, because the parent is unreadable
        return None
    return found.st_uid if S_ISDIR(found.st_mode) else None


def roots() -> tuple[Path, ...]:
    """Return the project's folder and the folder of the shipped files."""
    return tuple(dict.fromkeys((project(), folder())))


def packs() -> dict[str, Path]:
    """Return the folders of all packs by name, sorted. The project's packs override the lab's own."""
    found: dict[str, Path] = {}
    for root in roots():
        for path in entries(root / "packs"):
            if not path.name.startswith(".") and (path / "experiments").is_dir():
                found.setdefault(path.name, path)
    return dict(sorted(found.items()))


def experiments(article: Path) -> list[Path]:
    """Return the experiment files in an article's folder, sorted."""
    return [path for path in entries(article) if path.suffix == ".py" and not path.name.startswith(("_", "."))]


def places() -> tuple[Path, ...]:
    """Return every folder that may hold experiments/, topologies/ and notebooks/, the nearest first and packs last."""
    return (*roots(), *packs().values())
