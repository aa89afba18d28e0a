"""Read kernel versions as packages write them, "7.2.13-1", and as a tree's Makefile does."""

from __future__ import annotations

import re

__all__ = ["of_makefile", "order", "series"]


def series(version: str) -> str:
    """Return the X.Y that a version starts with, or '' when it starts with none."""
    found = re.match(r"\d+\.\d+", version)
    return found.group() if found else ""


def order(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, as a sort key: 6.12 comes after 6.9, and 7.3 after 7.3~rc7."""
    return tuple(-1 if part == "~" else int(part) for part in re.findall(r"\d+|~", version))


def of_makefile(text: str) -> str:
    """Return the version in the Makefile of a kernel tree, "7.2.13"; '' when it says none."""
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    numbers = [parts.get(part) for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return "" if None in numbers else ".".join(map(str, numbers))
