"""Versions of kernels, as packages write them: "7.2.13-1"."""

from __future__ import annotations

import re

__all__ = ["order", "series"]


def series(version: str) -> str:
    """The X.Y that it starts with, or '' when it starts with none."""
    found = re.match(r"\d+\.\d+", version)
    return found.group() if found else ""


def order(version: str) -> tuple[int, ...]:
    """What sorts versions: their numbers, so that 6.12 comes after 6.9."""
    return tuple(int(number) for number in re.findall(r"\d+", version))
