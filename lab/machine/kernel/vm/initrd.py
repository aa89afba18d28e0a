"""Write the initial file system of one guest: its kernel's modules, this machine's files, and its trial's folder."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from lab.errors import MachineError
from lab.machine.kernel.vm import root
from lab.machine.kernel.vm.cpio import Archive

NAME, CONSOLE = "boot/initrd", "console.log"
TRIAL = "/trial"  # where the guest finds its trial's folder
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def make(folder: Path, home: Path, modules: Path) -> str:
    """Write the initrd of the trial in `folder`, and return its path below `folder`. `home` caches parts that trials
    share.

    Raises MachineError if the disk is full.
    """
    try:
        with (folder / NAME).open("wb") as file:
            for shared in (modules, root.archive(home)):
                with shared.open("rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
            trial = Archive(file)
            for source in _inputs(folder):
                # no time and no umask: the kernel would read different digits, with a different number of instructions
                mode = 0o755 if os.access(source, os.X_OK) else 0o644
                trial.file(f"{TRIAL}/{source.relative_to(folder)}", source.read_bytes(), mode)
            trial.folder(f"{TRIAL}/out")
            trial.close()
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise MachineError(f"no room for the files of a guest in {folder}: {os.strerror(error.errno)}") from None
    return NAME


def _inputs(folder: Path) -> list[Path]:
    """Return the files in the trial's folder before the guest starts, without QEMU's console log."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and path not in (folder / NAME, folder / CONSOLE)
    )
