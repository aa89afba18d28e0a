"""Start the lab that a bundle carries: `python3 FILE verify`. Any Python from 3.11 on does, with nothing installed.

A bundle's file is a program for Python, whose `__main__` calls this. It unpacks the Python and the packages that are in
the file, once, and hands over to the lab in them: nothing of this machine takes part but its kernel and /bin/sh.
"""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import cache
from lab.building import terminable
from lab.owner import private, sweep

__all__ = ["CODE", "TREE", "main"]

TREE, CODE = "root", "lab"  # in the zip file: the userland of the lab, and the lab
PYTHON = f"{TREE}/usr/launch/python3"
HAND_OVER = "import sys; sys.argv[0] = 'lab'; from lab.cli import main; main()"
ITSELF = {"run": ["--from"], "verify": []}  # command -> what says that the bundle itself is meant
CANNOT = 3  # the exit code for a machine that cannot do it


def main() -> None:
    """Run the lab with the command line's arguments."""
    file = Path(sys.argv[0]).absolute()
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        _refuse(f"a bundle runs on Linux on x86-64, and this is {platform.system()} on {platform.machine()}")
    command, *rest = sys.argv[1:] or ["--help"]
    arguments = [command, *ITSELF[command], str(file), *rest] if command in ITSELF else [command, *rest]
    try:
        with terminable(), _unpacked(file) as (place, environment):
            python = str(place / PYTHON)
            started = subprocess.Popen([python, "-c", HAND_OVER, *arguments], env=environment)
            status = _wait(started)
    except OSError as error:
        _refuse(f"the bundle's lab cannot be unpacked: {error}")
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def _wait(started: subprocess.Popen[bytes]) -> int:
    """Return the exit code, as a shell would. A Ctrl-C reaches it from the terminal, what else ends us from us."""
    while True:
        try:
            status = started.wait()
            return status if status >= 0 else 128 - status  # by a signal, before the lab could say so itself
        except KeyboardInterrupt:
            continue
        except BaseException:
            started.terminate()
            started.wait()
            raise


@contextmanager
def _unpacked(file: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the folder with what is in the zip file, and the environment to start it with.

    It is kept in the user's cache. Who has none gets a temporary one.
    """
    with zipfile.ZipFile(file) as zipped:
        name = zipped.comment.decode()[:16]  # of the seal: it changes with any byte
        home = _cache()
        if home is not None:
            place = home / name
            if not place.is_dir():
                sweep(home)
                with private(home, "lab") as fresh:
                    _extract(zipped, fresh / "whole")
                    _put(fresh / "whole", place)
            yield place, _environment(place)
            return
        temporary = Path(tempfile.gettempdir())
        sweep(temporary, "replab-bundle")
        with private(temporary, "replab-bundle") as place:
            _extract(zipped, place / name)
            yield place / name, _environment(place / name) | {"XDG_CACHE_HOME": str(place / "cache")}


def _cache() -> Path | None:
    """Return where the unpacked lab is kept, or None for who cannot write there: nobody, say."""
    try:
        home = cache.folder("labs")
        home.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or another's
        return None
    return home if os.access(home, os.W_OK) else None


def _environment(place: Path) -> dict[str, str]:
    """Return this environment without what tells a Python where its modules are, and with where ours are."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return kept | {"PYTHONPATH": str(place), "PYTHONNOUSERSITE": "1"}


def _extract(zipped: zipfile.ZipFile, to: Path) -> None:
    for entry in zipped.infolist():
        target, mode = to / entry.filename, entry.external_attr >> 16
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(mode):
            target.symlink_to(zipped.read(entry).decode())
        else:
            with zipped.open(entry) as source, target.open("wb") as out:
                while piece := source.read(1 << 20):
                    out.write(piece)
            target.chmod(stat.S_IMODE(mode))


def _put(fresh: Path, place: Path) -> None:
    """Move the whole folder to its place, unless another process has just done so."""
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _refuse(message: str) -> None:
    sys.stderr.write(f"lab: {message}\n")
    sys.exit(CANNOT)
