"""Choose whose programs trials run: those of the sealed userland, made here when it is missing, or the host's own."""

from __future__ import annotations

from lab.errors import InputError
from lab.spec.clock import Place
from lab.userland.cache import Userland
from lab.userland.ready import ready

__all__ = ["CHOICES", "chosen"]

CHOICES = ("sealed", "host")


def chosen(name: str, on: Place) -> Userland | None:
    """Return the userland that is called `name` for trials that run `on`; None: the host's own programs.

    Only guests of user-mode kernels have files of their own. Raises InputError for another name, MachineError when the
    userland cannot be made.
    """
    if name not in CHOICES:
        raise InputError(f"--userland {name}: it is {' or '.join(CHOICES)}")
    if name == "host" or on != "uml":
        return None
    return ready("guest")
