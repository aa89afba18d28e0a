"""Count the instructions that a kernel needs for a claim's trials, by function: `lab cost`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("cost",),
    section="Kernels",
    examples={
        "cost": (
            "lab cost tcp-nodelay/cork --kernel 7.2",
            "lab cost tcp-nodelay/cork --kernel 6.1,6.12,7.2 -o cost.html",
            "lab cost tcp-nodelay/cork --kernel 7.2,./bzImage --function tcp_ack",
        )
    },
    functions=("cost",),
)
