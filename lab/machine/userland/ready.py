"""Provide userlands for trials. The code that builds them is imported only if a userland is missing."""

from __future__ import annotations

from lab.machine.userland import cache
from lab.machine.userland.cache import Userland, UserlandMissing
from lab.machine.userland.lock import Name


def ready(name: Name) -> Userland:
    """Return the userland with this name. If the userland is missing, build it, with progress on standard error.

    Raises the errors of `lab.machine.userland.builder.build`.
    """
    try:
        return cache.find(name)
    except UserlandMissing:
        from lab.base.building import shown
        from lab.machine.userland.builder import build

        with shown() as progress:
            return build(name, progress)
