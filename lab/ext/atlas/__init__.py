"""Write pages about changes in TCP from one kernel to the next: `lab atlas`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("atlas",),
    section="Kernels",
    examples={"atlas": ("lab atlas atlas/ --kernel 6.1,6.12,7.2",)},
    functions=("atlas",),
)
