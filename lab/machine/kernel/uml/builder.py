"""Build a kernel under test, a user-mode Linux with virtual time, once per recipe."""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from lab.base import foreign
from lab.base.building import UNFINISHED, Progress, Silent, alone, dispose, terminable
from lab.base.moving import move
from lab.errors import InputError, MachineError
from lab.machine.kernel import compilers, configuration
from lab.machine.kernel.base import folder
from lab.machine.kernel.uml import cache, compiling, fragment, pristine, recipe, relinking, source
from lab.machine.kernel.uml.cache import UmlKernel
from lab.machine.kernel.uml.checkout import Checkout
from lab.machine.kernel.uml.compiling import BuildFailed
from lab.machine.kernel.uml.fragment import Fragment
from lab.machine.kernel.uml.recipe import Patch, Recipe
from lab.machine.kernel.uml.relinking import Change, Parts
from lab.machine.kernel.uml.source import Source
from lab.machine.userland import builder as userland
from lab.machine.userland.cache import Userland
from lab.machine.userland.program import command
from lab.spec.variant import ResolvedVariant

ROOM, LESS_ROOM = 3 << 10, 1 << 9  # MiB that a build needs temporarily: of all objects; from kept parts


class MissingTool(MachineError):
    """Raised if git, which a build from a tree needs, is not installed."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Describes a kernel to build."""

    name: str
    recipe: Recipe
    base: str  # of a variant: the id of the plain kernel; else ""
    extra: tuple[Patch, ...]  # the user's patches
    fragments: tuple[Fragment, ...]  # the user's fragments
    hz: int
    trusted: bool  # whether the user trusts foreign parts
    changes: tuple[Change, ...] = ()  # the patches of `extra` that came from the user's C files

    def objects(self, home: Path, found: Source) -> compiling.Objects:
        """Return the folder for ccache's objects. A tree has its own folder, and foreign code has none."""
        if found.checkout is not None:
            return compiling.Objects(found.checkout.folder / "ccache", not self.is_foreign)
        return compiling.Objects(home / "ccache", not self.is_foreign and found.path is None)

    @property
    def is_foreign(self) -> bool:
        """Whether the kernel has parts from a possibly untrusted source.

        Fragments also count as foreign, because an option's text ends up in makefiles.
        """
        return bool(self.extra or self.fragments)


def build(
    name: str | None = None,
    patches: Sequence[Path] = (),
    hz: int = recipe.HZ,
    *,
    config: Sequence[Path] = (),
    files: Sequence[Path] = (),
    source_file: Path | None = None,
    tree: Path | None = None,
    refresh: bool = False,
    progress: Progress | None = None,
    trust: bool = False,
) -> UmlKernel:
    """Return the kernel of this recipe, from the cache or newly built, which takes minutes and may need the network.

    `name` is a series ("7.2"), or a variant's name that starts with a series ("7.2-mss"); None means the newest series.
    The name of an unnamed variant is derived from its patches, `config` and `hz` (ticks per second, 100 to 1000).
    `config` holds fragments: options that override the lab's options. `files` are C files of the kernel's network code
    or timers with changes, or new congestion controls of one file each. They count as patches. A kernel with changes
    only in such files takes seconds (see `relinking`). Instead of a fetched source, the function builds `source_file`
    (a .deb or a tar file) or `tree` (a folder in its current state), if given. A kernel from a tree has the name of the
    tree's folder. `refresh` looks for a newer source; without `refresh`, the build uses the source found last, and a
    kernel that is already built needs no network. With `trust`, patches and fragments are compiled even if this machine
    cannot confine them.

    Raises MissingTool, BuildFailed, InputError (bad name, file, patch, tree or hz), SpecError (an option that the
    kernel does not accept, a file that does not compile) and MachineError (no source, no room).
    """
    progress = progress or Silent()
    series = cache.series(name) if name else None
    if name and not series:
        raise InputError(f"kernel name '{name}' has no series; start it with one, like '7.2' or '7.2-mine'")
    if files and tree is not None:
        raise InputError("a file and a tree contradict each other; change the file in the tree")
    extra, fragments, contents = recipe.read_patches(patches), fragment.read(config), relinking.read(files)
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
    changes = _changes(home, found, contents, progress) if contents else ()
    extra += tuple(change.patch for change in changes)
    stem = f"{found.series}-{found.checkout.tree.name}" if found.checkout else found.series
    marks = [patch.name for patch in extra] + [each.name for each in fragments]
    marks += [f"hz{hz}"] if hz != recipe.HZ else []
    full_name = name if name and name != found.series else "-".join([stem, *marks])
    return _find_or_build(home, found, full_name, extra, fragments, hz, progress, trust, changes)


def variant(name: str, wanted: ResolvedVariant, progress: Progress, trust: bool = False) -> UmlKernel:
    """Return the kernel of the series `name` with the changes `wanted`.

    Raises the errors of `build`.
    """
    series = None if wanted.tree else name
    hz = wanted.hz or recipe.HZ
    return build(series, wanted.patches, hz, config=wanted.config, tree=wanted.tree, progress=progress, trust=trust)


def built(name: str | None = None) -> UmlKernel | None:
    """Return the plain kernel of a series (None: the newest) if `build` would return it without building, else None."""
    home = folder()
    found = source.remembered(home, name)
    return cache.load(home / source.plain_recipe(found).id) if found else None


def revision(checkout: Checkout, commit: str, home: Path, progress: Progress) -> UmlKernel:
    """Return the kernel of a commit in a tree's history, built and stored in `home`. Raises the errors of `build`.

    The content decides the kernel's name, so reverting a commit gives the same kernel as before that commit.
    """
    _need_git()
    found = source.from_tree(checkout, checkout.revision(commit))
    return _find_or_build(home, found, f"{found.series}-{found.sha256[:12]}", (), (), recipe.HZ, progress)


def _changes(home: Path, found: Source, files: Mapping[Path, bytes], progress: Progress) -> tuple[Change, ...]:
    """Return the changes that a user's C files make to the plain kernel, from the parts that its build left.

    A kernel of an older version of the lab has no parts, so it is built once more.
    """
    made = source.plain_recipe(found)
    plain = cache.load(home / made.id) or _find_or_build(home, found, found.series, (), (), recipe.HZ, progress)
    place = plain.path.parent
    with alone(home, progress):
        compiler = userland.build("compiler", progress)
        parts = Parts.of(place, compiler)
        if parts is None:
            progress.remark(f"building kernel {plain.name} again, once, because it has no intact parts to link again")
            _build(home, found, _Wanted(plain.name, made, "", (), (), recipe.HZ, trusted=True), progress)
            parts = Parts.of(place, compiler)
        if parts is None:
            raise MachineError(f"kernel {plain.name} ({plain.version}) cannot be linked again; make a patch instead")
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=home) as scratch:
            return parts.changes(files, Path(scratch), compiler)


def _find_or_build(
    home: Path,
    found: Source,
    name: str,
    extra: tuple[Patch, ...],
    fragments: tuple[Fragment, ...],
    hz: int,
    progress: Progress,
    trust: bool = False,
    changes: tuple[Change, ...] = (),
) -> UmlKernel:
    plain = source.plain_recipe(found)
    config = fragment.laid_over(recipe.config(found.series, hz), fragments)
    made = replace(plain, config=config, patches=plain.patches + extra)
    base = "" if made.id == plain.id else plain.id
    ready = cache.load(home / made.id)
    if ready is None:
        with alone(home, progress):
            wanted = _Wanted(name, made, base, extra, fragments, hz, trust, changes)
            ready = cache.load(home / made.id) or _build(home, found, wanted, progress)
    if ready.name != name:
        raise InputError(f"this kernel is built already, as '{ready.name}'; use that name")
    with contextlib.suppress(OSError):  # the cache may be read-only
        os.utime(ready.path.with_name(cache.RECORD))
    return ready


def _need_git() -> None:
    if shutil.which("git") is None:
        raise MissingTool("a kernel build from a tree needs git; run `sudo apt-get install git`")


def _need_room(home: Path, room: int) -> None:
    if shutil.disk_usage(home).free >> 20 < room:
        raise MachineError(f"a kernel build temporarily needs {room} MiB, and {home} has less")


def _build(home: Path, found: Source, wanted: _Wanted, progress: Progress) -> UmlKernel:
    made, name = wanted.recipe, wanted.name
    if wanted.is_foreign and not wanted.trusted:
        compilers.need_confinement(f"kernel {name}, with patches or options of its own,", runs_code=True)
    place = home / f"{UNFINISHED}{made.id}"
    log = place / "build.log"
    with terminable():
        try:
            place.mkdir()
            compiler = userland.build("compiler", progress)
            with log.open("wb", buffering=0) as output:  # a reader who follows the log sees each line
                if not _relinked(home, place, found, wanted, output, compiler, progress):
                    _compiled(home, place, found, wanted, output, compiler, progress)
            if wanted.changes:
                with contextlib.suppress(OSError):  # such as a full disk: this kernel is then never pruned
                    cache.keep_changes(home, made.id, name, wanted.extra)
            _store(place, home / made.id)
        except BuildFailed as error:
            kept = home / f"failed-{made.id}.log"
            log.replace(kept)
            raise BuildFailed(f"kernel {name} ({found.version}): {error}", kept) from None
        except OSError as error:
            raise MachineError(f"cannot build kernel {name} in {home}: {error.strerror}") from None
        finally:
            foreign.remove(place)
    (home / f"failed-{made.id}.log").unlink(missing_ok=True)
    ready = cache.load(home / made.id)
    if ready is None:
        raise MachineError(f"{home / made.id} vanished while it was built")
    return ready


def _store(place: Path, kept: Path) -> None:
    """Move a built kernel to its place in the cache. If the kernel is there, only its parts are new."""
    foreign.remove(relinking.unpacked(kept))  # they come from the parts of an earlier build
    before = cache.load(kept)
    if before is None:
        shutil.rmtree(kept, ignore_errors=True)
        move(place, kept)
    elif filecmp.cmp(before.path, place / before.path.name, shallow=False):
        with contextlib.suppress(FileNotFoundError):  # a series may leave none
            (place / relinking.KEPT).replace(kept / relinking.KEPT)
    else:
        raise MachineError(f"{before.path} differs from a new build of it; remove {kept}, then run `lab kernel build`")


def _relinked(
    home: Path, place: Path, found: Source, wanted: _Wanted, log: IO[bytes], compiler: Userland, progress: Progress
) -> bool:
    """Build a kernel from the parts of its plain kernel. Return False if the changes need more than these parts."""
    plain = source.plain_recipe(found)
    parts = Parts.of(home / plain.id, compiler) if wanted.extra and wanted.recipe.config == plain.config else None
    sources = parts.sources(wanted.extra, wanted.changes) if parts else ()
    if parts is None or not sources:
        return False
    _need_room(home, LESS_ROOM)
    progress.say(f"compiling {', '.join(Path(each).name for each in sources)} and linking {wanted.name}")
    tree = place / "tree"
    shown = {change.source: change.file for change in wanted.changes}
    parts.relink(tree, wanted.extra, sources, shown, log, compiler)
    _collect(place, tree, found, wanted, compiler)
    dispose(tree, home)
    return True


def _compiled(
    home: Path, place: Path, found: Source, wanted: _Wanted, log: IO[bytes], compiler: Userland, progress: Progress
) -> None:
    """Build a kernel from its source, and keep the parts of a plain kernel for later changes."""
    _need_room(home, ROOM)
    made, name, objects = wanted.recipe, wanted.name, wanted.objects(home, found)
    with _tree(home, place, found, made.patches, log, compiler, progress) as tree:
        progress.say(f"configuring {name}")
        compiling.configure(tree, made, log, compiler, wanted.fragments)
        progress.say(f"compiling {name}")
        compiling.precompile(tree, log, compiler, objects)
        compiling.make(tree, ["linux"], log, compiler, progress.step, objects=objects)
        _collect(place, tree, found, wanted, compiler)
        if not wanted.base and found.checkout is None:
            relinking.keep(tree, place, log, compiler)


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
    """Yield the patched source to build in: a new tree in `place`, or the copy of a tree with its compiled objects."""
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
    """Store the parts of a kernel (program, configuration, record), and read the facts that its boot needs."""
    linux = place / "linux"
    compiling.collect(tree, "linux", linux)  # a copy, because UML's "linux" is a hard link to vmlinux
    linux.chmod(0o755)
    compiling.collect(tree, ".config", place / "config")
    symbols = compiling.said(tree, compiler, command(compiler.tree, "usr/bin/nm", str(tree / "linux")))
    clock = re.search(r"^([0-9a-f]+) \w time_travel_time$", symbols, re.MULTILINE)
    if clock is None:
        raise BuildFailed("it has no virtual clock (time_travel_time)")
    usage = compiling.said(tree, compiler, [str(tree / "linux"), "--help"])
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
        max_header=configuration.max_header((place / "config").read_text(), ours=True) if wanted.fragments else None,
    )
    cache.save(kernel)
