"""Explain what limited TCP transfers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.app.options import Folder
    from lab.ext.explain.explaining import Explained
    from lab.ext.explain.gains import Gains


def explain(capture: Path | str, *, flow: int | None = None) -> Explained:
    """Return what limited the TCP connections of a capture, and when.

    The capture is pcap or pcapng, also packed with gzip or Zstandard. `flow` chooses one connection by its number.
    Without it, the hundred connections with the most payload are explained, and the others are listed. Raises
    InputError if the file is no capture or has no such connection, and MachineError if the disk is too small to unpack
    it.
    """
    from lab.ext.explain.explaining import explain as explained

    return explained(Path(capture), flow)


def rebuild(capture: Path | str, folder: Path | str, *, flow: int | None = None) -> list[str]:
    """Write a topology and experiments that run a transfer of a capture again, and return the files' relative paths.

    The transfer is the connection `flow`; default: the one with the most payload. `lab run FOLDER` shows how near the
    rebuilt transfer comes to the original, and what you gain if you undo each limit. Raises InputError, with the
    reason, if the transfer cannot be rebuilt, or if one of the files exists already, and MachineError if a file cannot
    be written.
    """
    from lab.ext.explain import files
    from lab.ext.explain.explaining import look_closely
    from lab.ext.explain.opening import digest
    from lab.ext.explain.planning import plan

    made = plan(look_closely(Path(capture), flow))
    return files.write(made, Path(capture).name, digest(Path(capture)), Path(folder))


def gains(folder: Path | str, *, results: Folder = None) -> Gains:
    """Return what undoing each limit of a rebuilt transfer is worth, from the records of `lab run FOLDER`.

    The default store is LAB_RESULTS, else results/ in the project. Raises InputError if the folder is no rebuilt
    transfer, or was not run.
    """
    from lab.ext.explain.gains import read

    return read(Path(folder), results)
