"""Complete names at a shell's prompt: `lab --install-completion` asks for it. Nothing is loaded, only looked for."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["claims", "kernels", "topologies"]


def claims(incomplete: str) -> list[str]:
    """Return the articles, packs and claims that start so."""
    from lab import shipped
    from lab.spec import find

    known = find.experiments()
    return _starting(incomplete, dict.fromkeys([*(claim.split("/")[0] for claim in known), *shipped.packs(), *known]))


def topologies(incomplete: str) -> list[str]:
    """Return the topologies that start so."""
    from lab.spec import find

    return _starting(incomplete, find.topologies())


def kernels(incomplete: str) -> list[str]:
    """Return the names of the kernels here that start so."""
    from lab.kernel import installed_kernels

    return _starting(incomplete, dict.fromkeys(kernel.name for kernel in installed_kernels()))


def _starting(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]
