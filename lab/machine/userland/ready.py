"""Give userlands to trials. The code that builds them is imported only if one must be made."""

from __future__ import annotations

from lab.machine.userland import cache
from lab.machine.userland.cache import Userland, UserlandMissing
from lab.machine.userland.lock import Name


def ready(name: Name) -> Userland:
    """Return the userland of this name. If it is not here, it is made now, with progress on standard error.

    Raises the errors of `lab.machine.userland.builder.build`.
    """
    try:
        return cache.find(name)
    except UserlandMissing:
        from lab.base.building import shown
        from lab.machine.userland.builder import build

        with shown() as progress:
            return build(name, progress)
