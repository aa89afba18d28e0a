"""Run every peer some times, one after another, and keep the lines of the table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console

from bench.peers import native, own, table
from bench.peers.enclosure import enclosed
from bench.peers.mahimahi import MAHIMAHI
from bench.peers.mininet import MININET
from bench.peers.nest import NEST
from bench.peers.ns3 import NS3
from bench.peers.peer import Peer, PeerRun, Row, judged, read
from bench.peers.transfer import TRANSFERS, Transfer
from lab.errors import LabError

PEERS = (NS3, MININET, NEST, MAHIMAHI)
RUNS = 3
WALL = 900.0  # seconds that one run may take


def show(scratch: Path, console: Console, names: Sequence[str] = (), runs: int = RUNS) -> tuple[list[Row], list[float]]:
    """Print the tables of these peers, or of all, and return (their lines, what `limit` returns). Raises LabError."""
    costs, lines = limit(scratch, runs), list(rows(scratch, names, runs))
    for transfer in TRANSFERS:
        console.print(table.shown(lines, transfer))
    console.print(f"\na frame in this machine's kernel: {1e6 * median(costs):.2f} us of CPU")
    return lines, costs


def rows(scratch: Path, names: Sequence[str] = (), runs: int = RUNS) -> Iterator[Row]:
    """Yield the lines of the lab and of every peer, or of those with these names."""
    for transfer in TRANSFERS:
        if not names or own.NAME in names:
            yield _row(own.NAME, own.VERSION, False, transfer, runs, lambda: own.run(transfer, scratch), own.REMARK)  # noqa: B023  # used at once
        for peer in PEERS:
            if not names or peer.name in names:
                yield measured(peer, transfer, scratch, runs)


def measured(peer: Peer, transfer: Transfer, scratch: Path, runs: int) -> Row:
    """Return a peer's line. If the peer is missing, the line shows how to install it."""
    version = peer.version()
    if version is None:
        return Row(peer.name, "", peer.root, transfer, remarks=(f"missing: {peer.install}",))
    return _row(peer.name, version, peer.root, transfer, runs, lambda: _run(peer, transfer, scratch), peer.remark)


def limit(scratch: Path, runs: int = RUNS) -> list[float]:
    """Return the seconds of CPU that a frame costs in this machine's kernel, in each run. Raises LabError."""
    costs = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="native-", dir=scratch) as folder:
            text, cpu = enclosed(native.command(), Path(folder), WALL, [min(os.sched_getaffinity(0))])
        costs.append(native.per_frame(text, cpu))
    return costs


def _run(peer: Peer, transfer: Transfer, scratch: Path) -> PeerRun:
    with tempfile.TemporaryDirectory(prefix="peer-", dir=scratch) as folder:
        text, cpu = enclosed(peer.command(transfer, Path(folder)), Path(folder), WALL)
    return read(text, transfer, cpu)


def _row(
    name: str, version: str, root: bool, transfer: Transfer, runs: int, run: Callable[[], PeerRun], remark: str
) -> Row:
    try:
        return judged(name, version, root, transfer, [run() for _ in range(runs)], remark)
    except LabError as error:
        return Row(name, version, root, transfer, remarks=(f"failed: {error}",))
