"""Find the kernel to judge on, and the congestion controls that it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.machine.kernel import UmlKernel
from lab.machine.kernel.uml import relinking
from lab.spec.errors import Problem, SpecError, display

_OPTION = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}  # elsewhere the option is the name
_ROOM = 16  # bytes of a name in the kernel, with a zero at the end: TCP_CA_NAME_MAX
_VALID = re.compile(rf"[A-Za-z0-9][\w.-]{{0,{_ROOM - 2}}}", re.ASCII)
_TEXT_OR_COMMENT = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\\n])*\1?|//[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)
_OPERATIONS = re.compile(r"\bstruct\s+tcp_congestion_ops\s+\w+[^;={]*=\s*\{")
_NAME = re.compile(r'\.name\s*=\s*"([^"\n]*)"')
_OTHER_FILES = {"reno": "tcp_cong.c"}  # elsewhere the file has the name


def controls(kernel: UmlKernel, wanted: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the congestion controls that the kernel was built with, sorted. Every kernel has reno.

    A kernel from a tree or with patches may have others, which no option names. Of these, return the `wanted` ones
    whose names are in the kernel's program.
    """
    options = (found for found in _OPTION.findall(kernel.configuration) if found != "ADVANCED")
    found = {"reno", *(_NAMES.get(option, option.lower()) for option in options)}
    others = [name for name in wanted if name not in found and _VALID.fullmatch(name)]
    if others and (kernel.patches or kernel.tree):
        program = kernel.path.read_bytes()
        found.update(name for name in others if name.encode().ljust(_ROOM, b"\0") in program)
    return tuple(sorted(found))


def control_in(file: Path, plain: UmlKernel) -> str:
    """Return the name of the congestion control in a C file that will be built into the kernel `plain`.

    If the file registers several, return the one in the file's name, otherwise the first. Raises InputError if the file
    is unreadable, and SpecError if it registers none, or one that another file of the kernel registers.
    """
    text = _TEXT_OR_COMMENT.sub(_without_comment, relinking.read([file])[file].decode(errors="replace"))
    lines = dict(_registered(text))
    if not lines:
        message = 'it registers no congestion control; add .name = "..." to its struct tcp_congestion_ops'
        raise SpecError([Problem(display(file), 1, message)])
    own = file.stem.removeprefix("tcp_")
    name = own if own in lines else next(iter(lines))
    if not _VALID.fullmatch(name):
        message = f"'{name}' is no name for a congestion control; use at most {_ROOM - 1} letters, digits, '_' and '-'"
        raise SpecError([Problem(display(file), lines[name], message)])
    before = _OTHER_FILES.get(name, f"tcp_{name}.c")
    if file.name != before and name in controls(plain):
        message = f"the kernel's {before} already registers '{name}'; give your file that name, or change .name"
        raise SpecError([Problem(display(file), lines[name], message)])
    return name


def _without_comment(found: re.Match[str]) -> str:
    """Return a text as it is, and only the line ends of a comment."""
    return found[0] if found[1] else "\n" * found[0].count("\n") or " "


def _registered(text: str) -> Iterator[tuple[str, int]]:
    """Yield the name of each struct tcp_congestion_ops, with its line."""
    at = line = 0
    while found := _OPERATIONS.search(text, at):
        end = text.find("};", found.end())
        if end < 0:
            return
        if name := _NAME.search(text, found.end(), end):
            line += text.count("\n", at, name.start())
            yield name[1], line + 1
            line += text.count("\n", name.start(), end)
        else:
            line += text.count("\n", at, end)
        at = end
