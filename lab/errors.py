"""Define errors that end a command with one clear message instead of a traceback. `exit_code` is the command's exit
code.
"""

from __future__ import annotations

__all__ = ["InputError", "LabError", "MachineError"]


class LabError(Exception):
    """Raised if the work failed. `str()` returns one message for the user. Exit code 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Return the text for IPython: only the message, because users can understand it without a stack trace."""
        return [f"{type(self).__name__}: {self}"]


class InputError(LabError):
    """Raised if the user's request is wrong. Exit code 2."""

    exit_code = 2


class MachineError(LabError):
    """Raised if this machine cannot do the work, because a program or a resource is missing or exhausted.

    Exit code 3.
    """

    exit_code = 3
