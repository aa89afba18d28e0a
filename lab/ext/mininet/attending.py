"""Run a Mininet script in real time, for a person at its prompt. No record is kept: results differ each time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.base import foreign
from lab.errors import MachineError
from lab.ext import alone
from lab.ext.hands_on.session import Session, terminal_of
from lab.ext.mininet.options import MininetOptions
from lab.ext.mininet.packing import PackedScript
from lab.ext.mininet.running import ARCHIVE, COMMAND, PLACE, shipped, with_switch
from lab.machine.kernel import choose
from lab.machine.userland.ready import ready
from lab.runner.code import sealed

FILES = "files"  # in the guest's folder, the files that the script wrote
# own_machine.py needs the folder. Ctrl-C is for the script only.
START = "trap '' INT; mkdir -p /run/netns; exec python3 {machine} {place} python3 inside.py {archive} {command} 0 0"


def attend(packed: PackedScript, arguments: Sequence[str], options: MininetOptions, out: Path) -> int:
    """Run a script on the terminal, copy the files that it wrote to `out`, and return its exit status.

    Without a terminal, the script gets no input, and the budget limits it. Raises InputError, SessionFailed and
    MachineError.
    """
    kernel = with_switch(choose("uml", options.kernel))
    files = {alone.OWN_MACHINE.name: alone.OWN_MACHINE.read_bytes(), **shipped(packed, arguments)}
    start = START.format(machine=alone.OWN_MACHINE.name, place=PLACE, archive=ARCHIVE, command=COMMAND)
    session = Session(kernel, sealed(ready("mininet").id), options.limits)
    terminal = terminal_of() if os.isatty(0) else None
    command = ["sh", "-c", start]
    with session.ended(command, files, alone.NETWORK, terminal, "real", options.seed, options.size) as (folder, status):
        _copy(folder / FILES, out)
        return status


def _copy(files: Path, out: Path) -> None:
    """Copy the files that the script wrote. Only regular files are copied."""
    try:
        for entry in foreign.walk(files, foreign.FileBounds()) if files.is_dir() else ():
            if entry.kind == "file":
                target = out / entry.path
                target.parent.mkdir(parents=True, exist_ok=True)
                with foreign.opened(files / entry.path) as source, target.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
    except foreign.Unfit as error:
        raise MachineError(f"the script left {error}: not all of its files are in {out}") from None
    except OSError as error:
        raise MachineError(f"cannot write the script's files to {out}: {error.strerror}") from None
