"""Name a metric as an experiment does: by the function that made it, and the plain values that it was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["looked_through", "named"]

_PLAIN = (bool, int, float, str, type(None))


def named(metric: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the function that made the metric, and what it was given: ('drops', {'link': 'path', ...}).

    A helper that several such functions share is no name: the function that was handed to it is.
    """
    given = inspect.getclosurevars(metric).nonlocals
    name = _maker(metric)
    values = {key: value for key, value in given.items() if isinstance(value, _PLAIN)}
    for value in given.values():
        if inspect.isfunction(value):
            inner, more = named(value)
            name = inner if name.startswith("_") else name
            values = {**more, **values}
    return name, dict(sorted(values.items()))


def looked_through(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Return the metric that this one applies to a part of a record, as `of_flow` does; else itself."""
    inner = inspect.getclosurevars(metric).nonlocals.get("metric")
    return looked_through(inner) if inspect.isfunction(inner) else metric


def _maker(metric: Callable[..., Any]) -> str:
    name: str = getattr(metric, "__qualname__", type(metric).__name__)
    return name.split(".")[0]
