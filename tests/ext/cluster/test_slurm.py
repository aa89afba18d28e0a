"""A real Slurm runs a claim: by `--cluster slurm`, and by the recipe for an array of shards. `make test-cluster`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ext.cluster.conftest import LAB, ROOT, Site
from tests.ext.cluster.slurm import slurm

pytestmark = [pytest.mark.slurm, pytest.mark.guest, pytest.mark.usefixtures("kernel")]


@pytest.fixture
def batch(site: Site) -> Iterator[dict[str, str]]:
    """The environment of somebody who has a Slurm, and the lab in the PATH."""
    (site.folder / "bin").mkdir()
    program = site.folder / "bin" / "lab"
    program.write_text(f'#!/bin/sh\nexec {LAB[0]} -c "{LAB[2]}" "$@"\n')
    program.chmod(0o755)
    with slurm(site.folder / "slurm") as environment:
        yield environment | {
            "PATH": f"{program.parent}:{environment['PATH']}",
            "PYTHONPATH": ROOT,
            "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
            "DASK_JOBQUEUE__SLURM__SCHEDULER_OPTIONS": "{'dashboard': False}",
        }


def run(site: Site, batch: dict[str, str], *argv: str) -> str:
    done = subprocess.run(argv, cwd=site.folder, env=batch, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_claim_runs_by_slurm(site: Site, here: Path, batch: dict[str, str]) -> None:
    said = run(site, batch, "lab", "run", "claim.py", "--cluster", "slurm:2", "--results", "results")
    assert "joins" in said
    assert site.records() == site.records(here)
    assert run(site, batch, "squeue", "-h") == "", "its jobs ended with it"


def test_an_array_of_shards_runs_by_slurm(site: Site, here: Path, batch: dict[str, str]) -> None:
    recipe = str(Path(ROOT) / "recipes" / "slurm-array.sh")
    run(site, batch, "sbatch", "--wait", "--array=1-3", recipe, "claim.py")
    shards = sorted(str(path) for path in (site.folder / "shards").iterdir())
    assert len(shards) == 3
    assert "4 records added, 0 there already" in run(site, batch, "lab", "merge", *shards)
    assert site.records() == site.records(here)
    assert "[4/4] " in run(site, batch, "lab", "run", "claim.py")
