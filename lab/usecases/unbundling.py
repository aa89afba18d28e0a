"""Take a bundle's kernels, userlands and records out of its file, so that trials run on them here.

A userland is named by its bytes, so it goes to the cache that all runs share. A kernel is named by its recipe, which
its bytes do not prove: it is kept with the bundle, by the bundle's hash, and only what asks for the bundle runs on it,
unless somebody who trusts the bundle `take`s it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lab import cache as caches
from lab.building import terminable
from lab.bundler import reader
from lab.bundler.errors import BundleError
from lab.bundler.part import KERNELS, RESULTS, USERLANDS
from lab.errors import InputError, MachineError
from lab.kernel import KernelMissing, UmlKernel, find, folder, installed
from lab.owner import private, sweep
from lab.usecases import userlands
from lab.userland import cache
from lab.userland.cache import Userland, UserlandAltered
from lab.userland.lock import locked

__all__ = ["Unbundled", "ready", "take", "with_records"]

LIKELY = 16  # digits of a bundle's hash that name its folder


@dataclass(frozen=True)
class Unbundled:
    """Name a bundle's kernels and userlands, ready to boot."""

    file: Path
    kernels: tuple[UmlKernel, ...]
    userlands: tuple[Userland, ...]

    def kernel(self, name: str | None) -> UmlKernel:
        """Return the bundle's kernel of this name, version or id; None: the newest plain one. Raises InputError."""
        try:
            return find(name, self.kernels)
        except KernelMissing:
            there = ", ".join(kernel.name for kernel in self.kernels) or "none"
            raise InputError(f"{self.file} has no kernel {name or 'without patches'}: there is {there}") from None

    def userland(self, choice: str) -> Userland | None:
        """Return the userland for guests, the lab's usual one if it is here; None for the host's programs.

        Raises InputError for another choice, or when there is none in the bundle.
        """
        if choice != "sealed":
            return userlands.chosen(choice, "uml")
        usual = [each for each in self.userlands if each.id == locked("guest").id]
        for each in (*usual, *self.userlands):
            return each
        raise InputError(f"{self.file} has no userland: --userland host takes this machine's programs")


def ready(file: Path) -> Unbundled:
    """Return a bundle's kernels and userlands, taken out of `file` unless they are here already.

    Raises BundleError, InputError for a file that cannot be read, MachineError when there is no room.
    """
    contents = reader.identify(file)
    place = _home() / contents.id[:LIKELY]
    names = sorted({path.split("/")[1] for path in contents.below(USERLANDS).files})
    if not place.is_dir() or any(cache.load(name) is None for name in names):
        with _unpacked(file, lambda path: path.startswith((f"{KERNELS}/", f"{USERLANDS}/"))):
            pass
    here = tuple(filter(None, map(cache.load, names)))
    return Unbundled(file, tuple(installed(place / KERNELS)), here)


def take(file: Path) -> Unbundled:
    """Return what `ready` does, with the kernels in the cache that all runs share, as if they had been built here.

    Who takes them believes that each was built from what it says; one that is here already stays. Raises as `ready`.
    """
    found, home = ready(file), folder()
    home.mkdir(parents=True, exist_ok=True)
    sweep(home)
    with terminable(), private(home, "taken") as scratch:
        for source in (kernel.path.parent for kernel in found.kernels):
            try:
                shutil.copytree(source, scratch / source.name)
            except (OSError, shutil.Error) as error:
                raise MachineError(f"{home} takes no kernel: {error}") from None
            _put(scratch / source.name, home / source.name)
    taken = {kernel.id for kernel in found.kernels}
    return replace(found, kernels=tuple(kernel for kernel in installed() if kernel.id in taken))


@contextmanager
def with_records(file: Path) -> Iterator[tuple[Unbundled, Path]]:
    """Yield what `ready` returns, and a store with the bundle's records, which is gone afterwards."""
    with _unpacked(file, lambda path: path.startswith((f"{KERNELS}/", f"{USERLANDS}/", f"{RESULTS}/"))) as scratch:
        yield ready(file), scratch / RESULTS


@contextmanager
def _unpacked(file: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Yield a folder with what is wanted of the bundle, but for kernels and userlands, which are in their caches."""
    home = _home()
    sweep(home)
    with terminable(), private(home, "unpacked") as scratch:
        whole = scratch / "whole"
        contents = reader.unpack(file, whole, wanted)
        for userland in sorted((whole / USERLANDS).glob("*")):
            try:
                cache.adopt(userland, userland.name)
            except UserlandAltered as error:
                said = f"{USERLANDS}/{userland.name} is not the userland of that name: {error}"
                raise BundleError(f"{file}: {said}") from None
        place = scratch / "kernels-only"
        place.mkdir()
        if (whole / KERNELS).is_dir():
            (whole / KERNELS).rename(place / KERNELS)
        _put(place, home / contents.id[:LIKELY])
        yield whole


def _home() -> Path:
    return caches.folder("bundles")


def _put(fresh: Path, place: Path) -> None:
    """Move a whole folder to its place, unless there is one: what has its name is the same."""
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():
            raise
