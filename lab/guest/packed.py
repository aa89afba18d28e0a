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
Entry = tuple[str, bool, int, int]  # of a module: its file, whether it is a package, the code's start and length


def pack(index: dict[str, Entry], code: bytes) -> bytes:
    """Return the contents of PACK: the size of its header, the header, and the code of all modules.

    A library has no code.
    """
    head = marshal.dumps(index, 4)  # every Python since 3.4 reads this version
    return len(head).to_bytes(8, "little") + head + code


class Packed(SourceFileLoader):
    """Loads a module whose bytecode is in PACK."""

    def __init__(self, name: str, path: str, place: tuple[int, int, int]) -> None:
        super().__init__(name, path)
        self._place = place  # descriptor, bytes, offset

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  # it loads one module only
        """Return the module's code."""
        code: CodeType = marshal.loads(os.pread(*self._place))
        return code


class Finder:
    """Finds the modules of a PACK that is open as `file`. Their code begins at byte `start`."""

    def __init__(self, file: int, index: dict[str, Entry], start: int) -> None:
        self.file = file
        self.index = index
        self.start = start

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return the spec that loads this module; None if the module is not in PACK."""
        if name not in self.index:
            return None
        file, package, offset, size = self.index[name]
        loader = Packed(name, file, (self.file, size, self.start + offset)) if size else ExtensionFileLoader(name, file)
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
    size = int.from_bytes(os.pread(file, 8, 0), "little")
    finder = Finder(file, marshal.loads(os.pread(file, size, 8)), 8 + size)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)


if __name__ == "sitecustomize":
    gc.set_threshold(100_000)  # an import makes little garbage, and short programs end before a collection pays
    install(f"{__file__.rpartition('/')[0]}/{PACK}")
