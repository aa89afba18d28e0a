"""No test asks the machine's own network for anything."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BARE = re.compile(r"\bEther\(" + r"\)")


def test_crafted_frames_name_their_addresses() -> None:
    """As root, scapy sends ARP requests for the addresses that a frame does not name. Without an answer, it waits."""
    files = [
        file for folder in ("lab", "tests", "bench", "experiments", "packs") for file in ROOT.glob(f"{folder}/**/*.py")
    ]
    found = [str(file.relative_to(ROOT)) for file in files if BARE.search(file.read_text())]
    assert not found, "use tests.frames.ETHERNET"
