"""Find scripts: a user's own, in files and folders, or those that come with a kernel's packaged source."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lab import cache as caches
from lab.building import UNFINISHED, Progress, alone
from lab.errors import InputError, MachineError
from lab.kernel.base import folder as kernels
from lab.kernel.uml import source
from lab.kernel.uml.source import Source
from lab.packetdrill.cache import PROGRAM
from lab.userland import builder as userlands
from lab.userland.cache import Userland

__all__ = ["VERSIONS", "Script", "find", "of_kernel"]

SUFFIX = ".pkt"
HOME = "tools/testing/selftests/net/packetdrill"  # in a kernel's tree
VERSIONS = ("ipv4", "ipv6", "ipv4-mapped-ipv6")  # by which a script runs that does not say, in the kernel's own order
MOST_BYTES = 1 << 20  # of a file beside a script


@dataclass(frozen=True, slots=True)
class Script:
    """Hold what one script is: its file, and the files beside it that it starts."""

    path: Path
    group: str  # where it comes from: a kernel's version, or the name of its folder
    versions: tuple[str, ...]  # of IP by which it runs
    files: tuple[str, ...]  # beside it

    @property
    def name(self) -> str:
        """Return the name of the behaviour that it tests."""
        return self.path.stem


def find(wanted: Sequence[str], series: str, progress: Progress) -> tuple[Script, ...]:
    """Return the scripts that these words name, each once: files, folders, or patterns of names of the kernel's own.

    Without a word, all that the packaged source of `series` holds. Raises InputError when a word names none.
    """
    found: dict[Path, Script] = {}
    for word in wanted or ("*",):
        scripts = list(_named(word, series, progress))
        if not scripts:
            raise InputError(f"{word}: no script, no folder of scripts, and no name of one in the source of {series}")
        found |= {script.path: script for script in scripts}
    return tuple(found.values())


def _named(word: str, series: str, progress: Progress) -> Iterator[Script]:
    path = Path(word)
    if path.is_dir():
        yield from (read(file, path.resolve().name) for file in sorted(path.glob(f"*{SUFFIX}")))
    elif path.suffix == SUFFIX and path.is_file():
        yield read(path, path.resolve().parent.name)
    elif "/" not in word:
        pattern = word.removesuffix(SUFFIX)
        yield from (script for script in of_kernel(series, progress) if fnmatchcase(script.name, pattern))


def of_kernel(series: str, progress: Progress) -> tuple[Script, ...]:
    """Return the scripts in a kernel's packaged source, fetched and unpacked once; () where it has none.

    Raises MachineError when there is no source.
    """
    found = source.resolve(kernels(), series, False, progress)
    place = caches.folder(PROGRAM) / "scripts" / found.sha256[:16]
    if not place.is_dir():
        compiler = userlands.build("compiler", progress)
        with alone(place.parent, progress):
            if not place.is_dir():
                _unpack(found, place, compiler, progress)
    return tuple(read(file, found.version) for file in sorted(place.glob(f"*{SUFFIX}")))


def _unpack(found: Source, place: Path, compiler: Userland, progress: Progress) -> None:
    file = source.fetch(kernels(), found, progress)
    progress.say(f"unpacking the scripts of {found.version}")
    fresh = place.with_name(f"{UNFINISHED}{os.getpid()}")
    try:
        source.extract(file, HOME, fresh, compiler)
        fresh.rename(place)
    except OSError as error:
        raise MachineError(f"cannot unpack {file} in {place.parent}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read(path: Path, group: str) -> Script:
    """Read one script. Raises InputError when it cannot be read, or asks for a version of IP that there is not."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    asked = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"--ip_version=(\S*)", line):
            if match[1] not in VERSIONS:
                raise InputError(f"{path}:{number}: '{match[1]}' is none of {', '.join(VERSIONS)}")
            asked.append(match[1])
    return Script(path, group, tuple(asked) or VERSIONS, tuple(sorted(_started(path, text))))


def _started(path: Path, text: str) -> set[str]:
    """Return the names of the files beside a script that it names, or that these name."""
    beside = {
        file.name: file
        for file in path.parent.iterdir()
        if file.is_file() and file.suffix != SUFFIX and file.stat().st_size <= MOST_BYTES
    }
    found: set[str] = set()
    unread = [text]
    while unread:
        named = set(re.findall(r"\./([\w.-]+)", unread.pop())) & beside.keys() - found
        found |= named
        unread += [beside[name].read_text(encoding="utf-8", errors="replace") for name in named]
    return found
