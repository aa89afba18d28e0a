"""Send calls to a cluster whose scheduler and workers may lack this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["errand"]


def errand(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function` where Dask takes it.

    A function of a module is sent as its name, and a scheduler or a worker that cannot import it dies of that. One made
    inside another is sent as it is: a worker without the module then answers with an ordinary ImportError.
    """
    module, name = function.__module__, function.__name__

    def call(*arguments: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(*arguments)

    return call
