"""Build each kernel under test once, cache it, and boot one guest per trial.

    kernel = build()                       # the newest; from the cache if it is there
    result = boot(kernel, folder, ["sh", "-c", "ip link"], seed=1)

Names are loaded on first use, so `import lab.machine.kernel` takes almost no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.machine.kernel.base import HOST_MEMORY, Kernel, KernelMissing, Start, folder
    from lab.machine.kernel.choice import choose, installed_kernels
    from lab.machine.kernel.guest import (
        SCRATCH_PREFIX,
        Budget,
        Guest,
        GuestCrash,
        GuestDeadlock,
        GuestDisk,
        GuestEnded,
        GuestError,
        GuestHost,
        GuestLivelock,
        GuestMemory,
        GuestResult,
        GuestTimeout,
        boot,
        scratch_guest_folder,
    )
    from lab.machine.kernel.uml.builder import MissingTool, build, revision
    from lab.machine.kernel.uml.cache import UmlKernel, find, installed
    from lab.machine.kernel.uml.checkout import Checkout
    from lab.machine.kernel.uml.compiling import BuildFailed

__all__ = [
    "HOST_MEMORY",
    "SCRATCH_PREFIX",
    "Budget",
    "BuildFailed",
    "Checkout",
    "Guest",
    "GuestCrash",
    "GuestDeadlock",
    "GuestDisk",
    "GuestEnded",
    "GuestError",
    "GuestHost",
    "GuestLivelock",
    "GuestMemory",
    "GuestResult",
    "GuestTimeout",
    "Kernel",
    "KernelMissing",
    "MissingTool",
    "Start",
    "UmlKernel",
    "boot",
    "build",
    "choose",
    "find",
    "folder",
    "installed",
    "installed_kernels",
    "revision",
    "scratch_guest_folder",
]


_HOMES = ("base", "choice", "guest", "uml.cache", "uml.builder", "uml.checkout")


def __getattr__(name: str) -> Any:
    for home in _HOMES if name in __all__ else ():
        module = import_module(f"lab.machine.kernel.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module 'lab.machine.kernel' has no attribute '{name}'")
