"""Run commands on a network whose hosts have different kernels, in virtual time: `lab mixed`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("mixed",),
    section="Networks",
    examples={"mixed": ("lab mixed two-hosts --kernel receiver=6.12 --run 'sender: ping receiver'",)},
)
