"""Each Python of a script's guest runs this file when it starts: `inside.py` makes it the package `usercustomize`.

There is one such package, because Python imports a single `usercustomize`. `reporter.py` is in it, where it cannot hide
a module of the script.

Without input, standard input is at its end. Mininet's command line watches standard input while a host's command runs.
/dev/null is always readable, so that Mininet would never wait, and virtual time would only pass because Mininet spins.
"""

import io
import os
import sys

from . import reporter  # noqa: F401


class NoInput(io.StringIO):
    """Is at its end, and never looks readable to `poll`."""

    def __init__(self) -> None:
        super().__init__()
        self._ends = os.pipe()

    def fileno(self) -> int:
        """Return the end of a pipe into which no process writes."""
        return self._ends[0]


if sys.stdin is not None and os.path.samestat(os.fstat(0), os.stat(os.devnull)):  # noqa: PTH116  # pathlib takes long
    sys.stdin = NoInput()
