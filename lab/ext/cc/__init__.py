"""Judge a congestion control with the questions of RFC 9743, on the real stack: `lab cc`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("cc",),
    section="Kernels",
    examples={
        "cc": (
            "lab cc cubic --quick",
            "lab cc tcp_cubic.c --quick",
            "lab cc bbr --against cubic,reno -o bbr.html",
            "lab cc cubic --tree ~/linux --quick --json",
        )
    },
    functions=("cc",),
)
