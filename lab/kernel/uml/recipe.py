"""Collect what a kernel is made from besides its source: the configuration and the lab's patches."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lab.errors import InputError

__all__ = [
    *("COMPILER", "HZ", "SETTINGS", "Patch", "Recipe"),
    *("compiler_digest", "config", "lost_options", "own_patches", "read_patches"),
]

UML = Path(__file__).parent
HZ = 1000  # ticks per second, as in most distributions
COMPILER = "lab-cc"  # in the tree's top folder: a command that runs precompiled.py, which runs gcc
SETTINGS = {  # make's. Most replace what a build would take from the machine and the time of day.
    "ARCH": "um",
    "LOCALVERSION": "",
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "lab",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "RUSTC": "false",  # not needed, but the kernel's record of its configuration would name the one found
    "BINDGEN": "false",
    "PAHOLE": "false",
    "CC": f"ccache ./{COMPILER}",
    "HOSTLDFLAGS": "-static",  # what a build compiles for itself runs on any libc
}


@dataclass(frozen=True, slots=True)
class Patch:
    """Hold one patch in the unified format, applied with `patch -p1`."""

    name: str  # the file's name without its suffix
    text: bytes
    ours: bool = False  # the lab's own, which a tree may have already

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that it changes, from the tree's top."""
        return tuple(
            name.decode(errors="replace") for name in re.findall(rb"^\+\+\+ [^/\s]+/(\S+)", self.text, re.MULTILINE)
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hold everything that decides what the built kernel is. Two equal recipes build the same kernel."""

    series: str  # "7.2"
    source_sha256: str
    config: str
    patches: tuple[Patch, ...]  # the lab's own, then the user's
    compiler: str  # the id of the locked programs that build it

    @property
    def id(self) -> str:
        """Return 16 hex digits, the same on every machine."""
        patches = [(patch.name, hashlib.sha256(patch.text).hexdigest()) for patch in self.patches]
        parts = [self.source_sha256, self.config, patches, self.compiler, compiler_digest(), SETTINGS]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def compiler_digest() -> str:
    """Return the SHA-256 of the program that compiles objects: how they come out depends on it."""
    return hashlib.sha256((UML / "precompiled.py").read_bytes()).hexdigest()


def config(series: str, hz: int) -> str:
    """Return the configuration for a series such as "7.2", one option per line, without other series' options.

    Raises InputError when no kernel takes `hz`.
    """
    if not 100 <= hz <= 1000:
        raise InputError(f"HZ {hz} is not from 100 to 1000")
    options = []
    fits = True
    for line in (UML / "config").read_text(encoding="utf-8").splitlines():
        if line.startswith("CONFIG_"):
            if fits:
                options.append(f"CONFIG_HZ={hz}" if line.startswith("CONFIG_HZ=") else line)
            fits = True
        elif match := re.fullmatch(r"# (Since|Until): (\d+\.\d+)", line):
            bound = _number(match.group(2))
            fits = _number(series) >= bound if match.group(1) == "Since" else _number(series) <= bound
    return "\n".join(options) + "\n"


def lost_options(wanted: str, resolved: str) -> list[str]:
    """Return the lines of the `wanted` configuration that kconfig's `resolved` one lacks."""
    kept = set(resolved.splitlines())
    return [line for line in wanted.splitlines() if line not in kept]


def own_patches(series: str) -> tuple[Patch, ...]:
    """Return the lab's patches for a series, in order.

    "Since: " and "Until: " in a patch's header exclude other series.
    """
    patches = read_patches(sorted((UML / "patches").glob("*.patch")))
    number = _number(series)
    return tuple(
        replace(patch, ours=True)
        for patch in patches
        if _bound(patch, "Since", "0.0") <= number <= _bound(patch, "Until", "9999.0")
    )


def read_patches(files: Iterable[Path]) -> tuple[Patch, ...]:
    """Read the patches in these files. Raises InputError when a file cannot be read or holds no patch."""
    patches = []
    for file in files:
        try:
            text = Path(file).read_bytes()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
        if not re.search(rb"^\+\+\+ ", text, re.MULTILINE):
            raise InputError(f"{file}: not a patch in the unified format")
        patches.append(Patch(Path(file).stem, text))
    return tuple(patches)


def _bound(patch: Patch, word: str, otherwise: str) -> tuple[int, int]:
    """Return the series that the patch's header names behind `word` ("Since" or "Until"), else `otherwise`."""
    header = patch.text.partition(b"\n--- ")[0].decode(errors="replace")
    match = re.search(rf"^{word}: (\d+\.\d+)$", header, re.MULTILINE)
    return _number(match.group(1) if match else otherwise)


def _number(series: str) -> tuple[int, int]:
    major, minor = series.split(".")
    return int(major), int(minor)
