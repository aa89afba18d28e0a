"""Complete names at a shell prompt (`lab --install-completion`).

The module searches for files, but does not load them.
"""

from __future__ import annotations

from collections.abc import Iterable


def claims(incomplete: str) -> list[str]:
    """Return the articles, packs and claims that start with `incomplete`."""
    from lab.spec import find, shipped

    known = find.experiments()
    return _starting(incomplete, dict.fromkeys([*(claim.split("/")[0] for claim in known), *shipped.packs(), *known]))


def topologies(incomplete: str) -> list[str]:
    """Return the topologies that start with `incomplete`."""
    from lab.spec import find

    return _starting(incomplete, find.topologies())


def kernels(incomplete: str) -> list[str]:
    """Return the names of local kernels that start with `incomplete`."""
    from lab.machine.kernel import installed_kernels

    return _starting(incomplete, dict.fromkeys(kernel.name for kernel in installed_kernels()))


def _starting(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]
