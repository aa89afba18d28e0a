"""Describe the failure of an experiment's own function, with its line in the file."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def told(what: str, function: Callable[..., Any], error: BaseException) -> str:
    """Return 'metric failed at dsl.py:17: KeyError: ...'. `what` names the function.

    The line number refers to the function's own file.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return f"{what} failed: {type(error).__name__}: {error}"
    frames = list(traceback.walk_tb(error.__traceback__))
    begins = [frame.f_code for frame, _ in frames]
    inside = frames[begins.index(code) :] if code in begins else []
    lines = [line for frame, line in inside if frame.f_code.co_filename == code.co_filename]
    at = f"{Path(code.co_filename).name}:{[code.co_firstlineno, *lines][-1]}"
    return f"{what} failed at {at}: {type(error).__name__}: {error}"
