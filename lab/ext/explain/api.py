"""Explain what limited TCP transfers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.ext.explain.explaining import Explained


def explain(capture: Path | str, *, flow: int | None = None) -> Explained:
    """Return what limited the TCP connections of a capture, and when.

    The capture is pcap or pcapng, also packed with gzip or Zstandard. `flow` chooses one connection by its number.
    Without it, the hundred connections with the most payload are explained, and the others are listed. Raises
    InputError if the file is no capture or has no such connection, and MachineError if the disk is too small to unpack
    it.
    """
    from lab.ext.explain.explaining import explain as explained

    return explained(Path(capture), flow)
