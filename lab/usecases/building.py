"""Build the kernel that claims need first, and say when to expect a verdict of theirs."""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import partial

from lab.building import Silent, alone, aside, shown
from lab.errors import InputError
from lab.kernel import UmlKernel, folder
from lab.kernel.uml import builder, pace, source
from lab.kernel.uml.cache import series
from lab.userland import builder as userland
from lab.userland import cache as userlands
from lab.userland.lock import Name

__all__ = ["ready"]

USERLAND = 35.0  # seconds to fetch, unpack and check one
SOURCE = 30.0  # to find, fetch and unpack a kernel's
TRIALS = 20.0  # of a first claim


def ready(name: str | None, sealed: bool = True) -> UmlKernel:
    """Return the plain kernel of the series `name` (None: the newest), built now if it is missing.

    What has to come over the network comes beside what this machine does: the source is looked for and fetched while
    the compiler is made, and, for `sealed` trials, the userland of guests is made from then on.
    Says first when to expect a verdict. Raises what a build raises, and InputError when `name` is no series.
    """
    if name is not None and name != series(name):
        raise InputError(f"--build makes the kernel of a series, as 7.2, and its variants: not '{name}'")
    with shown() as progress:
        progress.remark(f"first verdict in about {_minutes(_seconds(name))}")
        if builder.built(name) is not None:
            return builder.build(name, progress=progress)
        if source.remembered(folder(), name) is None:
            userland.build("keyring", progress)  # one userland is made at a time: not behind the compiler
        with ExitStack() as beside:
            with aside(partial(_fetch, name)) as fetching:
                userland.build("compiler", progress)
                if sealed:
                    beside.enter_context(aside(partial(userland.build, "guest", Silent())))
                if fetching.is_alive():
                    progress.say("fetching the kernel's source")
            return builder.build(name, progress=progress)


def _fetch(name: str | None) -> None:
    """Look for the source of a series, and put its file into the cache."""
    found = source.resolve(folder(), name, False, Silent())
    with alone(folder(), Silent()):
        source.fetch(folder(), found, Silent())


def _seconds(name: str | None) -> float:
    """Estimate the time until the first claim is judged."""
    seconds = TRIALS + (0 if _here("guest") else USERLAND)
    if builder.built(name) is None:
        seconds += pace.expected(folder(), name or "").seconds + SOURCE + (0 if _here("compiler") else USERLAND)
    return seconds


def _here(name: Name) -> bool:
    try:
        userlands.find(name)
    except userlands.UserlandMissing:
        return False
    return True


def _minutes(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
