"""What ends a command with one clear message instead of a traceback. `exit_code` is the command line's."""

from __future__ import annotations

__all__ = ["InputError", "LabError", "MachineError"]


class LabError(Exception):
    """The work could not be done: `str()` is one message for the user. Exit code 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it: the message, which is whole without the way there."""
        return [f"{type(self).__name__}: {self}"]


class InputError(LabError):
    """What the user asked for is wrong. Exit code 2."""

    exit_code = 2


class MachineError(LabError):
    """This machine cannot do it: something is missing or exhausted. Exit code 3."""

    exit_code = 3
