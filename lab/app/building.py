"""Build the kernel that claims need before they can run, and estimate the time to the first verdict."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from functools import partial

from lab.base.building import Silent, alone, aside, shown
from lab.errors import InputError
from lab.machine.kernel import UmlKernel, folder
from lab.machine.kernel.uml import builder, source
from lab.machine.kernel.uml.cache import series
from lab.machine.kernel.uml.compiling import CPU_SECONDS
from lab.machine.userland import builder as userland
from lab.machine.userland import cache as userlands
from lab.machine.userland.lock import Name

USERLAND = 35.0  # seconds to fetch, unpack and check a userland
SOURCE = 30.0  # seconds to find, fetch and unpack a kernel's source
TRIALS = 20.0  # seconds for a first claim


def ready(name: str | None, sealed: bool = True) -> UmlKernel:
    """Return the plain kernel of the series `name` (None: the newest). Build it if it is missing.

    First print an estimate of the time to the first verdict. Downloads run in parallel with other work: the lab finds
    and fetches the source while it builds the compiler. For `sealed` trials, the lab then builds the guest userland.
    Raises build errors, and InputError if `name` is not a series.
    """
    if name is not None and name != series(name):
        raise InputError(f"--build makes the kernel of a series, like 7.2, and its variants: '{name}' is not a series")
    with shown() as progress:
        progress.remark(f"first verdict in about {minutes(_seconds(name))}")
        if builder.built(name) is not None:
            return builder.build(name, progress=progress)
        if source.remembered(folder(), name) is None:
            userland.build("keyring", progress)  # one userland is made at a time: make this one before the compiler
        with ExitStack() as beside:
            with aside(partial(_fetch, name)) as fetching:
                userland.build("compiler", progress)
                if sealed:
                    beside.enter_context(aside(partial(userland.build, "guest", Silent())))
                if fetching.is_alive():
                    progress.say("fetching the kernel's source")
            return builder.build(name, progress=progress)


def _fetch(name: str | None) -> None:
    """Find the source of a series, and store it in the cache."""
    found = source.resolve(folder(), name, False, Silent())
    with alone(folder(), Silent()):
        source.fetch(folder(), found, Silent())


def _seconds(name: str | None) -> float:
    """Return the estimated seconds until the first verdict."""
    seconds = TRIALS + (0 if _here("guest") else USERLAND)
    if builder.built(name) is None:
        seconds += CPU_SECONDS / len(os.sched_getaffinity(0)) + SOURCE + (0 if _here("compiler") else USERLAND)
    return seconds


def _here(name: Name) -> bool:
    try:
        userlands.find(name)
    except userlands.UserlandMissing:
        return False
    return True


def minutes(seconds: float) -> str:
    """Return the seconds as rounded-up minutes in words: "3 minutes"."""
    count = math.ceil(seconds / 60)
    return "a minute" if count == 1 else f"{count} minutes"
