"""Implement the lab's use cases, one function each, for the command line and for notebooks (`import lab`).

Slow imports belong in the function that needs them, so that commands start quickly.
"""

from __future__ import annotations

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
