"""Make Mininet importable. Debian installs it for the system's Python, where a virtual environment does not look."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

__all__ = ["make_importable"]

DEBIAN = ["/usr/lib/python3/dist-packages"]


class _Finder(MetaPathFinder):
    """Finds Mininet, and no other module, among Debian's Python packages."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        return PathFinder.find_spec(fullname, DEBIAN) if fullname == "mininet" else None


def make_importable() -> None:
    """Let `import mininet` find Debian's package, unless the environment already has Mininet."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
