"""Give userlands to those who run trials: what makes them is imported where one has to be made."""

from __future__ import annotations

from lab.userland import cache
from lab.userland.cache import Userland, UserlandMissing
from lab.userland.lock import Name

__all__ = ["ready"]


def ready(name: Name) -> Userland:
    """Return the userland of this name, made now if it is not here, which standard error shows.

    Raises what `lab.userland.builder.build` raises.
    """
    try:
        return cache.find(name)
    except UserlandMissing:
        from lab.building import shown
        from lab.userland.builder import build

        with shown() as progress:
            return build(name, progress)
