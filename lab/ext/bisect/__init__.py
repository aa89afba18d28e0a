"""Find the commit in a kernel's git tree that changed a claim's result: `lab bisect`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("bisect",),
    section="Kernels",
    examples={"bisect": ("lab bisect --tree ~/linux --good v7.1 --bad v7.2 tcp-nodelay/piggyback",)},
    functions=("bisect",),
)
