"""Collect the inputs of a kernel except its source: the configuration and the lab's patches."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lab.base.meaning import fingerprint
from lab.errors import InputError
from lab.spec.errors import unreadable

UML = Path(__file__).parent
HZ = 1000  # ticks per second, as in most distributions
COMPILER = "lab-cc"  # in the tree's top folder: a command that runs precompiled.py, which runs gcc
SETTINGS = {  # make's. Most replace values that a build would take from the machine and the time of day.
    "ARCH": "um",
    "LOCALVERSION": "",
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "lab",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "RUSTC": "false",  # not needed, but the kernel's record of its configuration would name an installed one
    "BINDGEN": "false",
    "PAHOLE": "false",
    "CC": f"ccache ./{COMPILER}",
    "HOSTLDFLAGS": "-static",  # programs that a build compiles for itself run with any libc
}


@dataclass(frozen=True, slots=True)
class Patch:
    """Holds one patch in the unified format, applied with `patch -p1`."""

    name: str  # the file's name without its suffix
    text: bytes
    ours: bool = False  # whether it is one of the lab's, which a tree may already have

    @property
    def files(self) -> tuple[str, ...]:
        """Return the paths of the files that the patch changes, relative to the top of the tree."""
        return tuple(
            name.decode(errors="replace") for name in re.findall(rb"^\+\+\+ [^/\s]+/(\S+)", self.text, re.MULTILINE)
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """Holds all inputs that decide the built kernel. Equal recipes build equal kernels."""

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
    """Return the SHA-256 of the code that compiles objects, because the objects depend on this code."""
    return fingerprint({"precompiled.py": (UML / "precompiled.py").read_bytes()})


def config(series: str, hz: int) -> str:
    """Return the configuration for a series such as "7.2", one option per line, without options of other series.

    Raises InputError if no kernel accepts `hz`.
    """
    if not 100 <= hz <= 1000:
        raise InputError(f"HZ {hz} is out of range; use a number from 100 to 1000")
    options = (option for option, _ in _options(series))
    return "".join(f"CONFIG_HZ={hz}\n" if each.startswith("CONFIG_HZ=") else f"{each}\n" for each in options)


@cache
def changes(series: str) -> tuple[str, ...]:
    """Return the lab's changes (patches and options) to this series that do not apply to all series."""
    patches = (patch.name for patch in own_patches(series) if _header(patch, "Since") or _header(patch, "Until"))
    return (*patches, *(option for option, is_bounded in _options(series) if is_bounded))


def _options(series: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of a series' configuration, and whether some series do not have this line."""
    fits, is_bounded = True, False
    for line in (UML / "config").read_text(encoding="utf-8").splitlines():
        if line.startswith("CONFIG_"):
            if fits:
                yield line, is_bounded
            fits, is_bounded = True, False
        elif match := re.fullmatch(r"# (Since|Until): (\d+\.\d+)", line):
            bound, is_bounded = _number(match.group(2)), True
            fits = _number(series) >= bound if match.group(1) == "Since" else _number(series) <= bound


def lost_options(wanted: str, resolved: str) -> list[str]:
    """Return the lines of the `wanted` configuration that are missing in kconfig's `resolved` configuration."""
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
        if _number(_header(patch, "Since") or "0.0") <= number <= _number(_header(patch, "Until") or "9999.0")
    )


def read_patches(files: Iterable[Path]) -> tuple[Patch, ...]:
    """Return the patches in these files. Raises InputError if a file cannot be read or has no patch."""
    patches = []
    for file in files:
        try:
            text = Path(file).read_bytes()
        except OSError as error:
            raise InputError(f"{file}: {unreadable(Path(file), error)}") from None
        if not re.search(rb"^\+\+\+ ", text, re.MULTILINE):
            raise InputError(f"{file}: not a patch in the unified format; `diff -u` or `git diff` makes one")
        patches.append(Patch(Path(file).stem, text))
    return tuple(patches)


def _header(patch: Patch, word: str) -> str:
    """Return the series after `word` ("Since" or "Until") in the patch's header, or ""."""
    header = patch.text.partition(b"\n--- ")[0].decode(errors="replace")
    match = re.search(rf"^{word}: (\d+\.\d+)$", header, re.MULTILINE)
    return match.group(1) if match else ""


def _number(series: str) -> tuple[int, int]:
    major, minor = series.split(".")
    return int(major), int(minor)
