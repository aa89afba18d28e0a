"""Streams of frames through topologies, many in one guest."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import Budget, UmlKernel, boot
from lab.spec.topology import parse
from lab.units import to_plain

FRAME = 1514  # bytes as the kernel counts them; 24 more on the wire
TOPOLOGY = """
about: One way is tested. The other is too narrow for IPv6, so that hosts speak IPv4 alone, and no other frame is there.
hosts: [sender, receiver]
links:
  path:
    ends:
      sender: {{addresses: [192.0.2.1/24]}}
      receiver: {{addresses: [192.0.2.2/24]}}
    forward: {}
    back: {{mtu: 1279 B}}
"""


@dataclass(frozen=True)
class Case:
    """What to send over a link whose way forward is `forward`, in a topology's words."""

    forward: Mapping[str, Any]
    sends: list[tuple[int, int, int]]  # (ns since the start, flow, bytes), in order
    seed: str = "1"
    drain_s: float = 1.0
    files: Mapping[str, str] = field(default_factory=dict)  # beside the topology: traces
    whole: bool = False  # whether to return the bytes of all that came, ours or no longer
    ecn: int = 0b10  # the code point of its frames, RFC 3168, 5: ECT(0); 0b01 for L4S, 0 for none


def even(seconds: float, bits_per_second: float, flow: int = 0, size: int = FRAME, start: float = 0) -> Any:
    """Frames at a constant rate, counted on the wire."""
    gap = 8e9 * (size + 24) / bits_per_second
    return [(round(start * 1e9 + number * gap), flow, size) for number in range(int(seconds * 1e9 / gap))]


Streams = Callable[[Mapping[str, Case]], dict[str, Any]]


@pytest.fixture(scope="module")
def streams(kernel: UmlKernel) -> Iterator[Streams]:
    """Plays cases, all in one guest, and returns what came of each by its name."""
    folder = Path(tempfile.mkdtemp(prefix="streams-"))

    def play(cases: Mapping[str, Case]) -> dict[str, Any]:
        for name, case in cases.items():
            for file, text in case.files.items():
                (folder / file).write_text(text)
            network = parse(TOPOLOGY.format(json.dumps(dict(case.forward))), folder / "net.yaml").network
            plain = {"network": to_plain(network), "seed": case.seed, "sends": case.sends}
            plain |= {"drain_s": case.drain_s, "ecn": case.ecn, "whole": case.whole}
            (folder / f"{name}.case").write_text(json.dumps(plain))
        shutil.copy(Path(__file__).parent / "streams.py", folder)  # a guest sees the lab, and its own folder
        done = boot(kernel, folder, [sys.executable, "streams.py"], budget=Budget(wall=850))
        assert done.status == 0, done.console.read_text()[-3000:]
        return {name: json.loads((folder / f"{name}.out").read_text()) for name in cases}

    yield play
    shutil.rmtree(folder)
