"""Run a network lab whose results anyone can reproduce to the byte. `import lab` is the interface of notebooks.

Nothing is imported before it is asked for: guests import this package too, and a trial starts with that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.api import (
        article,
        articles,
        atlas,
        bisect,
        bundle,
        capture,
        collect,
        compare,
        exercise,
        follow,
        fsck,
        grade,
        load,
        merge,
        pack,
        plan,
        push,
        regress,
        run,
        run_kernels,
        run_seeds,
        run_shard,
        save_baseline,
        unpack,
        usage,
        verify,
        watch,
    )

__all__ = [
    "article",
    "articles",
    "atlas",
    "bisect",
    "bundle",
    "capture",
    "collect",
    "compare",
    "exercise",
    "follow",
    "fsck",
    "grade",
    "load",
    "merge",
    "pack",
    "plan",
    "push",
    "regress",
    "run",
    "run_kernels",
    "run_seeds",
    "run_shard",
    "save_baseline",
    "unpack",
    "usage",
    "verify",
    "watch",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'lab' has no attribute '{name}'")
    from lab import api

    return getattr(api, name)
