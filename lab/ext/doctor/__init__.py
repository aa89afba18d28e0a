"""Check what works on this machine, and show how to fix the rest: `lab doctor`."""

from lab.app.extension import Extension

EXTENSION = Extension(commands=("doctor",), section="Start", examples={"doctor": ("lab doctor",)})
