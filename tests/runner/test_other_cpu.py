"""A trial leaves the same bytes on another CPU: one that QEMU emulates, without AVX and what came with it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from lab.guest.trial import canonical
from lab.guest.workload.program import COMPILED
from lab.machine.kernel import UmlKernel
from lab.runner import programs
from lab.runner.code import sealed
from lab.runner.memory import MEMORY
from tests import emulated
from tests.emulated import Boot
from tests.kinds import Perform
from tests.runner.samples import SAMPLES

pytestmark = [pytest.mark.guest, pytest.mark.emulated]


def test_every_kind_of_trial_leaves_the_same_bytes(kernel: UmlKernel, perform: Perform, tmp_path: Path) -> None:
    machine = emulated.machine()
    if machine is None:
        pytest.skip(emulated.NEEDS)
    here = {
        name: perform(topology, workload, probes, middleboxes=middleboxes)
        for name, (topology, workload, probes, middleboxes) in SAMPLES.items()
    }
    boots: list[Boot] = []
    for name, record in here.items():
        folder = tmp_path / "there" / name
        folder.mkdir(parents=True)
        (folder / "trial.json").write_bytes(canonical(record.trial))
        programs.place(record.trial.workload, record.trial.tools, folder / COMPILED)
        root = sealed(record.trial.userland)
        boots.append(Boot(folder, (root.python, "-m", "lab.guest.perform", "."), record.trial.seed, MEMORY))
    part = emulated.unpacked(root, tmp_path / "root")
    emulated.boot_there(machine, kernel, part, boots, tmp_path / "machine")

    for boot, (name, record) in zip(boots, here.items(), strict=True):
        result = json.loads((boot.folder / "result.json").read_text())
        assert (name, result.get("environment")) == (name, record.environment), result.get("error")
        assert (name, result["invalid"]) == (name, list(record.invalid))
        out = boot.folder / "out"
        files = {str(file.relative_to(out)): file for file in out.rglob("*") if file.is_file()}
        outputs = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
        assert (name, outputs) == (name, {output: about.sha256 for output, about in record.outputs.items()})
