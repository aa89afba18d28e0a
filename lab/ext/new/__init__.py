"""Write an experiment as a starting point: `lab new`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("new",),
    section="Start",
    examples={"new": ("lab new mine/first", "lab new mine/two-flows --template flows", "lab new mine/rtts --study")},
)
