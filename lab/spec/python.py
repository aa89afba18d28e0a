"""Run a user's Python file; whatever it raises is a mistake in it, reported with its line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from lab.spec.errors import Problem, SpecError, display
from lab.spec.mininet import make_importable

__all__ = ["blamed", "run"]


def run(source: bytes, path: Path) -> ModuleType:
    """Run `source` and return its module. Compiling it here runs what is hashed, and leaves no bytecode next to it.

    Raises SpecError for whatever it raises.
    """
    make_importable()
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    with blamed(path):
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Turn whatever is raised within this context into a SpecError, at the line of `path` that led to it."""
    try:
        yield
    except SyntaxError as error:
        raise SpecError([Problem(display(path), error.lineno or 1, f"not Python: {error.msg}")]) from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
        message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise SpecError([Problem(display(path), line or 1, message)]) from error
