"""A cluster of processes: a scheduler, workers with folders of their own, and `lab run` as their caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import lab
from lab.base import cache
from lab.machine.kernel import UmlKernel
from tests.runner.killing import CLAIM, TWO
from tests.waiting import until

ROOT = str(Path(lab.__file__).parents[1])
LEAN = str(Path(ROOT) / "recipes" / "dask.yaml")
LAB = [sys.executable, "-c", "from lab.cli import main; main()"]
HASTY = [  # it gives up a scheduler sooner than the 20 s after which a person's does
    sys.executable,
    "-c",
    "from lab.ext.cluster import where; where._SECONDS = 8.0; from lab.cli import main; main()",
]
BRIEF, LONG = "500 ms", "400 s"  # of virtual time: a trial of a second, and one that lasts until something happens


@dataclass
class Site:
    """A folder with a claim, a scheduler, and workers."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def scheduler_file(self) -> Path:
        return self.folder / "scheduler.json"

    def declare(self, duration: str = BRIEF, arms: tuple[str, ...] = ("one", "two", "three", "four")) -> None:
        """Write the claim; another duration makes it other trials."""
        (self.folder / "claim.py").write_text(CLAIM.format(duration=duration, arms=arms))
        (self.folder / "two.yaml").write_text(TWO)

    def scheduler(self) -> subprocess.Popen[bytes]:
        """Start a scheduler, which lacks the lab: it need not have it."""
        (self.folder / "none" / "lab").mkdir(parents=True, exist_ok=True)
        (self.folder / "none" / "lab" / "__init__.py").touch()
        argv = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler_file.unlink(missing_ok=True)
        nothing = {"PYTHONPATH": str(self.folder / "none"), "DASK_CONFIG": LEAN}
        argv = [sys.executable, *argv, "--scheduler-file", str(self.scheduler_file)]
        started = self._start(argv, "scheduler", nothing)
        until(self.scheduler_file.exists)
        return started

    def worker(
        self, name: str, python_path: str = ROOT, before: tuple[str, ...] = (), *, bare: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a worker with one thread, and with a cache and temporary files of its own.

        It has our userlands, which take seconds to send, unless it is `bare`.
        """
        argv = [*before, sys.executable, "-m", "distributed.cli.dask_worker"]
        argv += ["--scheduler-file", str(self.scheduler_file), "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
        argv += ["--no-dashboard", "--death-timeout", "20", "--local-directory", str(self.folder / f"{name}.dask")]
        self.temporary(name).mkdir(exist_ok=True)
        self.cache(name).mkdir(parents=True, exist_ok=True)
        if not bare and not (self.cache(name) / "userlands").exists():
            (self.cache(name) / "userlands").symlink_to(cache.folder("userlands"))
        here = {"XDG_CACHE_HOME": str(self.cache(name).parent), "TMPDIR": str(self.temporary(name))}
        here |= {"DASK_CONFIG": LEAN}
        return self._start(argv, name, here | {"PYTHONPATH": python_path, "DASK_REPLAB__SHARED": "False"})

    def temporary(self, name: str) -> Path:
        return self.folder / f"{name}.tmp"

    def cache(self, name: str) -> Path:
        return self.folder / f"{name}.cache" / "replab"

    def busy(self, name: str) -> bool:
        """Whether the worker has a guest."""
        return any(self.temporary(name).glob("replab~*/results/.staging/*/console.log"))

    def run(
        self,
        *options: str,
        results: str = "results",
        here: dict[str, str] | None = None,
        where: str | None = None,
        lab: Sequence[str] = LAB,
    ) -> subprocess.Popen[bytes]:
        there = ["--cluster", where or str(self.scheduler_file), "--results", str(self.folder / results)]
        return self._start([*lab, "run", "claim.py", *there, *options], f"lab.{results}", here)

    def lab(self, *arguments: str) -> str:
        """Run a command of the lab that must end well, and return what it said."""
        argv = [*LAB, *arguments]
        done = subprocess.run(argv, cwd=self.folder, env=_environment({}), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def said(self, name: str = "lab.results") -> str:
        return (self.folder / f"{name}.err").read_text()

    def records(self, results: str | Path = "results") -> dict[str, bytes]:
        """Every file of every record that is the same wherever its trial runs."""
        root = self.folder / results
        named = [*root.glob("??/*/record.json"), *root.glob("??/*/trial.json"), *root.glob("??/*/out/**/*")]
        return {str(path.relative_to(root)): path.read_bytes() for path in named if path.is_file()}

    def end(self) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()

    def _start(self, argv: list[str], name: str, here: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.out").open("wb") as out, (self.folder / f"{name}.err").open("wb") as err:
            process = subprocess.Popen(argv, cwd=self.folder, env=_environment(here or {}), stdout=out, stderr=err)
        self.processes.append(process)
        return process


def _environment(here: dict[str, str]) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": ROOT} | here


def at(place: Path) -> Site:
    """A site whose claim has the same name as that of every other: a claim is named after its folder."""
    (place / "site").mkdir()
    site = Site(place / "site")
    site.declare()
    return site


@pytest.fixture(scope="session")
def here(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that a run of the claim without a cluster leaves, which no test changes."""
    del kernel  # it has to be there
    site = at(tmp_path_factory.mktemp("without-a-cluster"))
    site.lab("run", "claim.py")
    return site.folder / "results"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = at(tmp_path)
    try:
        yield made
    finally:
        made.end()
