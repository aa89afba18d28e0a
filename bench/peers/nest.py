"""Run a transfer in NeST, with its own rate limit and delay. The module is also the program that does so."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from unittest.mock import patch

from bench.peers.peer import Peer
from bench.peers.transfer import Transfer, named

VERSION = "0.4.4"
ADDRESSES = ("10.0.0.1/24", "10.0.0.2/24")


def command(transfer: Transfer, _: Path) -> list[str]:
    """Return this module's command."""
    return [sys.executable, "-m", __name__, transfer.name]


def version() -> str | None:
    """Return NeST's version, or None if it is missing."""
    try:
        return installed("nest")
    except PackageNotFoundError:
        return None


def main(transfer: Transfer) -> None:
    """Transfer between two nodes on one link, and print what both ends saw."""
    listed = os.listdir
    # NeST 0.4.4 lists /usr/lib/tc when it is imported. Debian has that folder below /usr/lib/x86_64-linux-gnu.
    with patch("os.listdir", lambda path=".": [] if path == "/usr/lib/tc" else listed(path)):
        from nest.topology import Node, connect

        sender, receiver = Node("a"), Node("b")
        ends = connect(sender, receiver)
    for end, address in zip(ends, ADDRESSES, strict=True):
        end.set_address(address)
        end.set_attributes(f"{1000 * transfer.gigabits}mbit", f"{transfer.delay_ms}ms")
    with receiver:
        receiving = subprocess.Popen(transfer.receive())
    with sender:
        subprocess.run(transfer.send(ADDRESSES[1].partition("/")[0]), check=True)
    receiving.wait()


NEST = Peer(
    "NeST",
    root=True,
    install=f".venv/bin/pip install nest=={VERSION}",
    version=version,
    command=command,
)

if __name__ == "__main__":
    main(named(sys.argv[1]))
