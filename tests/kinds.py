"""The types of fixtures that several files of tests ask for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.record.record import Record
from lab.verdict.judged import JudgedClaim

Perform = Callable[..., Record]  # runs a trial for real
Judge = Callable[..., JudgedClaim]  # judges outputs that nobody ran
Keep = Callable[[Mapping[str, bytes]], Record]  # a record of these outputs
Save = Callable[..., Path]  # packets as a pcap file
Segment = Callable[..., bytes]  # one TCP segment's frame
Type = Callable[[str], subprocess.CompletedProcess[str]]  # runs a command, as one types it
