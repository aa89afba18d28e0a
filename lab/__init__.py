"""Run a network lab whose results anyone can reproduce to the byte.

This package is the interface for notebooks and experiments. Experiments import the names that they use from here (`from
lab import Arm, Bulk, Experiment, metric`). Notebooks use the package's functions (`lab.run`), including the functions
of extensions (`lab.bundle`). Names are imported on first use, because guests import this package when a trial starts.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.app.language import *  # noqa: F403 # the one list of these names
    from lab.app.runs import run, run_kernels, run_seeds
    from lab.app.stored import article, articles, capture, follow, load

__all__ = [
    "article",
    "articles",
    "capture",
    "follow",
    "load",
    "run",
    "run_kernels",
    "run_seeds",
]


@cache
def _is_room(name: str) -> bool:
    """Return whether the name is a room's, which Python imports. An experiment asks for twenty names, each twice."""
    return find_spec(f"lab.{name}") is not None


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and not _is_room(name):
        for module in map(import_module, ("lab.app", "lab.app.language")):
            if name in module.__all__:
                return getattr(module, name)
        offered = import_module("lab.app.extension").function(name)
        if offered:
            return offered
    raise AttributeError(f"module 'lab' has no attribute '{name}'", name=name, obj=sys.modules["lab"])


def __dir__() -> list[str]:
    offered = import_module("lab.app.extension").functions()
    return [*__all__, *offered, *import_module("lab.app.language").__all__, "metric", "model"]
