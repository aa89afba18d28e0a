"""Read the files of an experiment's program: single files beside the experiment, and whole folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base.foreign import FileBounds, Unfit, read, walk
from lab.guest.workload.program import MOST_BYTES
from lab.spec.errors import Problem, SpecError, unreadable

_BOUNDS = FileBounds(files=20_000)  # including those that are left out
_MOST = 1000  # files of a folder
_CACHE = "__pycache__"  # the names of its files depend on Python's version


def inside(folder: Path, name: str) -> Path:
    """Return where a name in a folder, and the links in it, lead. Raises ValueError if that is outside the folder."""
    try:
        file = (folder / name).resolve()
    except (OSError, RuntimeError):  # a link to itself
        raise ValueError(f"'{name}' is a link that leads nowhere; remove it") from None
    if file.is_relative_to(folder.resolve()):
        return file
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"'{name}' is outside the folder; copy it there, and name the copy")
    raise ValueError(f"'{name}' is behind a link that leads out of the folder; copy what it leads to")


@dataclass(frozen=True)
class FilesBeside:
    """Reads files relative to an experiment's folder. `blame` makes a problem from a message."""

    folder: Path
    blame: Callable[[str], Problem]

    def read(self, name: str) -> bytes:
        """Return the contents of a file.

        Raises SpecError if the file cannot be read, is larger than a program's files may be, or is outside the folder.
        """
        file = self._inside(name)
        if file.is_dir():
            raise self._refused(f"file '{name}' is a folder; write '{name}/' for all of its files")
        if file.exists() and not file.is_file():
            raise self._refused(f"'{name}' is neither a file nor a link to a file; remove it from the folder")
        try:
            return read(file, MOST_BYTES)
        except Unfit as error:
            raise self._refused(f"file '{name}' has {error}; a program takes no larger file") from None
        except OSError as error:
            raise self._refused(f"file '{name}' {unreadable(self.folder / name, error)}") from error

    def within(self, name: str) -> Iterator[str]:
        """Yield the names of all files in a folder, such as 'tools/run.sh', sorted within each folder.

        Hidden files and `__pycache__` are left out. Raises SpecError if the folder cannot be read, has too many files
        or none, or contains a link that leads out of it.
        """
        top, count = self.folder / name, 0
        if top.is_symlink():
            raise self._refused(f"folder '{name}' is a link; name the folder itself")
        self._inside(name)
        if not top.is_dir():
            wrong = "is a file; leave out the '/'" if top.exists() else unreadable(top, FileNotFoundError())
            raise self._refused(f"folder '{name}' {wrong}")
        try:
            for entry in walk(top, _BOUNDS):
                parts = entry.path.split("/")
                if entry.kind == "folder" or _CACHE in parts or any(part.startswith(".") for part in parts):
                    continue
                if entry.kind == "other":
                    self._check_link(top, entry.path, name)
                count += 1
                if count > _MOST:
                    raise Unfit(f"more than {_MOST:,} files")
                yield f"{name}{entry.path}"
        except Unfit as error:
            raise self._refused(f"folder '{name}' has {error}") from None
        except OSError as error:
            raise self._refused(f"folder '{name}' cannot be read: {error.strerror}") from error
        if not count:
            raise self._refused(f"folder '{name}' has no files; leave it out")

    def _inside(self, name: str) -> Path:
        """Return where the links in a name lead. Raises SpecError if that is outside the experiment's folder."""
        try:
            return inside(self.folder, name)
        except ValueError as error:
            raise self._refused(str(error)) from None

    def _check_link(self, top: Path, path: str, name: str) -> None:
        """Raise SpecError unless the path is a link to a file within the folder."""
        target = (top / path).resolve()
        if not target.is_relative_to(top.resolve()):
            raise self._refused(f"'{name}{path}' is a link that leads out of '{name}'; copy the file into the folder")
        if not target.is_file():
            raise self._refused(f"'{name}{path}' is neither a file nor a link to a file; remove it from the folder")

    def _refused(self, message: str) -> SpecError:
        return SpecError([self.blame(message)])
