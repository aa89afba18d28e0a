"""Choose the programs for guests: a sealed userland, which is built if it is missing, or the host's own programs."""

from __future__ import annotations

from collections.abc import Sequence

from lab.errors import InputError
from lab.guest.clock import Place
from lab.machine.userland.cache import Userland
from lab.machine.userland.ready import ready

CHOICES = ("sealed", "host")
FOR_HANDS = ("sealed", "programs", "host")  # an experiment names `programs` itself; a session has no experiment


def chosen(name: str, on: Place, choices: Sequence[str] = CHOICES) -> Userland | None:
    """Return the userland `name` for guests that run `on`, or None for the host's own programs.

    Only guests with user-mode kernels can boot from a userland. Raises InputError for an unknown name, and MachineError
    if the userland cannot be built.
    """
    if name not in choices:
        raise InputError(f"--userland {name} is unknown; use {', '.join(choices[:-1])} or {choices[-1]}")
    if name == "host" or on != "uml":
        return None
    return ready("programs" if name == "programs" else "guest")
