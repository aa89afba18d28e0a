"""Read kernel versions from packages ("7.2.13-1") and from a tree's Makefile."""

from __future__ import annotations

import re


def series(version: str) -> str:
    """Return the X.Y at the start of a version, or '' if the version has no X.Y."""
    found = re.match(r"\d+\.\d+", version)
    return found.group() if found else ""


def order(version: str) -> tuple[int, ...]:
    """Return the numbers of a version as a sort key: 6.12 comes after 6.9, and 7.3 after 7.3~rc7."""
    return tuple(-1 if part == "~" else int(part) for part in re.findall(r"\d+|~", version))


def of_makefile(text: str) -> str:
    """Return the version in the Makefile of a kernel tree, such as "7.2.13", or ''."""
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    numbers = [parts.get(part) for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return "" if None in numbers else ".".join(map(str, numbers))
