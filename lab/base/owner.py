"""Name the owner of a file, to distinguish the files of dead processes from the files of live processes."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.base import foreign

_PID = re.compile("[0-9]{1,10}")
TRIES, TRY_SECONDS = 20, 0.1  # a supervisor checks its parent every fifth of a second


def owner() -> str:
    """Return a name for this process: its node, boot, process id and start time. No other process ever has all four."""
    return "~".join((os.uname().nodename, _boot(), str(os.getpid()), str(_started(os.getpid()))))


def is_dead(name: str) -> bool:
    """Return whether the owner in the name `WHAT~OWNER~ANY` is dead.

    Return False for another node, which may share the file system. Any user can give a temporary file any name. A name
    in a form that this module never creates has no owner.
    """
    match name.split("~"):
        case [_, node, boot, pid, started, _] if node == os.uname().nodename and _PID.fullmatch(pid):
            return boot != _boot() or _started(int(pid)) != started
    return False


def is_private(path: Path) -> bool:
    """Return whether the path is in a folder that this process created for itself alone and will remove."""
    return any(f"~{owner()}~" in part for part in path.absolute().parts)


def own(home: Path, what: str) -> Path:
    """Create a folder in `home` for this process alone. The process removes the folder, or else the next `sweep`
    does.
    """
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{what}~{owner()}~{secrets.token_hex(8)}"
    path.mkdir(exist_ok=True)  # no other process uses this name; a file server may make it and lose its reply
    path.chmod(0o755)
    return path


@contextmanager
def private(home: Path, what: str) -> Iterator[Path]:
    """Create a folder in `home` for this process alone, within this context.

    After a crash, the next `sweep` removes the folder.
    """
    path = own(home, what)
    try:
        yield path
    finally:
        foreign.remove(path)


def sweep(home: Path, what: str = "*") -> tuple[Path, ...]:
    """Remove the folders of dead owners in `home`, and return their paths."""
    dead = tuple(path for path in home.glob(f"{what}~*") if is_dead(path.name))
    return tuple(path for path in dead if remove(path))


def living(home: Path, what: str = "*") -> tuple[Path, ...]:
    """Return the folders in `home` whose owners are alive, or are on another node and may be alive."""
    return tuple(path for path in sorted(home.glob(f"{what}~*")) if not is_dead(path.name))


def remove(folder: Path) -> bool:
    """Remove a dead owner's folder, and return whether the folder is gone.

    Anything that is not a folder stays, such as a link. The function retries, because a guest may briefly outlive its
    owner, and continue to write.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    for _ in range(TRIES):
        foreign.remove(folder)
        if not folder.exists():
            return True
        time.sleep(TRY_SECONDS)
    return False


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str | None:
    """Return the start time of a live process, in ticks since boot; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None
