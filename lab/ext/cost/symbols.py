"""Read the addresses of a distribution kernel's functions, once for each kernel, and cache them beside the kernel.

A shipped kernel image has no symbol table, but the running kernel prints one in /proc/kallsyms, with its modules. The
lab boots kernels without address randomisation, so the kernel's own functions have the same addresses in every guest.
Modules may lie elsewhere in each guest, so the table also has the address of each module (count.c explains how it is
used).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from lab.base import foreign
from lab.base.building import UNFINISHED, Progress, alone
from lab.base.moving import move
from lab.errors import InputError, MachineError
from lab.ext.cost.counts import bare
from lab.machine.kernel import Guest, GuestError, scratch_guest_folder
from lab.machine.kernel.vm.stock import StockKernel
from lab.runner.memory import MEMORY
from lab.spec.errors import suggestion

__all__ = ["UNNAMED", "functions", "modules", "read", "require", "table"]

UNNAMED = "no_symbol"  # code that no function has, such as compiled BPF programs; count.c has this name, too
_FILE = "functions.txt"  # in the kernel's folder
_PAGE = 4096
_LONGEST = 256 << 20  # bytes of /proc/kallsyms
_CODE = "tTwW"  # the types of functions, as nm prints them
_LINE = re.compile(r"([0-9a-f]{16}) (\w) (\S+)(?:\t\[(\S+)\])?")
_LOADED = re.compile(r"(\S+)(?: \S+){4} 0x([0-9a-f]{16})(?: .*)?")  # a line of /proc/modules
_EDGE = re.compile(r"_*\w*(?:text|thunk)_(?:start|begin|end)|_[se]?\w*text")  # where the linker's sections meet
_PADDING = "__pfx_"  # names the bytes before a function, which never run


def table(kernel: StockKernel, progress: Progress) -> Path:
    """Return the file with the kernel's functions and modules: a line "ADDRESS NAME" for each function, sorted by
    address, and a line "ADDRESS [NAME]" for each module.

    The first call for a kernel boots it, which takes some 15 seconds. Raises MachineError if the kernel has no symbols,
    and the errors of a guest.
    """
    target = kernel.folder / _FILE
    try:
        if not target.exists():
            with alone(kernel.folder, progress):
                if not target.exists():
                    _write(target, kernel, progress)
    except OSError as error:
        raise MachineError(f"cannot write {target}: {error.strerror}") from None
    return target


def _write(target: Path, kernel: StockKernel, progress: Progress) -> None:
    progress.say(f"reading the functions of kernel {kernel.name}")
    text = read(kernel)
    lines = "".join(f"{address:x} {name}\n" for address, name in (*functions(text), *modules(text)))
    if not lines:
        raise MachineError(f"kernel {kernel.name} does not show its functions; it needs CONFIG_KALLSYMS")
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=target.parent) as scratch:
        fresh = Path(scratch, target.name)
        fresh.write_text(lines, encoding="utf-8")
        move(fresh, target)


def read(kernel: StockKernel) -> str:
    """Return the text of /proc/kallsyms and /proc/modules in a guest of this kernel. Raises the errors of a guest."""
    with scratch_guest_folder() as folder:
        try:
            command = ["sh", "-c", "cat /proc/kallsyms /proc/modules > kallsyms || :"]  # a kernel may load none
            with Guest(kernel, folder, command, memory=MEMORY) as guest:
                guest.wait()
        except GuestError as error:
            raise error.quote() from None
        try:
            return foreign.read(folder / "kallsyms", _LONGEST).decode(errors="replace")
        except (OSError, foreign.Unfit):
            return ""


def require(function: str, table: Path, kernel: str) -> None:
    """Raise InputError if the `table` of this kernel does not have the function."""
    names = (line.rpartition(" ")[2] for line in table.read_text(encoding="utf-8").splitlines())
    known = {bare(name) for name in names if not name.startswith("[")}
    if function not in known:
        raise InputError(
            f"--function {function}: kernel {kernel} has no such function{suggestion(function, sorted(known))}; the "
            "compiler may have merged it into its caller"
        )


def functions(kallsyms: str) -> Iterator[tuple[int, str]]:
    """Yield the address and name of each function in a text like /proc/kallsyms, sorted by address.

    A module's function is named "MODULE:NAME". If an address has several names, the name is the one with the fewest
    underscores at its start, and the edge of a section only if no function begins there. The last function of a module,
    and of the kernel itself, ends with its page: the code after it is UNNAMED.
    """
    found: dict[int, str] = {}
    for address, name in _symbols(kallsyms.splitlines()):
        known = found.get(address)
        found[address] = name if known is None else min(known, name, key=_plainness)
    symbols = sorted(found.items())
    for (start, name), (following, other) in pairwise([*symbols, (1 << 64, "")]):
        yield start, name
        end = (start // _PAGE + 1) * _PAGE
        if _module(name) != _module(other) and end < following:
            yield end, UNNAMED


def modules(text: str) -> Iterator[tuple[int, str]]:
    """Yield the address and "[NAME]" of each module in a text like /proc/modules."""
    for match in filter(None, map(_LOADED.fullmatch, text.splitlines())):
        yield int(match[2], 16), f"[{match[1]}]"


def _symbols(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or match[2] not in _CODE or match[3].startswith(_PADDING) or not int(match[1], 16) >> 63:
            continue
        yield int(match[1], 16), f"{match[4]}:{match[3]}" if match[4] else match[3]


def _module(name: str) -> str:
    """Return the module of a function, or "" for the kernel itself. The end of all symbols is in no module."""
    return name.rpartition(":")[0] if name else "\0"


def _plainness(name: str) -> tuple[bool, int, int, str]:
    bare = name.rpartition(":")[2]
    return _EDGE.fullmatch(bare) is not None, len(bare) - len(bare.lstrip("_")), len(bare), name
