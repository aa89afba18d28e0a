"""Extract kernels, userlands and records from a bundle file, so that trials can run on them here.

A userland's name is the hash of its bytes, so the userland goes to the cache that all runs share. A kernel's name
follows from its recipe, and the bytes cannot prove that they were built from this recipe. So the kernel is stored with
the bundle, under the bundle's hash, and only the bundle's trials run on this kernel, unless a user who trusts the
bundle calls `take`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lab.app import userlands
from lab.base import cache as caches
from lab.base import moving
from lab.base.building import terminable
from lab.base.owner import private, sweep
from lab.errors import InputError, MachineError
from lab.ext.bundle import reader
from lab.ext.bundle.errors import BundleError
from lab.ext.bundle.manifest import Manifest
from lab.ext.bundle.part import KERNELS, RESULTS, USERLANDS
from lab.machine.kernel import KernelMissing, UmlKernel, find, folder, installed
from lab.machine.userland import cache
from lab.machine.userland.cache import Userland, UserlandAltered
from lab.machine.userland.lock import locked

LIKELY = 16  # digits of a bundle's hash that name its folder


@dataclass(frozen=True)
class Unbundled:
    """Identifies a bundle's kernels and userlands, ready to boot."""

    file: Path
    kernels: tuple[UmlKernel, ...]
    userlands: tuple[Userland, ...]

    def kernel(self, name: str | None) -> UmlKernel:
        """Return the bundle's kernel with this name, version or id; None means the newest plain kernel.

        Raises InputError.
        """
        try:
            return find(name, self.kernels)
        except KernelMissing:
            there = ", ".join(kernel.name for kernel in self.kernels) or "none"
            raise InputError(f"{self.file} has no kernel {name or 'without patches'}; it has {there}") from None

    def userland(self, choice: str) -> Userland | None:
        """Return the userland for guests: the lab's default userland if the bundle has it, or None for the host's
        programs.

        Raises InputError for any other choice, and if the bundle has no userland.
        """
        if choice != "sealed":
            return userlands.chosen(choice, "uml")
        usual = [each for each in self.userlands if each.id == locked("guest").id]
        for each in (*usual, *self.userlands):
            return each
        raise InputError(f"{self.file} has no userland; use --userland host for this machine's programs")


def ready(file: Path) -> Unbundled:
    """Return a bundle's kernels and userlands, after extracting any missing ones from `file`.

    All bytes of the file are checked, even if nothing is missing. Raises BundleError, InputError for a file that cannot
    be read, and MachineError if there is no room.
    """
    contents = reader.identify(file)
    if _place(contents).is_dir() and all(cache.load(name) for name in _userlands(contents)):
        reader.check(file)
    else:
        with _unpacked(file, lambda path: path.startswith((f"{KERNELS}/", f"{USERLANDS}/"))):
            pass
    return _found(file, contents)


def take(file: Path) -> Unbundled:
    """Return the result of `ready`, and add the kernels to the cache that all runs share, as if built here.

    The user trusts that each kernel was built from its recipe. A kernel that is already here stays. Raises the errors
    of `ready`.
    """
    found, home = ready(file), folder()
    home.mkdir(parents=True, exist_ok=True)
    sweep(home)
    with terminable(), private(home, "taken") as scratch:
        for source in (kernel.path.parent for kernel in found.kernels):
            try:
                shutil.copytree(source, scratch / source.name)
            except (OSError, shutil.Error) as error:
                raise MachineError(f"{home} accepts no kernel: {error}") from None
            moving.place(scratch / source.name, home / source.name)
    taken = {kernel.id for kernel in found.kernels}
    return replace(found, kernels=tuple(kernel for kernel in installed() if kernel.id in taken))


@contextmanager
def with_records(file: Path) -> Iterator[tuple[Unbundled, Path]]:
    """Yield the result of `ready`, and a store with the bundle's records, which is removed afterwards."""
    with _unpacked(file, lambda path: path.startswith((f"{KERNELS}/", f"{USERLANDS}/", f"{RESULTS}/"))) as scratch:
        yield _found(file, reader.identify(file)), scratch / RESULTS


def _found(file: Path, contents: Manifest) -> Unbundled:
    """Return the extracted parts of a bundle."""
    here = tuple(filter(None, map(cache.load, _userlands(contents))))
    return Unbundled(file, tuple(installed(_place(contents) / KERNELS)), here)


def _userlands(contents: Manifest) -> list[str]:
    """Return the names of a bundle's userlands."""
    return sorted({path.split("/")[1] for path in contents.below(USERLANDS).files})


@contextmanager
def _unpacked(file: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Yield a folder with the `wanted` parts of the bundle, except kernels and userlands, which go to their caches."""
    home = _home()
    sweep(home)
    with terminable(), private(home, "unpacked") as scratch:
        whole = scratch / "whole"
        contents = reader.unpack(file, whole, wanted)
        for userland in sorted((whole / USERLANDS).glob("*")):
            try:
                cache.adopt(userland, userland.name)
            except UserlandAltered as error:
                said = f"{USERLANDS}/{userland.name} is not the userland with that name: {error}"
                raise BundleError(f"{file}: {said}") from None
        place = scratch / "kernels-only"
        place.mkdir()
        if (whole / KERNELS).is_dir():
            (whole / KERNELS).rename(place / KERNELS)
        moving.place(place, _place(contents))
        yield whole


def _home() -> Path:
    return caches.folder("bundles")


def _place(contents: Manifest) -> Path:
    return _home() / contents.id[:LIKELY]
