"""What the threads of a run convert at the same time, in a process that has converted nothing yet."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.spec import find
from lab.units import to_plain

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "shared-bottleneck.yaml"
PROCESSES = 40
PROGRAM = """
import json, os, sys, threading
import lab.runner.guest
from lab.guest.trial import Trial
from lab.guest.network import Network
from lab.units import from_plain

kind, plain, processes = locals()[sys.argv[1]], json.loads(sys.argv[2]), int(sys.argv[3])
sys.setswitchinterval(1e-6)
for _ in range(processes):
    pid = os.fork()
    if not pid:
        together = threading.Barrier(2)
        threads = [threading.Thread(target=lambda: (together.wait(), from_plain(plain, kind))) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
TRIAL = {
    "claim": "a/b",
    "arm": "c",
    "point": "",
    "source_sha256": "",
    "workload": {},
    "probes": [],
    "middleboxes": [],
    "network": {},
    "kernel": {},
    "on": "uml",
    "clock": "virtual",
    "seed": 1,
    "repeat": 0,
    "tools": {},
}


@pytest.mark.parametrize("kind", ["Network", "Trial"])
def test_threads_that_convert_first_do_not_end_the_process(kind: str) -> None:
    """Msgspec's description of a type is no thread's to make: two at once end in a segmentation fault."""
    plain = TRIAL if kind == "Trial" else to_plain(find.topology(str(TOPOLOGY)).network)
    program = [sys.executable, "-c", PROGRAM, kind, json.dumps(plain), str(PROCESSES)]
    run = subprocess.run(program, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
