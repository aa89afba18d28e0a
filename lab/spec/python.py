"""A user's Python file, run: what it raises is a mistake in it, with its line."""

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
    """The module that `source` is. Compiled here: what is hashed is what runs, and no bytecode is left beside it.

    Raises SpecError.
    """
    make_importable()
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    with blamed(path):
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Whatever is raised within this context is a SpecError, at the line of `path` that led to it."""
    try:
        yield
    except SyntaxError as error:
        raise SpecError([Problem(display(path), error.lineno or 1, f"not Python: {error.msg}")]) from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
        message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise SpecError([Problem(display(path), line or 1, message)]) from error
