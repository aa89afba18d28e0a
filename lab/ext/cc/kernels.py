"""Find the congestion controls that a kernel has."""

from __future__ import annotations

import re

from lab.machine.kernel import UmlKernel

_OPTION = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}  # elsewhere the option is the name


def controls(kernel: UmlKernel) -> tuple[str, ...]:
    """Return the congestion controls that the kernel was built with, sorted. Every kernel has reno."""
    options = (found for found in _OPTION.findall(kernel.configuration) if found != "ADVANCED")
    return tuple(sorted({"reno", *(_NAMES.get(option, option.lower()) for option in options)}))
