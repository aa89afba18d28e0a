"""Find, fetch, cache and unpack kernel sources."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Protocol

import zstandard

from lab.base import version
from lab.base.building import Progress, alone
from lab.base.cache import hash_of
from lab.base.writing import write
from lab.errors import InputError, MachineError
from lab.machine.kernel.uml import recipe
from lab.machine.kernel.uml.checkout import Checkout
from lab.machine.kernel.uml.recipe import Patch, Recipe
from lab.machine.userland import deb
from lab.machine.userland.cache import Userland
from lab.machine.userland.lock import locked
from lab.machine.userland.program import command
from lab.spec.errors import no_file

PIECE = 1 << 20  # bytes unpacked at a time
_DRIVERS = (
    "accel clk crypto dma gpu hwmon iio infiniband input media mfd net/ethernet net/wireless phy pinctrl platform "
    "power regulator scsi soc staging usb video"
)
# Patterns of paths in tar's form: "*" also matches "/". Kconfig files and Makefiles are read, so they stay.
NEVER_COMPILED = (
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/[!ux]*/*.dts*",
    "*/Documentation/*/*",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/*",
    *(f"*/drivers/{name}/*.[ch]" for name in _DRIVERS.split()),
)


class _Readable(Protocol):
    """Offers bytes, piece by piece."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`; b"" at the end."""


@dataclass(frozen=True, slots=True)
class Source:
    """Describes a kernel's source, which may not have been downloaded yet."""

    series: str  # "7.2"
    version: str  # the package's, "7.2.13-1"; without a package the Makefile's, "7.2.13"
    sha256: str  # of the file, or of the content's name
    path: Path | None = None  # a package or a tar file; None: fetch it when needed
    package: str = ""  # its name, and where to fetch it: its path below a mirror, the part of the archive, and the time
    pool: str = ""  # its path there
    part: str = ""
    snapshot: str = ""
    checkout: Checkout | None = None  # of a tree: its copy
    content: str = ""  # of a tree: git's name for the content to build


def resolve(cache: Path, series: str | None, refresh: bool, progress: Progress) -> Source:
    """Return the newest source of a series, or of all series, from the last search.

    The function uses the network only with `refresh`, or if no earlier result is stored. Raises MachineError if no
    source is found.
    """
    known = remembered(cache, series)
    if known is not None and not refresh:
        return known
    from lab.machine.kernel import debian  # a start of a kernel, which needs no network, imports this file, too

    progress.say("looking for the newest kernel source")
    try:
        offered = debian.source(series, progress)
    except MachineError as error:
        if known is None:
            raise MachineError(f"{error}; to build a source that you have, use --source") from None
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
    """Return the source that `resolve` found last, or None if `resolve` has not searched yet."""
    return _recalled(_memory(cache, series))


def own_ids(cache: Path) -> frozenset[str]:
    """Return the ids of the plain kernels that this code builds from the sources that `resolve` found."""
    found = map(_recalled, (cache / "sources").glob("*.json"))
    return frozenset(plain_recipe(each).id for each in found if each is not None)


def id_with(cache: Path, series: str, patches: Iterable[Path]) -> str:
    """Return the id of the kernel that a build of this series with these patches would give, or "" without a source.

    Raises InputError if a file is no patch.
    """
    found = remembered(cache, series)
    if found is None:
        return ""
    plain = plain_recipe(found)
    return replace(plain, patches=plain.patches + recipe.read_patches(patches)).id


def fetch(cache: Path, source: Source, progress: Progress) -> Path:
    """Return the file of a source, downloaded only once. Raises MachineError if the file is not available or is
    damaged.
    """
    if source.path is not None:
        return source.path
    folder = cache / "sources"
    file = folder / f"{source.package}_{source.sha256[:16]}.deb"
    if not file.exists():
        from lab.machine.userland.mirror import chosen

        progress.say(f"fetching {source.package} {source.version}")
        for stale in folder.glob(".partial-*"):  # of a process that was killed: the caller holds the build's lock
            stale.unlink()
        chosen(source.snapshot, source.part).download(source.pool, source.sha256, file)
    return file


def from_file(path: Path) -> Source:
    """Return the source in a Debian package or a tar file. Raises InputError for any other file."""
    path = Path(path).resolve()
    number = ""
    if path.name.endswith(".deb") and path.is_file():
        with contextlib.suppress(MachineError):
            number = deb.version(path)
    elif re.search(r"\.tar\.\w+$", path.name) and path.is_file():
        match = re.search(r"(\d+\.\d+(?:\.\d+)?)(?=\D*\.tar)", path.name)
        number = match.group(1) if match else ""
    elif path.is_dir():
        raise InputError(f"{path}: this is a folder; use --tree")
    else:
        raise InputError(f"{path}: this is not a .deb or .tar.* file; name one" if path.exists() else no_file(path))
    series = version.series(number)
    if not series:
        raise InputError(f"{path}: not a kernel source, or its name has no version")
    return Source(series, number, hash_of(path), path)


def of_tree(tree: Path, cache: Path, progress: Progress) -> Source:
    """Return the contents of a user's tree, including uncommitted changes.

    Raises InputError if the folder is not a kernel tree, and GitFailed if a git command fails.
    """
    checkout = Checkout.of(tree, cache)
    with alone(cache, progress):
        progress.say(f"looking for what changed in {checkout.tree}")
        return from_tree(checkout, checkout.snapshot())


def plain_recipe(source: Source) -> Recipe:
    """Return the recipe for a source's plain kernel."""
    config, patches = recipe.config(source.series, recipe.HZ), recipe.own_patches(source.series)
    return Recipe(source.series, source.sha256, config, patches, locked("compiler").id)


def from_tree(checkout: Checkout, content: str) -> Source:
    """Return the source for current or past contents of a tree. Raises InputError and GitFailed."""
    version = checkout.version(content)
    series = ".".join(version.split(".")[:2])
    return Source(series, version, hashlib.sha256(content.encode()).hexdigest(), checkout=checkout, content=content)


def needless(patches: Sequence[Patch]) -> tuple[str, ...]:
    """Return patterns of files to leave packed. User-mode Linux compiles these files only if a patch changes them."""
    changed = [file for patch in patches for file in patch.files]
    return tuple(each for each in NEVER_COMPILED if not any(fnmatchcase(f"/{file}", each) for file in changed))


def unpack(path: Path, tree: Path, compiler: Userland, without: Sequence[str] = ()) -> None:
    """Unpack the kernel tree in `path` into the new folder `tree`. Raises MachineError if `path` is damaged.

    Files that match a pattern in `without` are not unpacked; `needless` matches more than half of the files. The
    compiler userland's `tar` unpacks the files, because Python's tarfile takes several times as long.
    """
    tree.mkdir()
    reason = _untar(path, compiler, tree, ["--strip-components=1", *(f"--exclude={pattern}" for pattern in without)])
    if reason:
        raise MachineError(f"cannot unpack {path}: {reason}")


def extract(path: Path, folder: str, target: Path, compiler: Userland) -> None:
    """Copy the folder `folder` of the kernel tree at `path` into the new folder `target`.

    If the folder does not exist in the tree, `target` stays empty. Raises MachineError if the tree is damaged.
    """
    target.mkdir()
    depth = len(Path(folder).parts) + 1
    reason = _untar(path, compiler, target, [f"--strip-components={depth}", f"*/{folder}/*"])
    if reason and not reason.endswith("Not found in archive"):
        raise MachineError(f"cannot unpack {path}: {reason}")


def parts(path: Path, folders: Sequence[str], target: Path, compiler: Userland) -> None:
    """Copy these folders of the kernel tree at `path` into the new folder `target`, at the same relative paths.

    Folders that do not exist in the tree are ignored. Raises MachineError if the tree is damaged.
    """
    target.mkdir()
    reason = _untar(path, compiler, target, ["--strip-components=1", *(f"*/{folder}/*" for folder in folders)])
    if reason and not reason.endswith("Not found in archive"):
        raise MachineError(f"cannot unpack {path}: {reason}")


def _untar(path: Path, compiler: Userland, target: Path, chosen: Sequence[str]) -> str:
    """Write the `chosen` parts of a kernel tree below `target`. Return `tar`'s error; "" if it has none."""
    into = ["--extract", f"--directory={target}", "--no-same-owner", "--wildcards", *chosen]
    with tempfile.TemporaryFile() as said:
        try:
            with _opened(path) as packed, contextlib.suppress(BrokenPipeError):  # tar reports the reason
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
    """Open the compressed tar file at `path`, or the tar file in the package at `path`."""
    if path.suffix != ".deb":
        with path.open("rb") as file:
            yield file
        return
    with deb.contents(path) as tar:
        inner = next((each for each in tar if re.search(r"/linux-source-[^/]+\.tar\.\w+$", each.name)), None)
        held = tar.extractfile(inner) if inner else None
        if held is None:
            raise MachineError(f"{path}: it has no kernel source")
        yield held


def _unpacked(packed: IO[bytes]) -> _Readable:
    """Return the contents of a file in one of the compression formats that kernels use."""
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


def _recalled(memory: Path) -> Source | None:
    try:
        found = Source(**json.loads(memory.read_text(encoding="utf-8")))
        return found if found.series == version.series(found.version) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _remember(memory: Path, source: Source) -> None:
    plain = {key: value for key, value in asdict(source).items() if value}
    write(json.dumps(plain, indent=1) + "\n", memory)
