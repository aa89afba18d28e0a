"""Separate the emulator's cost from the kernel's cost, since a real-time figure includes both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.guest.trial import Trial


def difference(base: Trial, new: Trial) -> str:
    """Return the reason why the real-time figures of two trials cannot be compared, or "" if they can.

    The figures can be compared if both trials ran in the same place with the same emulator: with the same method to run
    processes, the same tick rate, and the same changes by the lab itself. The user's own changes to a kernel are under
    test.
    """
    if base.kernel.get("id") == new.kernel.get("id"):
        return ""
    if base.on != new.on:
        return f"one side ran on {base.on}, the other on {new.on}"
    return "; ".join(_differences(base.kernel, new.kernel)) if base.on == "uml" else ""


def _differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    how_then, how_now = base.get("emulation"), new.get("emulation")
    if not how_then or not how_now:
        yield "a record does not show how its kernel ran processes; run the claim again"
        return
    names = base.get("name"), new.get("name")
    then, now = how_then["processes"], how_now["processes"]
    if then != now:
        yield f"{names[0]} runs processes with {then}, {names[1]} with {now}"
    if base.get("hz") != new.get("hz"):
        yield f"{names[0]} has {base.get('hz')} ticks a second, {names[1]} {new.get('hz')}"
    own, others = set(how_then["changes"]), set(how_now["changes"])
    for name, only in zip(names, (own - others, others - own), strict=True):
        if only:
            yield f"only {name} has the lab's {', '.join(sorted(only))}"
