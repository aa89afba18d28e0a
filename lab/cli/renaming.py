"""Accept old command names for one more release, and print a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.cli import printing

OLD_NAMES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("plan",): ("cluster", "plan"),
    ("merge",): ("cluster", "merge"),
    ("push",): ("cluster", "push"),
    ("clean",): ("store", "clean"),
    ("baseline", "save"): ("kernel", "baseline"),
}


def renamed(arguments: Sequence[str]) -> list[str]:
    """Return the command line with the command's current name. If the user typed an old name, print a hint."""
    for old, new in OLD_NAMES.items():
        if tuple(arguments[: len(old)]) == old:
            printing.say(
                f"lab: `lab {' '.join(old)}` is now `lab {' '.join(new)}`; the next release drops the old name"
            )
            return [*new, *arguments[len(old) :]]
    return list(arguments)
