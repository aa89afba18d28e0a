"""Show a claim in the terminal, from the records in a store: `lab show`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("show",),
    section="Claims",
    examples={
        "show": (
            "lab show tcp-bottleneck/window-plateau",
            "lab show tcp-bottleneck/window-plateau --capture",
            "lab show mininet/bufferbloat",
        ),
    },
)
