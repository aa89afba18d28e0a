"""Build packetdrill, run its scripts, and judge them: `lab packetdrill`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("packetdrill",),
    group="packetdrill",
    section="Kernels",
    examples={
        "packetdrill build": ("lab packetdrill build",),
        "packetdrill run": ("lab packetdrill run 'tcp_sack_*'", "lab packetdrill run --kernel 7.2-mine --base 7.2"),
    },
    hooks={"run of packetdrill": "recorded:described"},
)
