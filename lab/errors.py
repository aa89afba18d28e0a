"""These errors end a command with one clear message instead of a traceback; `exit_code` is the command line's."""

from __future__ import annotations

__all__ = ["InputError", "LabError", "MachineError"]


class LabError(Exception):
    """Raised when the work could not be done; `str()` is one message for the user. Exit code 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: only the message, which needs no stack to be understood."""
        return [f"{type(self).__name__}: {self}"]


class InputError(LabError):
    """Raised when the user's request is wrong. Exit code 2."""

    exit_code = 2


class MachineError(LabError):
    """Raised when this machine cannot do it: something is missing or exhausted. Exit code 3."""

    exit_code = 3
