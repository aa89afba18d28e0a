"""Send calls to a cluster whose scheduler and workers may not have this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def errand(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function` wherever Dask takes it.

    Dask sends a function of a module as its name, and a scheduler or a worker that cannot import it dies. It sends a
    function made inside another function as it is. A worker without the module then answers with an ordinary
    ImportError.
    """
    module, name = function.__module__, function.__name__

    def call(*arguments: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(*arguments)

    return call
