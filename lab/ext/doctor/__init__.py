"""Check the lab's features on this machine, and show how to fix the ones that fail: `lab doctor`."""

from lab.ext import Extension

EXTENSION = Extension(commands=("doctor",), section="Start", examples={"doctor": ("lab doctor",)})
