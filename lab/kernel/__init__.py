"""Kernels under test: built once, kept, and booted one guest a trial.

    kernel = build()                       # the newest; from the cache when it is there
    result = boot(kernel, folder, ["sh", "-c", "ip link"], seed=1)

Names are loaded when they are first used: `import lab.kernel` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.kernel.base import Clock, Ground, Start, choose, grounds
    from lab.kernel.guest import (
        TRYING,
        Budget,
        Guest,
        GuestCrash,
        GuestDisk,
        GuestEnded,
        GuestError,
        GuestLivelock,
        GuestMemory,
        GuestResult,
        GuestTimeout,
        boot,
        trying,
    )
    from lab.kernel.uml.builder import BuildFailed, MissingTool, Progress, build, revision
    from lab.kernel.uml.cache import Kernel, KernelMissing, find, folder, installed
    from lab.kernel.uml.checkout import Checkout
    from lab.kernel.uml.progress import shown

__all__ = [
    "TRYING",
    "Budget",
    "BuildFailed",
    "Checkout",
    "Clock",
    "Ground",
    "Guest",
    "GuestCrash",
    "GuestDisk",
    "GuestEnded",
    "GuestError",
    "GuestLivelock",
    "GuestMemory",
    "GuestResult",
    "GuestTimeout",
    "Kernel",
    "KernelMissing",
    "MissingTool",
    "Progress",
    "Start",
    "boot",
    "build",
    "choose",
    "find",
    "folder",
    "grounds",
    "installed",
    "revision",
    "shown",
    "trying",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("base", "guest", "uml.cache", "uml.builder", "uml.checkout", "uml.progress"):
            loaded = import_module(f"lab.kernel.{module}")
            if name in loaded.__all__:
                return getattr(loaded, name)
    raise AttributeError(f"module 'lab.kernel' has no attribute '{name}'")
