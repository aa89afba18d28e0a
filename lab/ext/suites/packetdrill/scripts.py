"""Find scripts: a user's files and folders, or the scripts in a kernel's packaged source."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lab.base import cache as caches
from lab.base.building import UNFINISHED, Progress, alone
from lab.errors import InputError, MachineError
from lab.machine.kernel.base import folder as kernels
from lab.machine.kernel.uml import source
from lab.machine.kernel.uml.source import Source
from lab.machine.packetdrill import PROGRAM
from lab.machine.userland import builder as userlands
from lab.machine.userland.cache import Userland
from lab.spec.errors import no_file, suggestion

SUFFIX = ".pkt"
HOME = "tools/testing/selftests/net/packetdrill"  # in a kernel's tree
VERSIONS = ("ipv4", "ipv6", "ipv4-mapped-ipv6")  # the default of a script, in the kernel's own order
MOST_BYTES = 1 << 20  # of a file beside a script


@dataclass(frozen=True, slots=True)
class Script:
    """Holds one script: its file, and the neighbouring files that it starts."""

    path: Path
    group: str  # its origin: a kernel's version, or the name of its folder
    versions: tuple[str, ...]  # the versions of IP with which it runs
    files: tuple[str, ...]  # beside it

    @property
    def name(self) -> str:
        """The name of the behaviour that the script tests."""
        return self.path.stem


def find(wanted: Sequence[str], series: str, progress: Progress) -> tuple[Script, ...]:
    """Return the scripts for these words, each once: files, folders, or name patterns of the kernel's own scripts.

    Without a word, return all scripts in the packaged source of `series`. Raises InputError if a word matches no
    script.
    """
    found: dict[Path, Script] = {}
    for word in wanted or ("*",):
        scripts = list(_named(word, series, progress))
        if not scripts:
            raise InputError(_unknown(word, series, progress))
        found |= {script.path: script for script in scripts}
    return tuple(found.values())


def _named(word: str, series: str, progress: Progress) -> Iterator[Script]:
    path = Path(word)
    if path.is_dir():
        yield from (_read(file, path.resolve().name) for file in sorted(path.glob(f"*{SUFFIX}")))
    elif path.suffix == SUFFIX and path.is_file():
        yield _read(path, path.resolve().parent.name)
    elif "/" not in word:
        pattern = word.removesuffix(SUFFIX)
        yield from (script for script in of_kernel(series, progress) if fnmatchcase(script.name, pattern))


def _unknown(word: str, series: str, progress: Progress) -> str:
    if Path(word).is_dir():
        return f"{word}: this folder has no scripts; name one with {SUFFIX} files"
    if "/" in word:
        return no_file(Path(word))
    hint = suggestion(word.removesuffix(SUFFIX), (script.name for script in of_kernel(series, progress)))
    return f"{word}: neither a script, nor a folder, nor a name in the source of {series}{hint}"


def of_kernel(series: str, progress: Progress) -> tuple[Script, ...]:
    """Return the scripts in a kernel's packaged source, fetched and unpacked once; () if there are no scripts.

    Raises MachineError if there is no source.
    """
    found = source.resolve(kernels(), series, False, progress)
    place = caches.folder(PROGRAM) / "scripts" / found.sha256[:16]
    if not place.is_dir():
        compiler = userlands.build("compiler", progress)
        with alone(place.parent, progress):
            if not place.is_dir():
                _unpack(found, place, compiler, progress)
    return tuple(_read(file, found.version) for file in sorted(place.glob(f"*{SUFFIX}")))


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


def _read(path: Path, group: str) -> Script:
    """Return one script. Raises InputError if the script cannot be read, or requests an unknown IP version."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    asked = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"--ip_version=(\S*)", line):
            if match[1] not in VERSIONS:
                raise InputError(f"{path}:{number}: '{match[1]}' is not one of {', '.join(VERSIONS)}")
            asked.append(match[1])
    return Script(path, group, tuple(asked) or VERSIONS, tuple(sorted(_started(path, text))))


def _started(path: Path, text: str) -> set[str]:
    """Return the names of the files next to a script that the script uses, directly or through other such files."""
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
