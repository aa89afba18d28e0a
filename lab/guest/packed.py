"""Load a guest's Python modules from one file, because a search of the path takes ten system calls for each module.

In the guest's copy of the lab's code, this module is named `sitecustomize`, which Python imports when it starts. The
file PACK is in the same folder. lab.runner.code writes PACK with the userland's own Python. Modules that are not in
PACK are found as usual.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec  # importlib itself is a file, and these are part of Python's program
from _frozen_importlib_external import ExtensionFileLoader, PathFinder, SourceFileLoader

TYPE_CHECKING = False  # typing is a large module
if TYPE_CHECKING:
    from types import CodeType

PACK = "modules"
AHEAD = 120_000  # bytes read at once; the C library would map memory of its own for 128 KiB
Entry = tuple[str, bool, int, int]  # of a module: its file, whether it is a package, the code's start and length


def pack(index: dict[str, Entry], code: bytes) -> bytes:
    """Return the contents of PACK: the size of its header, the header, and the code of all modules.

    A library has no code.
    """
    head = marshal.dumps(index, 4)  # every Python since 3.4 reads this version
    return len(head).to_bytes(8, "little") + head + code


class PackReader:
    """Reads parts of a PACK that is open as `file`. Modules are in the order of their use, so it reads ahead."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._start = 0
        self._ahead = memoryview(b"")

    def part(self, start: int, size: int) -> memoryview:
        """Return `size` bytes from byte `start` on."""
        if not self._start <= start <= start + size <= self._start + len(self._ahead):
            self._ahead = memoryview(os.pread(self._file, max(size, AHEAD), start))
            self._start = start
        return self._ahead[start - self._start : start - self._start + size]


class Packed(SourceFileLoader):
    """Loads a module whose bytecode is in PACK: `size` bytes from byte `start` on."""

    def __init__(self, name: str, path: str, reader: PackReader, start: int, size: int) -> None:
        super().__init__(name, path)
        self._place = reader, start, size

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  # it loads one module only
        """Return the module's code."""
        reader, start, size = self._place
        code: CodeType = marshal.loads(reader.part(start, size))
        return code


class Finder:
    """Finds the modules of a PACK. Their code begins at byte `start`."""

    def __init__(self, reader: PackReader, index: dict[str, Entry], start: int) -> None:
        self.reader = reader
        self.index = index
        self.start = start

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return the spec that loads this module; None if the module is not in PACK."""
        if name not in self.index:
            return None
        file, package, offset, size = self.index[name]
        loader = Packed(name, file, self.reader, self.start + offset, size) if size else ExtensionFileLoader(name, file)
        found = ModuleSpec(name, loader, origin=file, is_package=package)
        found.has_location = True
        if package:
            found.submodule_search_locations = [file.rpartition("/")[0]]
        return found


def install(pack: str) -> None:
    """Make Python look in `pack` before it searches its path. If there is no pack, do nothing."""
    try:
        file = os.open(pack, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    reader = PackReader(file)
    size = int.from_bytes(reader.part(0, 8), "little")
    finder = Finder(reader, marshal.loads(reader.part(8, size)), 8 + size)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)


if __name__ == "sitecustomize":
    gc.set_threshold(100_000)  # an import makes little garbage, and short programs end before a collection pays
    install(f"{__file__.rpartition('/')[0]}/{PACK}")
