"""Keep a private copy of a kernel tree with its compiled objects, so that the next build compiles only the changes.

The copy is a work tree of a separate git repository, even if the user's tree is already in a repository. So git
identifies a tree only by its content, and an update changes only files that differ. The user's tree is read but never
written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.base import foreign, version
from lab.errors import InputError, LabError
from lab.machine.kernel.uml import compiling
from lab.machine.kernel.uml.git import GitFailed, git
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.userland.cache import Userland

# Products of a build that git does not list. Debian's .gitignore hides the whole kernel.
PRODUCTS = ".*\n*.a\n*.cmd\n*.ko\n*.mod\n*.o\n*.order\n*.symvers\n/vmlinux*\n/linux\n/System.map\n"
GENERATED = "/include/config/\n/include/generated/\n/arch/*/include/generated/\n"


@dataclass(frozen=True, slots=True)
class Checkout:
    """Keeps a copy of `tree` in `folder`. Only one process may use the copy at a time.

    Trees are named by git's hashes.
    """

    tree: Path
    folder: Path

    @classmethod
    def of(cls, tree: Path, home: Path) -> Checkout:
        """Return the copy of a kernel tree below `home`. Raises InputError if `tree` is not a kernel tree."""
        tree = Path(tree).resolve()
        for needed in ("Makefile", "arch/um"):
            if not (tree / needed).exists():
                raise InputError(
                    f"{tree}: not a kernel tree, because it has no {needed}; name the top folder of a kernel source"
                )
        key = hashlib.sha256(bytes(tree)).hexdigest()[:12]
        return cls(tree, home.absolute() / "trees" / f"{tree.name}-{key}")

    @property
    def source(self) -> Path:
        """Return the folder of the copy itself."""
        return self.folder / "source"

    def snapshot(self) -> str:
        """Return git's hash of the user's tree in its current state, committed or not. Raises GitFailed."""
        self._prepare()
        known = self._git("ls-files", "-z", "--cached", tree=self.tree)
        names = "\0".join([known, self._files()])
        self._git("update-index", "-z", "--add", "--remove", "--stdin", tree=self.tree, stdin=names)
        return self._git("write-tree")

    def revision(self, name: str) -> str:
        """Return the tree of a user's commit. Raises GitFailed."""
        self._prepare()
        return self._git("rev-parse", "--verify", "--quiet", f"{name}^{{tree}}")

    def version(self, name: str) -> str:
        """Return the version in the Makefile of the tree `name`, such as "7.2.13". Raises InputError and GitFailed."""
        found = version.of_makefile(self._git("show", f"{name}:Makefile"))
        if not found:
            raise InputError(f"{self.tree / 'Makefile'}: it has no kernel version")
        return found

    @contextmanager
    def at(self, name: str, patches: Sequence[Patch], log: IO[bytes], compiler: Userland) -> Iterator[Path]:
        """Yield the copy to build in, with the contents of the tree `name` and `patches`.

        Raises BuildFailed and GitFailed. After an interrupted build, the next build starts from scratch, because a file
        may be half written. The same applies after foreign patches, which may have left arbitrary files behind.
        """
        building, is_ours = self.folder / "building", all(patch.ours for patch in patches)
        if building.exists():
            foreign.remove(self.source)
            (self.folder / "ours").unlink(missing_ok=True)
        self.source.mkdir(exist_ok=True)
        files = [file for patch in patches for file in patch.files]
        before = {path: _dated(path) for file in files if (path := self.source / file).is_file()}
        building.touch()
        try:
            self._git("read-tree", "--reset", "-u", name, index="ours", tree=self.source)
            try:
                compiling.patch(self.source, patches, log, compiler)
                _restore_times(before)
            finally:  # git then knows the files that patches changed or added, so the next read-tree undoes them
                changed = "\0".join(files)
                update = ("update-index", "-z", "--add", "--remove", "--stdin")
                self._git(*update, index="ours", tree=self.source, stdin=changed)
            yield self.source
        except LabError:  # it failed, but was not interrupted
            if is_ours:
                building.unlink()
            raise
        if is_ours:
            building.unlink()

    def _files(self) -> str:
        """Return the NUL-terminated files of the user's tree: git's list, or else all files except build products."""
        ours = f"--exclude-from={self.folder / 'git' / 'info' / 'exclude'}"
        with suppress(GitFailed):
            if Path(git("rev-parse", "--show-toplevel", where=self.tree)) == self.tree:
                return git("ls-files", "-z", "--cached", "--others", "--exclude-standard", ours, where=self.tree)
        return self._git("ls-files", "-z", "--others", ours, tree=self.tree)

    def _prepare(self) -> None:
        """Prepare a repository that also reads the user's objects.

        Any lock file is left over from a crash, because no other process uses the repository.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "git" / "HEAD").exists():
            git("init", "--quiet", "--bare", "git", where=self.folder)
        for stale in self.folder.glob("*.lock"):
            stale.unlink()
        (self.folder / "git" / "info" / "exclude").write_text(PRODUCTS + GENERATED, encoding="utf-8")
        with suppress(GitFailed):  # not a git tree
            objects = git("rev-parse", "--path-format=absolute", "--git-path", "objects", where=self.tree)
            (self.folder / "git" / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")

    def _git(self, *arguments: str, index: str = "theirs", tree: Path | None = None, stdin: str = "") -> str:
        environment = {"GIT_DIR": str(self.folder / "git"), "GIT_INDEX_FILE": str(self.folder / index)}
        if tree is not None:
            environment["GIT_WORK_TREE"] = str(tree)
        return git(*arguments, where=tree or self.folder, environment=environment, stdin=stdin)


def _dated(path: Path) -> tuple[bytes, int]:
    """Return the contents of a file, and its modification time in nanoseconds."""
    return path.read_bytes(), path.stat().st_mtime_ns


def _restore_times(before: Mapping[Path, tuple[bytes, int]]) -> None:
    """Restore the modification times of files with unchanged contents.

    If patches are undone and applied again, nothing is recompiled.
    """
    for path, (content, time) in before.items():
        if path.is_file() and path.read_bytes() == content:
            os.utime(path, ns=(time, time))
