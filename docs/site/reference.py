"""Write the reference of a module from its public names and their docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import get_origin

from lab.app.extension import functions
from lab.spec.prediction import Prediction

__all__ = ["names"]


def names(module: str) -> str:
    """Return what a module offers, in its order: the lines that make Sphinx read each docstring."""
    found = import_module(module)
    entries = (_entry(f"{module}.{name}", getattr(found, name)) for name in _public(found))
    return "\n```{eval-rst}\n" + "\n".join(entries) + "\n```\n"


def _public(module: ModuleType) -> Iterator[str]:
    """Yield `__all__`, of `lab` with what extensions offer; of a module that offers what it imports, that, without its
    own modules.
    """
    if hasattr(module, "__all__"):
        yield from module.__all__
        yield from functions() if module.__name__ == "lab" else ()
        return
    for name, value in vars(module).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            yield name


def _entry(path: str, value: object) -> str:
    match value:
        case Prediction():
            return _prediction(path, value)
        case type() if issubclass(value, BaseException):
            return f".. autoexception:: {path}\n"
        case type():
            return f".. autoclass:: {path}\n   :members:\n"
        case _ if inspect.isfunction(value):
            return f".. autofunction:: {path}\n"
    return f".. py:data:: {path}\n   :no-index:\n{_alias(value)}"


def _alias(value: object) -> str:
    """Say what a type's alias stands for, without modules; of a constant the name says enough."""
    if get_origin(value) is None:
        return ""
    meant = re.sub(r"\b[a-z_.]+\.(?=[A-Z])", "", repr(value))
    return f"   :value: {meant}\n"


def _prediction(path: str, prediction: Prediction) -> str:
    """Show a prediction like the function that it is called as, with what its figure rests on."""
    said = f"{prediction.kind}: {_plain(prediction.basis)}"
    if prediction.kind == "simulation":
        module = path.rpartition(".")[0]
        beside = f":func:`~{module}.{prediction.law.name}`" if prediction.law else f"none, {_plain(prediction.because)}"
        said += f"\n:Law: {beside}"
    text = f"{inspect.getdoc(prediction)}\n\n:Kind: {said}\n"
    return f".. py:function:: {path}(scenario)\n\n{textwrap.indent(text, '   ')}"


def _plain(text: str) -> str:
    """Escape what would be markup."""
    return re.sub(r"([\\*`|_])", r"\\\1", text)
