"""Accept old names of commands: they work for one more release, with a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.cli import output

OLD_NAMES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("plan",): ("cluster", "plan"),
    ("merge",): ("cluster", "merge"),
    ("push",): ("cluster", "push"),
    ("clean",): ("store", "clean"),
    ("export",): ("store", "export"),
    ("baseline", "save"): ("kernel", "baseline"),
}


def renamed(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the present name of its command. Print a hint if it has an old name."""
    for old, new in OLD_NAMES.items():
        if tuple(arguments[: len(old)]) == old:
            output.say(f"lab: `lab {' '.join(old)}` is now `lab {' '.join(new)}`; the next release drops the old name")
            return [*new, *arguments[len(old) :]]
    return list(arguments)
