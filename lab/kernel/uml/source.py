"""Find kernel sources, fetch them, remember them, and unpack them."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Protocol

import zstandard

from lab import version
from lab.building import Progress, alone
from lab.errors import InputError, MachineError
from lab.kernel import debian
from lab.kernel.uml import recipe
from lab.kernel.uml.checkout import Checkout
from lab.kernel.uml.recipe import Patch, Recipe
from lab.userland import deb
from lab.userland.cache import Userland
from lab.userland.lock import locked
from lab.userland.mirror import chosen
from lab.userland.program import command

__all__ = [
    "Source",
    "extract",
    "fetch",
    "from_file",
    "from_tree",
    "needless",
    "of_tree",
    "parts",
    "plain_recipe",
    "remembered",
    "resolve",
    "unpack",
]

PIECE = 1 << 20  # bytes unpacked at a time
_DRIVERS = (
    "accel clk crypto dma gpu hwmon iio infiniband input media mfd net/ethernet net/wireless phy pinctrl platform "
    "power regulator scsi soc staging usb video"
)
# Patterns of paths, as tar has them: "*" matches "/" too. Kconfig files and Makefiles are read, so they stay.
NEVER_COMPILED = (
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/[!ux]*/*.dts*",
    "*/Documentation/*/*",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/*",
    *(f"*/drivers/{name}/*.[ch]" for name in _DRIVERS.split()),
)


class Readable(Protocol):
    """Offers bytes, piece by piece."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`; b"" at the end."""


@dataclass(frozen=True, slots=True)
class Source:
    """Describe a kernel's source, which may not be here yet."""

    series: str  # "7.2"
    version: str  # the package's, "7.2.13-1"; the Makefile's, "7.2.13", without a package
    sha256: str  # of the file, or of the content's name
    path: Path | None = None  # a package or a tar file; None: fetch it when it is needed
    package: str = ""  # its name, and where to fetch it: its path below a mirror, the part of the archive, when it was
    pool: str = ""  # there
    part: str = ""
    snapshot: str = ""
    checkout: Checkout | None = None  # of a tree: its copy
    content: str = ""  # of a tree: git's name for what is to be built


def resolve(cache: Path, series: str | None, refresh: bool, progress: Progress) -> Source:
    """Return the newest source of a series, or of all, as it was when last looked for.

    The network is used only with `refresh`, or when nothing is remembered. Raises MachineError when nothing is
    remembered and nothing can be found.
    """
    known = remembered(cache, series)
    if known is not None and not refresh:
        return known
    progress.say("looking for the newest kernel source")
    try:
        offered = debian.source(series, progress)
    except MachineError as error:
        if known is None:
            raise MachineError(f"{error}; a source that is here already is built with --source") from None
        progress.say(f"{error}; keeping {known.version}")
        return known
    package = offered.package
    found = Source(
        version.series(package.version),
        package.version,
        package.sha256,
        package=package.name,
        pool=package.path,
        part=offered.part,
        snapshot=offered.snapshot,
    )
    for name in [series] if series else [None, found.series]:
        _remember(_memory(cache, name), found)
    return found


def remembered(cache: Path, series: str | None) -> Source | None:
    """Return what `resolve` found last; None when it has not looked yet."""
    try:
        return Source(**json.loads(_memory(cache, series).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def fetch(cache: Path, source: Source, progress: Progress) -> Path:
    """Return the file of a source, downloaded once. Raises MachineError when it cannot be had, or is damaged."""
    if source.path is not None:
        return source.path
    folder = cache / "sources"
    file = folder / f"{source.package}_{source.sha256[:16]}.deb"
    if not file.exists():
        progress.say(f"fetching {source.package} {source.version}")
        for stale in folder.glob(".partial-*"):  # of a process that was killed: the caller holds the build's lock
            stale.unlink()
        chosen(source.snapshot, source.part).download(source.pool, source.sha256, file)
    return file


def from_file(path: Path) -> Source:
    """Describe a source that is here: a Debian package or a tar file. Raises InputError when it is neither."""
    path = Path(path).resolve()
    number = ""
    if path.name.endswith(".deb") and path.is_file():
        with contextlib.suppress(MachineError):
            number = deb.version(path)
    elif re.search(r"\.tar\.\w+$", path.name) and path.is_file():
        match = re.search(r"(\d+\.\d+(?:\.\d+)?)(?=\D*\.tar)", path.name)
        number = match.group(1) if match else ""
    else:
        raise InputError(f"{path}: neither a .deb nor a .tar.* file{' (a tree? see --tree)' if path.is_dir() else ''}")
    series = version.series(number)
    if not series:
        raise InputError(f"{path}: no kernel source, or its version is not in its name")
    return Source(series, number, _digest(path), path)


def of_tree(tree: Path, cache: Path, progress: Progress) -> Source:
    """Describe what a user's tree holds now, committed or not. Raises InputError when it is none, GitFailed."""
    checkout = Checkout.of(tree, cache)
    with alone(cache, progress):
        progress.say(f"looking for what changed in {checkout.tree}")
        return from_tree(checkout, checkout.snapshot())


def plain_recipe(source: Source) -> Recipe:
    """Return the recipe of the plain kernel of a source."""
    config, patches = recipe.config(source.series, recipe.HZ), recipe.own_patches(source.series)
    return Recipe(source.series, source.sha256, config, patches, locked("compiler").id)


def from_tree(checkout: Checkout, content: str) -> Source:
    """Describe what a tree holds, or once held, as a source. Raises InputError, GitFailed."""
    version = checkout.version(content)
    series = ".".join(version.split(".")[:2])
    return Source(series, version, hashlib.sha256(content.encode()).hexdigest(), checkout=checkout, content=content)


def needless(patches: Sequence[Patch]) -> tuple[str, ...]:
    """Return patterns of what need not be unpacked: what user-mode Linux never compiles, unless a patch changes it."""
    changed = [file for patch in patches for file in patch.files]
    return tuple(each for each in NEVER_COMPILED if not any(fnmatchcase(f"/{file}", each) for file in changed))


def unpack(path: Path, tree: Path, compiler: Userland, without: Sequence[str] = ()) -> None:
    """Put the kernel tree that `path` holds into the new folder `tree`. Raises MachineError when it is damaged.

    What fits a pattern in `without` stays out: of what is `needless`, there are more than half of the files. The
    compiler's `tar` writes them: Python's takes several times as long.
    """
    tree.mkdir()
    reason = _untar(path, compiler, tree, ["--strip-components=1", *(f"--exclude={pattern}" for pattern in without)])
    if reason:
        raise MachineError(f"cannot unpack {path}: {reason}")


def extract(path: Path, folder: str, target: Path, compiler: Userland) -> None:
    """Put what the kernel tree that `path` holds has in `folder` into the new folder `target`.

    That stays empty where the tree has no such folder. Raises MachineError when the tree is damaged.
    """
    target.mkdir()
    depth = len(Path(folder).parts) + 1
    reason = _untar(path, compiler, target, [f"--strip-components={depth}", f"*/{folder}/*"])
    if reason and not reason.endswith("Not found in archive"):
        raise MachineError(f"cannot unpack {path}: {reason}")


def parts(path: Path, folders: Sequence[str], target: Path, compiler: Userland) -> None:
    """Put these folders of the kernel tree that `path` holds into the new folder `target`, where they are in the tree.

    A folder that the tree lacks is left out. Raises MachineError when the tree is damaged.
    """
    target.mkdir()
    reason = _untar(path, compiler, target, ["--strip-components=1", *(f"*/{folder}/*" for folder in folders)])
    if reason and not reason.endswith("Not found in archive"):
        raise MachineError(f"cannot unpack {path}: {reason}")


def _untar(path: Path, compiler: Userland, target: Path, chosen: Sequence[str]) -> str:
    """Write what is `chosen` of a kernel tree below `target`. Return what `tar` complains of; "" when it does not."""
    into = ["--extract", f"--directory={target}", "--no-same-owner", "--wildcards", *chosen]
    with tempfile.TemporaryFile() as said:
        try:
            with _opened(path) as packed, contextlib.suppress(BrokenPipeError):  # tar says why
                program = command(compiler.tree, "usr/bin/tar", *into)
                with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=said) as tar:
                    assert tar.stdin is not None
                    try:
                        shutil.copyfileobj(_unpacked(packed), tar.stdin, PIECE)
                    except BaseException:
                        tar.kill()
                        raise
        except (OSError, EOFError, lzma.LZMAError, zstandard.ZstdError) as error:
            raise MachineError(f"cannot unpack {path}: {error}") from None
        if not tar.returncode:
            return ""
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        return lines[0] if lines else f"exit status {tar.returncode}"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open the compressed tar file at `path`, or in the package there."""
    if path.suffix != ".deb":
        with path.open("rb") as file:
            yield file
        return
    with deb.contents(path) as tar:
        inner = next((each for each in tar if re.search(r"/linux-source-[^/]+\.tar\.\w+$", each.name)), None)
        held = tar.extractfile(inner) if inner else None
        if held is None:
            raise MachineError(f"{path}: holds no kernel source")
        yield held


def _unpacked(packed: IO[bytes]) -> Readable:
    """Return what a file holds that is compressed in one of the ways in which kernels are offered."""
    begin = packed.read(6)
    packed.seek(0)
    if begin.startswith(b"\xfd7zXZ\0"):
        return lzma.open(packed)
    if begin.startswith(b"\x1f\x8b"):
        return gzip.open(packed)
    if begin.startswith(b"BZh"):
        return bz2.open(packed)
    if begin.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().stream_reader(packed)
    return packed


def _memory(cache: Path, series: str | None) -> Path:
    return cache / "sources" / f"{series or 'newest'}.json"


def _remember(memory: Path, source: Source) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    plain = {key: value for key, value in asdict(source).items() if value}
    partial = memory.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    partial.rename(memory)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
