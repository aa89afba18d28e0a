"""Find the kernel to judge on, and the congestion controls that it has."""

from __future__ import annotations

import re
from pathlib import Path

from lab.base import foreign
from lab.errors import InputError
from lab.machine.kernel import UmlKernel
from lab.spec.errors import Problem, SpecError, display, no_file

_OPTION = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}  # elsewhere the option is the name
_NAME = re.compile(r'\.name\s*=\s*"([a-z0-9_]{1,15})"')  # TCP_CA_NAME_MAX is 16
_LONGEST = 1 << 20  # bytes of a source file; the kernel's longest congestion control has 40 kB


def controls(kernel: UmlKernel) -> tuple[str, ...]:
    """Return the congestion controls that the kernel was built with, sorted. Every kernel has reno."""
    options = (found for found in _OPTION.findall(kernel.configuration) if found != "ADVANCED")
    return tuple(sorted({"reno", *(_NAMES.get(option, option.lower()) for option in options)}))


def control_in(file: Path) -> str:
    """Return the name of the congestion control in a C file.

    If the file names several, return the one in the file's name, otherwise the first. Raises InputError if the file
    is unreadable, and SpecError if it names none.
    """
    try:
        text = foreign.read(file.resolve(), _LONGEST).decode(errors="replace")
    except (OSError, foreign.Unfit) as error:
        told = no_file(file) if isinstance(error, OSError) else f"{file}: {error}; name a C file"
        raise InputError(told) from None
    names = _NAME.findall(text)
    if not names:
        message = 'it registers no congestion control; add .name = "..." to its struct tcp_congestion_ops'
        raise SpecError([Problem(display(file), 1, message)])
    own = file.stem.removeprefix("tcp_")
    return own if own in names else str(names[0])
