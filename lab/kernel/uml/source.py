"""Find kernel sources, fetch them, remember them, and unpack them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import version
from lab.errors import InputError, MachineError
from lab.kernel import apt
from lab.kernel.uml.checkout import Checkout

__all__ = ["Source", "from_file", "from_tree", "resolve", "unpack"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Describe a kernel's source, which may not be here yet."""

    series: str  # "7.2"
    version: str  # the package's, "7.2.13-1"; the Makefile's, "7.2.13", without a package
    sha256: str  # of the file, or of the content's name
    path: Path | None = None  # a package or a tar file; None: fetch it when it is needed
    package: str = ""  # its name, for fetching
    checkout: Checkout | None = None  # of a tree: its copy
    content: str = ""  # of a tree: git's name for what is to be built


def resolve(cache: Path, series: str | None, refresh: bool, say: Say) -> Source:
    """Return the newest source of a series, or of all, as it was when last looked for.

    The network is used only with `refresh`, or when nothing is remembered. Raises MachineError when nothing is
    remembered and nothing can be found.
    """
    memory = cache / "sources" / f"{series or 'newest'}.json"
    known = _recall(memory)
    if known is not None and not refresh:
        return known
    say("looking for the newest kernel source")
    try:
        package = apt.newest(cache / "apt", series)
    except MachineError as error:
        if known is None:
            raise
        say(f"{error}; keeping {known.version}")
        return known
    found = Source(package.series, package.version, package.sha256, package=package.name)
    for name in [series] if series else ["newest", found.series]:
        _remember(cache / "sources" / f"{name}.json", found)
    return found


def fetch(cache: Path, source: Source, say: Say) -> Path:
    """Return the file of a source, downloaded once. Raises MachineError when it cannot be had, or is damaged."""
    if source.path is not None:
        return source.path
    folder = cache / "sources"
    file = folder / f"{source.package}_{source.sha256[:16]}.deb"
    if not file.exists():
        say(f"fetching {source.package} {source.version}")
        partial = folder / ".partial"  # the caller holds the build's lock
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            package = apt.Package(source.series, source.package, source.version, source.sha256)
            fetched = apt.download(cache / "apt", package, partial)
            if _digest(fetched) != source.sha256:
                raise MachineError(f"{fetched.name} arrived damaged: try again")
            fetched.rename(file)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return file


def from_file(path: Path) -> Source:
    """Describe a source that is here: a Debian package or a tar file. Raises InputError when it is neither."""
    path = Path(path).resolve()
    if path.name.endswith(".deb") and path.is_file():
        shown = subprocess.run(["dpkg-deb", "-f", str(path), "Version"], capture_output=True, text=True)
        number = shown.stdout.strip()
    elif re.search(r"\.tar\.\w+$", path.name) and path.is_file():
        match = re.search(r"(\d+\.\d+(?:\.\d+)?)(?=\D*\.tar)", path.name)
        number = match.group(1) if match else ""
    else:
        raise InputError(f"{path}: neither a .deb nor a .tar.* file{' (a tree? see --tree)' if path.is_dir() else ''}")
    series = version.series(number)
    if not series:
        raise InputError(f"{path}: no kernel source, or its version is not in its name")
    return Source(series, number, _digest(path), path)


def from_tree(checkout: Checkout, content: str) -> Source:
    """Describe what a tree holds, or once held, as a source. Raises InputError, GitFailed."""
    version = checkout.version(content)
    series = ".".join(version.split(".")[:2])
    return Source(series, version, hashlib.sha256(content.encode()).hexdigest(), checkout=checkout, content=content)


def unpack(path: Path, tree: Path) -> None:
    """Put the kernel tree that `path` holds into the new folder `tree`. Raises MachineError when it is damaged."""
    tree.mkdir()
    into = ["--extract", "--strip-components=1", f"--directory={tree}", "--no-same-owner"]
    if path.suffix == ".deb":
        listing = subprocess.run(["dpkg-deb", "--contents", str(path)], capture_output=True, text=True)
        if listing.returncode:
            raise MachineError(f"cannot unpack {path}: {listing.stderr.strip().splitlines()[0]}")
        inner = re.search(r"(\S*/linux-source-\S+\.tar\.(\w+))$", listing.stdout, re.MULTILINE)
        if inner is None:
            raise MachineError(f"{path}: holds no kernel source")
        method = {"xz": "--xz", "bz2": "--bzip2", "gz": "--gzip"}.get(inner.group(2), "--zstd")
        stages = [
            ["dpkg-deb", "--fsys-tarfile", str(path)],
            ["tar", "--extract", "--to-stdout", inner.group(1)],
            ["tar", method, *into],
        ]
    else:
        stages = [["tar", *into, f"--file={path}"]]
    _pipe(stages, path)


def _pipe(stages: list[list[str]], path: Path) -> None:
    running: list[subprocess.Popen[bytes]] = []
    try:
        for stage in stages:
            upstream = running[-1].stdout if running else subprocess.DEVNULL
            last = len(running) == len(stages) - 1
            running.append(
                subprocess.Popen(
                    stage, stdin=upstream, stdout=None if last else subprocess.PIPE, stderr=subprocess.PIPE
                )
            )
            if len(running) > 1 and (before := running[-2].stdout) is not None:
                before.close()  # ours only: a stage that dies must end the one before it
        messages = [process.communicate()[1] for process in reversed(running)]
    finally:
        for process in running:
            process.kill()
            process.wait()
    if any(process.returncode for process in running):
        reason = next((text.decode(errors="replace").strip().splitlines()[0] for text in messages if text.strip()), "")
        raise MachineError(f"cannot unpack {path}: {reason}")


def _recall(memory: Path) -> Source | None:
    try:
        return Source(**json.loads(memory.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _remember(memory: Path, source: Source) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    plain = {key: value for key, value in asdict(source).items() if value}
    partial = memory.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    partial.rename(memory)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
