"""Store the built kernels, each in its own folder, and find them by name or id."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from lab.base import version
from lab.base.building import Silent
from lab.errors import InputError
from lab.guest.clock import Clock, Place
from lab.machine.kernel.base import KernelMissing, Start, folder
from lab.machine.kernel.root import Root
from lab.machine.kernel.uml import intact
from lab.machine.kernel.uml.recipe import HZ, Patch, changes
from lab.machine.kernel.uml.start import start
from lab.spec.errors import suggestion
from lab.spec.variant import ResolvedVariant
from lab.units import Size

CONFIG = "config"  # beside the program, as built
CHANGES = "changes"  # in the cache: the patches of each kernel of changed C files, in folders by its id
RECORD = "kernel.json"  # beside it: marks a complete kernel; its date is the last time that a build gave this kernel
FIFOS = ("pfifo", "bfifo")  # every kernel has these


@dataclass(frozen=True, slots=True)
class UmlKernel:
    """Describes a built user-mode kernel that is ready to boot. Trials use this kind by default."""

    on: ClassVar[Place] = "uml"
    clocks: ClassVar[tuple[Clock, ...]] = ("virtual", "real")

    name: str  # the series, "7.2"; a variant has its own name, "7.2-hz250"
    version: str  # of the source package, "7.2.13-1"
    id: str  # hash of source, configuration, patches and compiler
    hz: int  # ticks per second
    patches: tuple[str, ...]  # names of the user's patches, in order; without the lab's own
    path: Path  # the program to run
    clock: int  # address of its virtual clock (u64, nanoseconds since boot)
    seccomp: bool  # has the fast way to run processes (since 6.16)
    base: str = ""  # of a variant: the id of the kernel without the user's patches and HZ
    digests: tuple[str, ...] = ()  # SHA-256 of each of the user's patches, then of each fragment
    config: tuple[str, ...] = ()  # names of the user's fragments of configuration, in order
    tree: str = ""  # the name of the folder with its source; "" for a packaged source
    max_header: int | None = None  # bytes that it keeps free for headers, if a fragment may have changed them

    def describe(self) -> dict[str, Any]:
        """Return the kernel's description in a trial, without paths, so that every machine gives an equal description.

        `emulation` describes further influences on a real-time figure: how the kernel runs processes, and the lab's
        changes.
        """
        processes, series = "seccomp" if self.seccomp else "ptrace", version.series(self.version)
        return {**self.identity, "emulation": {"processes": processes, "changes": list(changes(series))}}

    @property
    def identity(self) -> dict[str, Any]:
        """Return the facts that distinguish the kernel from other kernels."""
        plain = {
            "name": self.name,
            "version": self.version,
            "id": self.id,
            "hz": self.hz,
            "patches": list(self.patches),
        }
        more = {"base": self.base, "config": list(self.config), "tree": self.tree, "max_header": self.max_header}
        return plain | {name: value for name, value in more.items() if value}

    def variant(self, wanted: ResolvedVariant) -> UmlKernel:
        """Return the built variant with the changes `wanted`. Raises KernelMissing with the fix."""
        own = digests(*([file.read_bytes() for file in files] for files in (wanted.patches, wanted.config)))
        home = self.path.parents[1]  # next to it: a bundle has its own kernels
        base, hz = (_of_tree(wanted.tree, home), wanted.hz or HZ) if wanted.tree else (self.id, wanted.hz or self.hz)
        for kernel in installed(home):
            if (kernel.base or kernel.id, kernel.digests, kernel.hz) == (base, own, hz):
                return kernel
        what = f"{'a kernel' if wanted.tree else self.name} with {wanted}"
        if self.base and not wanted.tree:
            fix = f"{self.name} is a variant itself, so run the claim on {series(self.name)}"
        else:
            fix = "run `lab kernel build --variants`"
        raise KernelMissing(f"{what} is not built here; {fix}")

    def answers_to(self, name: str | None) -> bool:
        """Return whether `name` is its name, version or id (at least 8 characters of it). None names a plain kernel."""
        if name is None:
            return self.name == series(self.name)
        return name in (self.name, self.version) or (len(name) >= 8 and self.id.startswith(name))

    @property
    def configuration(self) -> str:
        """Return the kernel's configuration as built; "" if it was not stored."""
        file = self.path.with_name(CONFIG)
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def lacks(self, queue: str) -> bool:
        """Return whether the kernel's configuration lacks a queue of this kind."""
        found = self.configuration
        return queue not in FIFOS and bool(found) and f"CONFIG_NET_SCH_{queue.upper()}=y" not in found.splitlines()

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:
        """Return the `Start` of a guest of this kernel.

        Raises KernelAltered if the program has changed, and MachineError if the host has no room for the guest's
        memory.
        """
        intact.check(self.path)
        return start(self.path, self.clock, self.seccomp, folder, seed, clock, memory, root)


def installed(home: Path | None = None) -> list[UmlKernel]:
    """Return every kernel in the cache, or in `home`, the newest version first.

    For equal versions, the kernel comes first that `build` returned last.
    """
    found = []
    for record in (home or folder()).glob(f"*/{RECORD}"):
        kernel = load(record.parent)
        if kernel is not None:
            found.append((version.order(kernel.version), record.stat().st_mtime_ns, kernel))
    return [kernel for *_, kernel in sorted(found, key=lambda entry: entry[:2], reverse=True)]


def find(name: str | None = None, kernels: Sequence[UmlKernel] | None = None) -> UmlKernel:
    """Return the built kernel called `name`, or with that version or id (at least 8 characters of it).

    None means a plain kernel. Of several such kernels in the cache, those that another version of the lab built come
    last, then the newest is the answer. With `kernels`, only these are searched, and the first one is the answer.
    Raises KernelMissing with the fix.
    """
    known = installed() if kernels is None else kernels
    matching = [kernel for kernel in known if kernel.answers_to(name)]
    if not matching and name and kernels is None and (removed := _removed(name)):
        again = rebuilding(folder(), removed)
        fix = f"run `{again}`" if again else "this lab cannot build it again, because its source or the lab has changed"
        raise KernelMissing(f"kernel '{name}' was removed; {fix}")
    if not matching:
        raise KernelMissing(_missing(name, list(dict.fromkeys(kernel.name for kernel in known))))
    if kernels is None and len(matching) > 1:
        from lab.machine.kernel.uml import source  # it imports libraries that the start of a kernel does not need

        own = source.own_ids(folder())
        return next((kernel for kernel in matching if (kernel.base or kernel.id) in own), matching[0])
    return matching[0]


def _missing(name: str | None, known: Sequence[str]) -> str:
    """Return what is missing, and what to do about it. Only a plain kernel is built by its name alone."""
    names = f" (there are {', '.join(known)})" if known else ""
    if name is None:
        return f"no kernel is built here{names}; run `lab kernel build`"
    what, plain = f"kernel '{name}' is not built here{names}", series(name)
    if name == plain:
        return f"{what}; run `lab kernel build {name}`"
    build = f"; to build it, run `lab kernel build {name}` with its --patch, --file, --config or --hz" if plain else ""
    return f"{what}{suggestion(name, known) or build or '; `lab kernel list` shows the kernels'}"


def keep_changes(home: Path, id: str, name: str, patches: Iterable[Patch]) -> None:
    """Store the patches of a kernel of changed C files, so that the lab can build it again."""
    place = home / CHANGES / id
    for number, patch in enumerate(patches):
        file = place / str(number) / f"{patch.name}.patch"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(patch.text)
    (place / "name").write_text(f"{name}\n", encoding="utf-8")  # last: the patches are complete


def changes_of(home: Path, id: str) -> list[Path]:
    """Return the patches of the kernel with this id, in order, or [] if it is not a kernel of changed C files."""
    place = home / CHANGES / id
    found = [each for each in place.glob("*/*.patch") if each.parent.name.isdecimal()]
    return sorted(found, key=lambda each: int(each.parent.name)) if (place / "name").is_file() else []


def rebuilding(home: Path, id: str) -> str:
    """Return the command that builds a kernel of changed C files again.

    Return "" if the kernel is no such kernel, or if the command would build a different one: the lab's patches, its
    configuration, its compiler or the newest source have changed since.
    """
    from lab.machine.kernel.uml import source  # it imports libraries that the start of a kernel does not need

    patches = changes_of(home, id)
    if not patches:
        return ""
    try:
        name = (home / CHANGES / id / "name").read_text(encoding="utf-8").strip()
        if source.id_with(home, series(name), patches) != id:
            return ""
    except (OSError, ValueError, InputError):  # the cache is damaged
        return ""
    return f"lab kernel build {shlex.quote(name)} {' '.join(f'--patch {shlex.quote(str(each))}' for each in patches)}"


def _removed(id: str) -> str:
    """Return the whole id of a removed kernel of changed C files, or "" if the id is not that of one."""
    home = folder()
    places = home.glob(f"{CHANGES}/{id}*") if len(id) >= 8 and id.isalnum() else ()
    return next((place.name for place in places if changes_of(home, place.name)), "")


def digests(patches: Iterable[bytes], fragments: Iterable[bytes]) -> tuple[str, ...]:
    """Return the hashes that, besides HZ, distinguish the variants of one kernel."""
    return tuple(hashlib.sha256(content).hexdigest() for content in (*patches, *fragments))


def load(place: Path) -> UmlKernel | None:
    """Return the kernel in a cache folder, or None if the folder holds no complete kernel."""
    try:
        plain = json.loads((place / RECORD).read_text(encoding="utf-8"))
        if not plain.keys() <= {each.name for each in fields(UmlKernel)}:
            return None
        found = {**plain, "path": str(place.absolute() / "linux")}  # guests start in their trials' folders
        return msgspec.convert(found, UmlKernel, dec_hook=lambda _, path: Path(path))
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def save(kernel: UmlKernel) -> None:
    """Write the record that marks a cache folder as a complete kernel, and the hash of the kernel's program."""
    intact.keep(kernel.path)
    plain = {**kernel.identity, "clock": kernel.clock, "seccomp": kernel.seccomp}
    if kernel.digests:
        plain["digests"] = list(kernel.digests)
    (kernel.path.parent / RECORD).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def _of_tree(tree: Path, home: Path) -> str:
    """Return the id of the plain kernel of a tree in its current state.

    Raises KernelMissing if the tree does not exist.
    """
    from lab.machine.kernel.uml import source  # it imports a library that the start of a kernel does not need

    try:
        return source.plain_recipe(source.of_tree(tree, home, Silent())).id
    except InputError as error:
        raise KernelMissing(str(error)) from None


def series(name: str) -> str:
    """Return the X.Y at the start of a kernel's name, or '' if the name has no X.Y."""
    found = version.series(name)
    return "" if name.startswith(f"{found}.") else found
