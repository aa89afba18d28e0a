"""Draw a topology, or bring it up for interactive commands: `lab graph`, `lab shell`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("graph", "shell"),
    section="Networks",
    examples={
        "graph": ("lab graph shared-bottleneck -o shared-bottleneck.svg",),
        "shell": ("lab shell shared-bottleneck rival", "lab shell lossy -c 'ping -c 600 receiver' --clock virtual"),
    },
)
