"""Show the window, queue and goodput of one trial while it runs: `lab watch`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("watch",),
    section="Claims",
    examples={"watch": ("lab watch tcp-bottleneck/window-plateau",)},
    functions=("watch",),
)
