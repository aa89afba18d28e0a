"""Build a kernel under test: a user-mode Linux with virtual time, once per recipe."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from lab.building import UNFINISHED, Progress, Silent, alone, dispose, terminable
from lab.errors import InputError, MachineError
from lab.kernel import configuration
from lab.kernel.base import folder
from lab.kernel.uml import cache, compiling, fragment, pace, pristine, recipe, reuse, source
from lab.kernel.uml.cache import UmlKernel
from lab.kernel.uml.checkout import Checkout
from lab.kernel.uml.compiling import BuildFailed
from lab.kernel.uml.fragment import Fragment
from lab.kernel.uml.pace import Pace
from lab.kernel.uml.recipe import Patch, Recipe
from lab.kernel.uml.source import Source
from lab.moving import move
from lab.spec.variant import ResolvedVariant
from lab.userland import builder as userland
from lab.userland.cache import Userland
from lab.userland.program import command

__all__ = ["BuildFailed", "MissingTool", "build", "built", "revision", "variant"]

ROOM = 3 << 30  # bytes that a build takes for a while


class MissingTool(MachineError):
    """git, which a build from a tree needs, is not installed."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Describe a kernel to build."""

    name: str
    recipe: Recipe
    base: str  # of a variant: the id of the plain kernel; else ""
    extra: tuple[Patch, ...]  # the user's
    fragments: tuple[Fragment, ...]  # the user's
    hz: int


def build(
    name: str | None = None,
    patches: Sequence[Path] = (),
    hz: int = recipe.HZ,
    *,
    config: Sequence[Path] = (),
    source_file: Path | None = None,
    tree: Path | None = None,
    refresh: bool = False,
    progress: Progress | None = None,
) -> UmlKernel:
    """Return the kernel of this recipe, from the cache or built now (minutes, and the network the first time).

    `name` is a series ("7.2"), or a variant's name that starts with one ("7.2-mss"); None means the newest series. A
    variant without a name of its own gets one from its patches, `config` and `hz` (ticks per second, 100 to 1000).
    `config` are fragments: options over the lab's. Instead of a fetched source, `source_file` (a .deb or a tar file) or
    `tree` (a folder, as it stands) is built; a kernel built from a tree is named after its folder. `refresh` looks for
    a newer source; without it the one found last is used, and a kernel that is already built needs no network.

    Raises MissingTool, BuildFailed, InputError (bad name, patch, tree or hz), SpecError (an option that the kernel does
    not take) and MachineError (no source, no room).
    """
    progress = progress or Silent()
    series = cache.series(name) if name else None
    if name and not series:
        raise InputError(f"kernel '{name}': a name starts with a series, as in '7.2' or '7.2-mine'")
    extra, fragments = recipe.read_patches(patches), fragment.read(config)
    home = folder()
    if tree is not None:
        _need_git()
        found = source.of_tree(tree, home, progress)
    elif source_file is not None:
        found = source.from_file(source_file)
    else:
        found = source.resolve(home, series, refresh, progress)
    if series not in (None, found.series):
        raise InputError(f"{source_file or tree} is {found.version}, not {series}")
    stem = f"{found.series}-{found.checkout.tree.name}" if found.checkout else found.series
    marks = [patch.name for patch in extra] + [each.name for each in fragments]
    marks += [f"hz{hz}"] if hz != recipe.HZ else []
    full_name = name if name and name != found.series else "-".join([stem, *marks])
    return _find_or_build(home, found, full_name, extra, fragments, hz, progress)


def variant(name: str, wanted: ResolvedVariant, progress: Progress) -> UmlKernel:
    """Return the kernel that differs from the plain one of the series `name` as `wanted` says. Raises as `build`."""
    series = None if wanted.tree else name
    hz = wanted.hz or recipe.HZ
    return build(series, wanted.patches, hz, config=wanted.config, tree=wanted.tree, progress=progress)


def built(name: str | None = None) -> UmlKernel | None:
    """Return the plain kernel of a series (None: of the newest) as `build` would return it at once; None elsewhere."""
    home = folder()
    found = source.remembered(home, name)
    return cache.load(home / source.plain_recipe(found).id) if found else None


def revision(checkout: Checkout, commit: str, home: Path, progress: Progress) -> UmlKernel:
    """Return the kernel of a commit in a tree's history, built in `home` and kept there. Raises what `build` raises.

    The kernel is named by its content: a commit that reverts another has the kernel from before that.
    """
    _need_git()
    found = source.from_tree(checkout, checkout.revision(commit))
    return _find_or_build(home, found, f"{found.series}-{found.sha256[:12]}", (), (), recipe.HZ, progress)


def _find_or_build(
    home: Path,
    found: Source,
    name: str,
    extra: tuple[Patch, ...],
    fragments: tuple[Fragment, ...],
    hz: int,
    progress: Progress,
) -> UmlKernel:
    plain = source.plain_recipe(found)
    config = fragment.laid_over(recipe.config(found.series, hz), fragments)
    made = replace(plain, config=config, patches=plain.patches + extra)
    base = "" if made.id == plain.id else plain.id
    ready = cache.load(home / made.id)
    if ready is None:
        with alone(home, progress):
            wanted = _Wanted(name, made, base, extra, fragments, hz)
            ready = cache.load(home / made.id) or _build(home, found, wanted, progress)
    if ready.name != name:
        raise InputError(f"this kernel is built already, as '{ready.name}'")
    return ready


def _need_git() -> None:
    if shutil.which("git") is None:
        raise MissingTool("a kernel build from a tree needs git: run `sudo apt-get install git`")


def _build(home: Path, found: Source, wanted: _Wanted, progress: Progress) -> UmlKernel:
    made, name = wanted.recipe, wanted.name
    if shutil.disk_usage(home).free < ROOM:
        raise MachineError(f"a kernel build takes {ROOM >> 30} GiB for a while, and {home} has less")
    place = home / f"{UNFINISHED}{made.id}"
    log = place / "build.log"
    with terminable():
        try:
            place.mkdir()
            compiler = userland.build("compiler", progress)
            with log.open("wb") as output, _tree(home, place, found, made.patches, output, compiler, progress) as tree:
                progress.say(f"configuring {name}")
                compiling.configure(tree, made, output, compiler, wanted.fragments)
                progress.say(f"compiling {name}")
                begun, steps = time.monotonic(), pace.expected(home, made.series).objects
                compiling.precompile(tree, output, compiler)
                shared = compiling.shared_text(tree, compiler) if found.checkout is None else ""
                if shared and wanted.base:
                    steps -= reuse.take(tree, shared, home, wanted.base)
                objects = compiling.make(tree, ["linux"], output, compiler, progress.step, steps)
                _collect(place, tree, found, wanted, compiler)
                if found.checkout is None and not wanted.base:  # another build compiles a part of it
                    pace.note(home, made.series, Pace(objects, time.monotonic() - begun))
                if shared and not wanted.base:
                    reuse.keep(tree, shared, place / reuse.FOLDER, home, made.id)
            shutil.rmtree(home / made.id, ignore_errors=True)
            move(place, home / made.id)
        except BuildFailed as error:
            kept = home / f"failed-{made.id}.log"
            log.replace(kept)
            raise BuildFailed(f"kernel {name} ({found.version}): {error}", kept) from None
        except OSError as error:
            raise MachineError(f"cannot build kernel {name} in {home}: {error.strerror}") from None
        finally:
            shutil.rmtree(place, ignore_errors=True)
    (home / f"failed-{made.id}.log").unlink(missing_ok=True)
    ready = cache.load(home / made.id)
    if ready is None:
        raise MachineError(f"{home / made.id} vanished while it was built")
    return ready


@contextlib.contextmanager
def _tree(
    home: Path,
    place: Path,
    found: Source,
    patches: Sequence[Patch],
    log: IO[bytes],
    compiler: Userland,
    progress: Progress,
) -> Iterator[Path]:
    """Yield the patched source to build in: a new tree in `place`, or a tree's copy with what was compiled in it."""
    if found.checkout is not None:
        progress.say(f"copying what changed in {found.checkout.tree}")
        with found.checkout.at(found.content, patches, log, compiler) as tree:
            yield tree
    else:
        tree = place / "tree"
        pristine.tree(home, found, patches, tree, compiler, progress)
        compiling.patch(tree, patches, log, compiler)
        yield tree
        dispose(tree, home)


def _collect(place: Path, tree: Path, found: Source, wanted: _Wanted, compiler: Userland) -> None:
    """Keep what a kernel is (program, configuration, record), and read what the boot has to know."""
    linux = place / "linux"
    shutil.copyfile(tree / "linux", linux)  # a copy: UML's "linux" is a hard link to vmlinux
    linux.chmod(0o755)
    shutil.copyfile(tree / ".config", place / "config")
    reader = command(compiler.tree, "usr/bin/nm", str(linux))
    symbols = subprocess.run(reader, capture_output=True, text=True, check=True).stdout
    clock = re.search(r"^([0-9a-f]+) \w time_travel_time$", symbols, re.MULTILINE)
    if clock is None:
        raise BuildFailed("it has no virtual clock (time_travel_time)")
    usage = subprocess.run([str(linux), "--help"], capture_output=True, text=True).stdout
    kernel = UmlKernel(
        name=wanted.name,
        version=found.version,
        id=wanted.recipe.id,
        hz=wanted.hz,
        patches=tuple(patch.name for patch in wanted.extra),
        path=linux,
        clock=int(clock.group(1), 16),
        seccomp="seccomp=" in usage,
        base=wanted.base,
        digests=cache.digests([patch.text for patch in wanted.extra], [each.content for each in wanted.fragments]),
        config=tuple(each.name for each in wanted.fragments),
        tree=found.checkout.tree.name if found.checkout else "",
        max_header=configuration.max_header((place / "config").read_text()) if wanted.fragments else None,
    )
    cache.save(kernel)
