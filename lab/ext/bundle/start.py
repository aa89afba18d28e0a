"""Start the lab in a bundle: `python3 FILE verify`.

This module needs only the standard library of Python 3.11 or later. A bundle file is a program for Python, and its
`__main__` calls this module. The module unpacks the bundle's Python and packages once, and passes control to the
unpacked lab. The lab then uses only the kernel and /bin/sh of this machine.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.base import cache
from lab.base.building import terminable
from lab.base.owner import private, sweep
from lab.ext.bundle.seal import Sealed

TREE, CODE = "root", "lab"  # in the zip file: the userland of the lab, and the lab
PYTHON = f"{TREE}/usr/launch/python3"
HAND_OVER = "import sys; sys.argv[0] = 'lab'; from lab.cli import main; main()"
ITSELF = {"run": ["--from"], "verify": []}  # command -> the arguments before the bundle's own name
ELSEWHERE = "XDG_CACHE_HOME or TMPDIR can name another folder for it"
DAMAGED, CANNOT = 1, 3  # the exit codes for a damaged file, and for a machine that cannot run it


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
    except (zipfile.BadZipFile, zlib.error) as error:
        _refuse(f"{file} is damaged: {error}", DAMAGED)
    except OSError as error:
        _refuse(f"the bundle's lab cannot be unpacked: {error}; {ELSEWHERE}")
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def _wait(started: subprocess.Popen[bytes]) -> int:
    """Return the exit code in the form that shells use.

    The terminal sends Ctrl-C directly to the program. This process passes on other signals.
    """
    while True:
        try:
            status = started.wait()
            return status if status >= 0 else 128 - status  # ended by a signal, before the lab could report it
        except KeyboardInterrupt:
            continue
        except BaseException:
            started.terminate()
            started.wait()
            raise


@contextmanager
def _unpacked(file: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the folder with the zip file's contents, and the environment for the program.

    The contents are in the user's cache, or in a temporary folder if there is no cache.
    """
    with zipfile.ZipFile(file) as zipped:
        name = zipped.comment.decode("ascii", "replace")[:16]  # of the seal: it changes with any byte
        if not re.fullmatch("[0-9a-f]{16}", name):
            raise zipfile.BadZipFile("it has no seal")
        home = _cache()
        if home is not None:
            place = home / name
            if not place.is_dir():
                sweep(home)
                _check(file)
                with private(home, "lab") as fresh:
                    _extract(zipped, fresh / "whole")
                    _put(fresh / "whole", place)
            yield place, _environment(place)
            return
        temporary = Path(tempfile.gettempdir())
        if not _runs_programs(temporary):
            _refuse(f"programs in {temporary} cannot be run (noexec): {ELSEWHERE}")
        sweep(temporary, "replab-bundle")
        _check(file)
        with private(temporary, "replab-bundle") as place:
            _extract(zipped, place / name)
            yield place / name, _environment(place / name) | {"XDG_CACHE_HOME": str(place / "cache")}


def _check(file: Path) -> None:
    """Raise BadZipFile unless all bytes of the bundle match the seal."""
    with file.open("rb") as opened:
        if not Sealed(opened).is_whole():
            raise zipfile.BadZipFile("its last 64 bytes are not the SHA-256 of those before")


def _cache() -> Path | None:
    """Return the folder for the unpacked lab; None if the user cannot write there or run programs there."""
    try:
        home = cache.folder("labs")
        home.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or another user's
        return None
    return home if os.access(home, os.W_OK) and _runs_programs(home) else None


def _runs_programs(folder: Path) -> bool:
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


def _environment(place: Path) -> dict[str, str]:
    """Return this environment with the bundle's Python module paths in place of any others."""
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
    """Move the complete folder to its place, unless another process has just done so."""
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _refuse(message: str, code: int = CANNOT) -> None:
    sys.stderr.write(f"lab: {message}\n")
    sys.exit(code)
