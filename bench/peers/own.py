"""Run a transfer in the lab: one `lab run` with empty results, with its capture, analysis and verdict."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from bench import trials
from bench.peers.peer import PeerRun
from bench.peers.transfer import Transfer
from lab.record.store import Store

NAME, VERSION = "the lab", version("replab")
REMARK = "with a capture of every frame"


def run(transfer: Transfer, folder: Path) -> PeerRun:
    """Return one run. Every byte of its record has to be the same in the next. Raises LabError."""
    (took,) = trials.time(trials.Timed(transfer.name, transfer.title, transfer.seconds, 1), folder)
    (claim,) = json.loads(took.answer)["claims"]
    outputs = [sorted(map(repr, record.outputs.items())) for record in Store(folder / "results")]
    return PeerRun(took.cpu, claim["results"][0]["measured"], repr(outputs))
