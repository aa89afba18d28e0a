"""Connect the terminal, or a command, to a network in a guest, for `lab shell`, `lab mn` and `lab mininet`."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lab.errors import InputError, LabError
from lab.guest.clock import Clock
from lab.guest.interactive import HandsOn
from lab.guest.network import Network
from lab.machine.kernel import Budget, Guest, GuestError, Kernel, scratch_guest_folder
from lab.machine.kernel.root import Root
from lab.runner.memory import memory_of
from lab.units import Size, to_plain

LOOK_SECONDS = 0.05  # between two looks at a command's output
KEPT_LINES = 20  # lines of a failed guest's console


class SessionFailed(LabError):
    """Raised if the network could not be brought up, or its guest died."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Session:
    """Connects a person, or a script, to a guest: `kernel` boots with the programs in `root`."""

    kernel: Kernel
    root: Root
    budget: Budget  # for a command; a person has no limit

    def run(self, wanted: HandsOn) -> int:
        """Run until the person or the command has finished, clean up, and return the exit status.

        Raises InputError without a terminal or a command, SessionFailed (also if the budget is exhausted), and
        MachineError.
        """
        files = {"hands-on.json": json.dumps(to_plain(wanted)).encode()}
        command = [self.root.python, "-m", "lab.guest.interactive", "."]
        terminal = terminal_of() if wanted.command is None else None
        with self.ended(command, files, wanted.network, terminal, wanted.clock, wanted.seed) as (_, status):
            return status

    @contextmanager
    def ended(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        network: Network,
        terminal: str | None,
        clock: Clock,
        seed: int,
        memory: Size | None = None,
    ) -> Iterator[tuple[Path, int]]:
        """Run a command in a guest. Yield the guest's folder and the exit status.

        The guest has the given memory, or enough for `network`. The folder has `files` at first. The command uses the
        terminal. Without a terminal, the method passes on the command's stdout and stderr, from the folder's files of
        these names. Raises the errors of `run`.
        """
        with scratch_guest_folder() as folder:
            for name, content in files.items():
                (folder / name).write_bytes(content)
            budget = Budget(wall=None, stall=None) if terminal else self.budget
            environment = {"TERM": os.environ.get("TERM", "dumb")} if terminal else {}
            try:
                with (
                    _passed_on(folder / "stdout", sys.stdout.buffer),
                    _passed_on(folder / "stderr", sys.stderr.buffer),
                    Guest(
                        self.kernel,
                        folder,
                        command,
                        seed=seed,
                        clock=clock,
                        memory=memory or memory_of(network),
                        budget=budget,
                        environment=environment,
                        terminal=terminal,
                        temporary=True,
                        root=self.root,
                    ) as guest,
                ):
                    status = guest.wait().status
            except GuestError as error:
                last = error.console.read_text(errors="replace").splitlines()[-KEPT_LINES:]
                raise SessionFailed("\n".join([str(error.args[0]), *last])) from None
            with suppress(FileNotFoundError):
                failed = json.loads((folder / "error.json").read_text())
                raise SessionFailed(failed["error"], failed["exit_code"])
            yield folder, status


def terminal_of() -> str:
    """Return the path of the terminal on standard input. Raises InputError if standard input is not a terminal."""
    try:
        return os.ttyname(0)
    except OSError:
        raise InputError("standard input is not a terminal; give a command with -c COMMAND") from None


@contextmanager
def _passed_on(file: Path, to: BinaryIO) -> Iterator[None]:
    """Copy data that is written to `file` within this context to `to` immediately."""
    over = threading.Event()

    def copy() -> None:
        with file.open("rb") as source, suppress(BrokenPipeError):
            last = False
            while not last:
                last = over.is_set()  # checked before the read, so that output just before the end is read, too
                to.write(source.read())
                to.flush()
                over.wait(LOOK_SECONDS)

    file.touch()
    thread = threading.Thread(target=copy)
    try:
        thread.start()  # a Ctrl-C may come before start() returns, when the thread already runs
        yield
    finally:
        over.set()
        if thread.is_alive():
            thread.join()
