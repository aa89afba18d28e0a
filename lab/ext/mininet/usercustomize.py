"""Python imports this module when it starts in a script's guest: without input, standard input is at its end.

Mininet's command line watches standard input while a host's command runs. /dev/null is always readable, so that
Mininet would never wait, and virtual time would only pass because Mininet spins.
"""

import io
import os
import sys
from pathlib import Path


class NoInput(io.StringIO):
    """Is at its end, and never looks readable to `poll`."""

    _ends = os.pipe()

    def fileno(self) -> int:
        """Return the end of a pipe into which no process writes."""
        return self._ends[0]


if sys.stdin is not None and os.path.samestat(os.fstat(0), Path(os.devnull).stat()):
    sys.stdin = NoInput()
