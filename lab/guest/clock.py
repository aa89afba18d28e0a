"""Define a trial's clock and the kind of its machine. Guests import this module, so its imports must stay light."""

from __future__ import annotations

from typing import Literal, get_args

from lab.errors import InputError

__all__ = ["CLOCKS", "PLACES", "Clock", "Place", "clock_of", "cpu_takes_time"]

Clock = Literal["virtual", "real"]
Place = Literal["uml", "host", "vm"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
PLACES: tuple[Place, ...] = get_args(Place)


def clock_of(text: str) -> Clock:
    """Return the clock named on the command line. Raises InputError if there is no such clock."""
    for clock in CLOCKS:
        if clock == text:
            return clock
    raise InputError(f"--clock {text}: it is {' or '.join(CLOCKS)}")


def cpu_takes_time(on: Place, clock: Clock) -> bool:
    """Return whether computing takes time on the trial's clock.

    On a user-mode kernel in virtual time, only waiting does.
    """
    return (on, clock) != ("uml", "virtual")
