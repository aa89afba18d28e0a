"""Read kernel versions as packages write them: "7.2.13-1"."""

from __future__ import annotations

import re

__all__ = ["order", "series"]


def series(version: str) -> str:
    """Return the X.Y that a version starts with, or '' when it starts with none."""
    found = re.match(r"\d+\.\d+", version)
    return found.group() if found else ""


def order(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, as a sort key: 6.12 comes after 6.9."""
    return tuple(int(number) for number in re.findall(r"\d+", version))
