"""Send calls to a cluster whose scheduler and workers may not have this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def errand(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function` wherever Dask runs it.

    Dask sends a module-level function as a name, which crashes a scheduler or a worker that cannot import the module.
    Dask sends a nested function by value, so a worker without the module answers with an ordinary ImportError.
    """
    module, name = function.__module__, function.__name__

    def call(*arguments: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(*arguments)

    return call
