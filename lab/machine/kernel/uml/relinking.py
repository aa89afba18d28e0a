"""Keep the parts of a built kernel that a changed C file needs, and build a kernel from these parts in seconds.

The build of a plain kernel packs the parts into one file beside the kernel: the kernel's objects, the sources and
headers of the network code and of the timers, the programs of the last steps, and the exact commands of these steps.
The lab builds a kernel with changes in such C files from these parts: it compiles the files, and links. The bytes are
those of a whole build with the same changes, because the commands, their order and all other objects are the same.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import IO

import msgspec
import zstandard

from lab.base import foreign
from lab.base.building import UNFINISHED, forget
from lab.errors import InputError, MachineError
from lab.machine.kernel.uml import compiling, precompiled, pristine
from lab.machine.kernel.uml.compiling import BuildFailed
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.userland.cache import Userland
from lab.machine.userland.program import command
from lab.spec.errors import Problem, SpecError, display, unreadable

FOLDER = "relinking"  # in the cache: the unpacked parts
KEPT = "relink.tar.zst"  # beside the kernel's program
MOST = 1 << 20  # bytes of a user's file; the kernel's longest such file has a fifth
_TOP, _INDEX = "kernel", "lab-relink.json"  # the archive's folder, and its first file
_LEVEL = 12  # of zstd: a higher level takes a minute, and saves a tenth
_PROGRAMS = "scripts/"
_CODE = ("net", "kernel/time")  # the folders whose C files can change
_HOME, _MAKEFILE = "net/ipv4/", "net/ipv4/Makefile"
_REFERENCE = "net/ipv4/tcp_cubic.c"  # a new congestion control is compiled like this one
_ARCHIVE, _EXPORTS = "vmlinux.a", ".vmlinux.export.c"
_STEPS = ("vmlinux.o", "vmlinux.symvers", "vmlinux.unstripped", "vmlinux")  # after the objects; some series skip some
_SYMBOLS = "vmlinux.symvers"  # the step that writes _EXPORTS
_HEADERS = ("include/*", *(f"{folder}/*.h" for folder in ("arch/um", "arch/x86", *_CODE)), f"{precompiled.SHARED}*")
_NEVER = ("include/config/[A-Z0-9]*", "include/dt-bindings/*", "*.gch", "*.cmd")  # no source in _CODE reads them
_LINKING = (".config", _EXPORTS, ".vmlinux.export.o", "init/version-timestamp.o", "scripts/mod/modpost")
_GOAL = "lab-environment"  # a goal for make: the file with the environment of the last steps
_OWN = {
    *("MAKE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PATH", "M4", "BISON_PKGDATADIR", "_"),
    *("BASH", "SHLVL"),
}
_UNNAMED = rb"^(\+\+\+ /dev/null|\*\*\* |(rename|copy) (from|to) )"  # changes files that are not in Patch.files


class _Index(msgspec.Struct, frozen=True):
    """Lists what the last steps of a build do."""

    folders: tuple[str, ...]  # _CODE, of the lab that kept the parts
    environment: dict[str, str]  # of every step
    compile: dict[str, str]  # the command for each C source in _CODE
    objects: tuple[str, ...]  # in the order of the link
    exports: str  # the command that compiles _EXPORTS; "" in a series without that file
    steps: dict[str, str]  # the command for each file in _STEPS


@dataclass(frozen=True, slots=True)
class Change:
    """Describes a user's C file in a kernel, as a patch."""

    patch: Patch
    source: str  # the file's path in the kernel
    file: Path  # the user's


@dataclass(frozen=True, slots=True)
class Parts:
    """Names the unpacked parts of a kernel."""

    folder: Path
    index: _Index

    @classmethod
    def of(cls, kernel: Path, compiler: Userland) -> Parts | None:
        """Return the parts of the kernel in this cache folder, or None if they are missing, damaged or not all of them.

        The caller holds the build lock of the cache. The unpacked parts stay in the cache for a week after their last
        use, because unpacking them takes longer than the rest.
        """
        kept, fresh = unpacked(kernel), kernel.with_name(f"{UNFINISHED}parts")
        try:
            if not pristine.is_whole(kept):
                pristine.keep(kernel / KEPT, (), fresh, kept, compiler)
            index = msgspec.json.decode((kept / pristine.TREE / _INDEX).read_bytes(), type=_Index)
        except (OSError, MachineError, msgspec.MsgspecError):
            return None
        finally:
            foreign.remove(fresh)
        os.utime(kept)
        forget(each for each in kept.parent.iterdir() if each != kept)
        return cls(kept / pristine.TREE, index) if index.folders == _CODE else None

    def changes(self, files: Mapping[Path, bytes], scratch: Path, compiler: Userland) -> tuple[Change, ...]:
        """Return the changes that these C sources make. A file that is the same as the kernel's makes none.

        A file with a name that no C file in _CODE has is a new congestion control. `scratch` is an
        empty folder. Raises InputError for a file whose name fits several of the kernel's files, and for two files
        with the same place in the kernel, and BuildFailed.
        """
        wanted: dict[str, tuple[Path, bytes]] = {}
        for file, content in files.items():
            place = self._place(file)
            if place in wanted:
                raise InputError(f"{file}: {wanted[place][0]} replaces {place} already; name one of the two files")
            wanted[place] = file, content
        before = {each: (self.folder / each).read_bytes() for each in (*wanted, _MAKEFILE) if self._has(each)}
        changes = []
        for place, (file, content) in wanted.items():
            after = {place: content}
            if place not in self.index.compile:
                after[_MAKEFILE] = before[_MAKEFILE] + f"obj-y += {Path(place).stem}.o\n".encode()
            text = b"".join(
                _difference(each, before.get(each), new, scratch, compiler)
                for each, new in sorted(after.items())
                if new != before.get(each)
            )
            before |= after
            if text:
                changes.append(Change(Patch(Path(place).stem, text), place, file))
        return tuple(changes)

    def sources(self, patches: Sequence[Patch], changes: Collection[Change]) -> tuple[str, ...]:
        """Return the C files to compile for these patches, in the order of the patches.

        Return () if the patches change more than such files, or may do so: a deleted or renamed file may be a header.
        """
        known = {change.patch: [change.source] for change in changes}
        if any(re.search(_UNNAMED, patch.text, re.MULTILINE) for patch in patches if patch not in known):
            return ()
        found = [file for patch in patches for file in known.get(patch, patch.files)]
        added = {change.source for change in changes}
        return tuple(dict.fromkeys(found)) if added.union(self.index.compile).issuperset(found) else ()

    def relink(
        self,
        tree: Path,
        patches: Sequence[Patch],
        sources: Sequence[str],
        shown: Mapping[str, Path],
        log: IO[bytes],
        compiler: Userland,
    ) -> None:
        """Build the program "linux" in the new folder `tree` with these patches, which change only `sources`.

        `shown` has the path that an error shows for a source, if it differs. Raises SpecError for a source that does
        not compile, InputError for sources that do not link, and BuildFailed.
        """
        _mirror(self.folder, tree, {*sources, _MAKEFILE})
        compiling.wrap(tree)
        compiling.patch(tree, patches, log, compiler)
        for each in sources:
            self._compile(tree, each, shown.get(each, Path(each)), log, compiler)
        try:
            self._link(tree, sources, log, compiler)
        except BuildFailed as error:
            names = ", ".join(str(shown.get(each, each)) for each in sources)
            if found := re.search(r"undefined reference to .*|multiple definition of [^;\n]*", str(error)):
                raise InputError(f"{names}: it does not link: {found.group()}") from None
            raise BuildFailed(f"{names} does not link: {_last(str(error))}") from None

    def _has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def _link(self, tree: Path, sources: Sequence[str], log: IO[bytes], compiler: Userland) -> None:
        """Run the steps of a build that follow the compiler's, in one shell."""
        (tree / _ARCHIVE).unlink(missing_ok=True)
        (tree / "lab-objects").write_text("\n".join(self._objects(sources)), encoding="utf-8")
        steps = dict(self.index.steps)
        if self.index.exports:
            steps[_SYMBOLS] = (
                f"cp {_EXPORTS} lab-exports; {steps[_SYMBOLS]}; cmp -s {_EXPORTS} lab-exports || {self.index.exports}"
            )
        script = "\n".join([f"ar cDPrST {_ARCHIVE} @lab-objects", *steps.values(), "ln -f vmlinux linux"])
        self._run(tree, script, log, compiler)

    def _place(self, file: Path) -> str:
        """Return the path in the kernel for a user's file."""
        alike = [each for each in self.index.compile if Path(each).name == file.name]
        if not alike:
            return _HOME + file.name
        near = {each: _same_end(Path(each), file.absolute()) for each in alike}
        nearest = [each for each in alike if near[each] == max(near.values())]
        if len(nearest) > 1:
            said = ", ".join(nearest)
            raise InputError(f"{file}: the kernel has several such files; use a path that ends in one of {said}")
        return nearest[0]

    def _objects(self, sources: Sequence[str]) -> Iterator[str]:
        """Yield the kernel's objects in the order of the link. A new object is the last one of its folder."""
        added = [f"{each.removesuffix('.c')}.o" for each in sources if each not in self.index.compile]
        last = max(at for at, each in enumerate(self.index.objects) if re.fullmatch(rf"{_HOME}\w+\.o", each))
        yield from (*self.index.objects[: last + 1], *added, *self.index.objects[last + 1 :])

    def _compile(self, tree: Path, place: str, shown: Path, log: IO[bytes], compiler: Userland) -> None:
        reference = self.index.compile.get(place)
        if reference is None:
            stem = Path(_REFERENCE).stem
            reference = re.sub(rf"\b{stem}\b", Path(place).stem, self.index.compile[_REFERENCE])
        (tree / place).with_suffix(".o").unlink(missing_ok=True)
        try:
            self._run(tree, reference, log, compiler)
        except BuildFailed as error:
            said = str(error)
            found = re.findall(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.+)$", said, re.MULTILINE)
            if not found:
                raise BuildFailed(f"{shown} does not compile: {_last(said)}") from None
            # A mistake in a macro's argument is also one in the header of the macro, which the user cannot change.
            own = [Problem(display(shown), int(line), text) for file, line, text in found if file == place]
            raise SpecError(own or [Problem(file, int(line), text) for file, line, text in found]) from None

    def _run(self, tree: Path, script: str, log: IO[bytes], compiler: Userland) -> None:
        environment = {**self.index.environment, "MAKE": "true"}  # link-vmlinux.sh would make an object that is here
        compiling.shell(tree, script, log, compiler, environment, self.folder)


def unpacked(kernel: Path) -> Path:
    """Return the folder for the unpacked parts of the kernel in this cache folder."""
    return kernel.parent / FOLDER / kernel.name


def read(files: Sequence[Path]) -> dict[Path, bytes]:
    """Return the contents of the user's files. Raises InputError for a file that is no C source or is unreadable."""
    return {file: _read(file) for file in map(Path, files)}


def keep(tree: Path, to: Path, log: IO[bytes], compiler: Userland) -> None:
    """Pack the parts of the kernel that was built in `tree` into the folder `to`.

    There are no parts if the kernel's series links in a different way. Raises BuildFailed and OSError.
    """
    commands = {each: _command(tree, each) for each in _STEPS}
    if not ((tree / _ARCHIVE).is_file() and commands["vmlinux"]):
        return
    compiling.make(tree, [_GOAL, f"--eval={_GOAL}: ; @env -0 > $@"], log, compiler)
    listed = compiling.said(tree, compiler, command(compiler.tree, "usr/bin/ar", "t", _ARCHIVE)).split()
    index = _Index(
        folders=_CODE,
        environment=_environment(tree, compiler),
        compile=dict(sorted(_compiled(tree, listed))),
        objects=tuple(listed),
        exports=_command(tree, _EXPORTS.replace(".c", ".o")),
        steps={name: line for name, line in commands.items() if line},
    )
    if _REFERENCE not in index.compile:
        return
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with (
        (to / KEPT).open("wb") as file,
        compressor.stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        content = msgspec.json.encode(index)
        about = tarfile.TarInfo(f"{_TOP}/{_INDEX}")
        about.size = len(content)
        tar.addfile(about, io.BytesIO(content))
        for name in _files(tree, index):
            tar.add(tree / name, f"{_TOP}/{name}", recursive=False, filter=_anonymous)


def _mirror(parts: Path, tree: Path, changed: Collection[str], folder: str = "") -> None:
    """Fill the new folder `tree` with links to the parts, and with copies of files that the build changes or runs."""
    (tree / folder).mkdir()
    for each in os.scandir(parts / folder):
        name = f"{folder}{each.name}"
        if each.is_dir() and (f"{name}/".startswith(_PROGRAMS) or any(file.startswith(f"{name}/") for file in changed)):
            _mirror(parts, tree, changed, f"{name}/")
        elif not each.is_dir() and (name in changed or not folder or folder.startswith(_PROGRAMS)):
            shutil.copy2(each.path, tree / name, follow_symlinks=False)
        else:
            (tree / name).symlink_to(each.path)


def _files(tree: Path, index: _Index) -> Iterator[str]:
    """Yield the files to keep: first the sources, which are read most often."""
    names = sorted(_walk(tree, ("include", "arch/um", "arch/x86", *_CODE)))
    sources = [each for each in names if each in index.compile or each == _MAKEFILE or _is_in(_HOME, each)]
    headers = [each for each in names if _fits(each, _HEADERS) and not _fits(each, _NEVER)]
    steps = sorted(each.name for each in (tree / "scripts").iterdir() if each.is_file() and each.name[0] != ".")
    libraries = index.environment.get("KBUILD_VMLINUX_LIBS", "").split()
    others = [index.environment.get("KBUILD_LDS", ""), *libraries, *_LINKING, *(f"scripts/{name}" for name in steps)]
    shared = [each.name for each in tree.glob(f"{precompiled.SHARED}*") if not _fits(each.name, _NEVER)]
    wanted = dict.fromkeys((*sources, *headers, *shared, *others, *index.objects))
    yield from (each for each in wanted if each and (tree / each).is_file())


def _walk(tree: Path, folders: Sequence[str]) -> Iterator[str]:
    for top in folders:
        for folder, _, files in os.walk(tree / top):
            yield from (Path(folder, each).relative_to(tree).as_posix() for each in files)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


def _is_in(folder: str, name: str) -> bool:
    return name.endswith(".c") and name.rpartition("/")[0] + "/" == folder


def _anonymous(about: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner and the time from an archive's entry, so that the archive is the same on every machine."""
    about.uid = about.gid = 0
    about.uname = about.gname = ""
    about.mtime = 0
    return about


def _compiled(tree: Path, objects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each C source in _CODE with the command that compiled it."""
    for name in objects:
        place = f"{name.removesuffix('.o')}.c"
        if name.startswith(tuple(f"{folder}/" for folder in _CODE)) and (tree / place).is_file():
            yield place, _command(tree, name)


def _command(tree: Path, target: str) -> str:
    """Return the command that made a file, as kbuild saved it; "" if kbuild saved none."""
    folder, _, name = target.rpartition("/")
    try:
        text = (tree / folder / f".{name}.cmd").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    found = re.search(r"^(?:saved)?cmd_\S+ := (.*)$", text, re.MULTILINE)
    return found.group(1).replace("$(pound)", "#").replace("$$", "$") if found else ""


def _environment(tree: Path, compiler: Userland) -> dict[str, str]:
    """Return the variables that the kernel's makefiles export, without those that name this machine."""
    found = (each.partition("=") for each in (tree / _GOAL).read_text(encoding="utf-8").split("\0") if each)
    machine = str(tree), str(compiler.tree)
    return {name: value for name, _, value in found if name not in _OWN and not any(each in value for each in machine)}


def _read(file: Path) -> bytes:
    try:
        content = foreign.read(file.resolve(), MOST)
    except OSError as error:
        raise InputError(f"{file}: {unreadable(file, error)}") from None
    except foreign.Unfit as error:
        raise InputError(f"{file}: it is {error}; name a C source of at most {MOST >> 20} MiB") from None
    if not re.fullmatch(r"[A-Za-z]\w{0,59}\.c", file.name, re.ASCII):
        raise InputError(f"{file}: not a name for a kernel's C source; use letters, digits and '_', and end in .c")
    if b"\0" in content or not content:
        raise InputError(f"{file}: it is {'not text' if content else 'empty'}; name a C source")
    return content


def _difference(place: str, before: bytes | None, after: bytes, scratch: Path, compiler: Userland) -> bytes:
    """Return the patch that changes a file of the kernel, made with the locked `diff`."""
    old, new = scratch / "before", scratch / "after"
    old.write_bytes(before or b"")
    new.write_bytes(after)
    labels = ("--label", "/dev/null" if before is None else f"a/{place}", "--label", f"b/{place}")
    made = command(compiler.tree, "usr/bin/diff", "--text", "-u", *labels, str(old), str(new))
    done = compiling.run(scratch, compiler, made)
    if done.returncode != 1 or not done.stdout:  # the files differ, so any other status is a failure
        raise BuildFailed(f"cannot compare {place} with the kernel's: {_last(done.stderr.decode(errors='replace'))}")
    return done.stdout


def _same_end(one: Path, other: Path) -> int:
    """Return the number of last components that two paths share."""
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _last(said: str) -> str:
    return (said.strip().splitlines() or ["no reason given"])[-1]
