"""Make Mininet importable: Debian keeps it with the system's Python, out of a virtual environment's sight."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

__all__ = ["make_importable"]

DEBIAN = ["/usr/lib/python3/dist-packages"]


class _Finder(MetaPathFinder):
    """Finds Mininet among Debian's packages, and nothing else."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        return PathFinder.find_spec(fullname, DEBIAN) if fullname == "mininet" else None


def make_importable() -> None:
    """Let `import mininet` find Debian's package from now on, where the environment has none of its own."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
