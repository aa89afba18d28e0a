"""Name the owner of a thing, so that what a dead process left can be told from what a living one uses."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["is_dead", "living", "own", "owner", "private", "remove", "sweep"]


TRIES, TRY_SECONDS = 20, 0.1  # a supervisor checks on its parent every fifth of a second


def owner() -> str:
    """Name this process by its node, boot, process id and start time: no other process ever has all four."""
    return "~".join((os.uname().nodename, _boot(), str(os.getpid()), str(_started(os.getpid()))))


def is_dead(name: str) -> bool:
    """Return whether the owner in `WHAT~OWNER~ANY` is gone; False on another node, which may share the file system."""
    match name.split("~"):
        case [_, node, boot, pid, started, _] if node == os.uname().nodename:
            return boot != _boot() or _started(int(pid)) != started
    return False


def own(home: Path, what: str) -> Path:
    """Make a folder in `home` for this process alone, which removes it; else the next `sweep` does."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{what}~{owner()}~{secrets.token_hex(8)}"
    path.mkdir(exist_ok=True)  # nobody else thinks of that name: a file server may make it and lose its answer
    path.chmod(0o755)
    return path


@contextmanager
def private(home: Path, what: str) -> Iterator[Path]:
    """Make a folder in `home` for this process alone. It is gone afterwards; after a crash, with the next `sweep`."""
    path = own(home, what)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(home: Path, what: str = "*") -> tuple[Path, ...]:
    """Remove what dead owners left in `home`, and return where it was."""
    dead = tuple(path for path in home.glob(f"{what}~*") if is_dead(path.name))
    for path in dead:
        remove(path)
    return dead


def living(home: Path, what: str = "*") -> tuple[Path, ...]:
    """Return the folders in `home` whose owners live, or are on another node and may."""
    return tuple(path for path in sorted(home.glob(f"{what}~*")) if not is_dead(path.name))


def remove(folder: Path) -> None:
    """Remove a dead owner's folder. Retries, since a guest may outlive its owner by a moment and write until then."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(TRY_SECONDS)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str | None:
    """Return the start time of a live process, in ticks since boot; None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None
