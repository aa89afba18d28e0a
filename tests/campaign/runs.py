"""Runs of a small claim that is disturbed: what must hold of any of them, whatever happened to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.ext.upkeep import upkeep
from lab.record.store import Store
from tests.campaign.hanging import LOOK_SECONDS, Watch, descendants
from tests.campaign.isolated import ALLOWED, Broken
from tests.runner.killing import CLAIM, LAB, TWO

__all__ = ["CPU", "Ran", "Reference", "ended", "reference", "started"]

CPU = 60.0  # seconds of a run or a guest, after which it hangs: it takes two


@dataclass(frozen=True)
class Reference:
    """What an undisturbed run of the claim in `folder` gives."""

    folder: Path
    code: int
    seconds: float
    outputs: Mapping[str, Mapping[str, str]]  # address -> file -> SHA-256

    def holds(self, results: Path, env: Mapping[str, str] | None = None) -> None:
        """Run again, undisturbed, on what a disturbed run left. Raises Broken unless all is as it always is."""
        again = ended(started(self.folder, results, env))
        if again.code != self.code:
            raise Broken(f"run again, it ends with {again.code} instead of {self.code}: {again.said}")
        if faults := upkeep.check(results).faults:
            raise Broken(f"lab store fsck: {faults}")
        if left := [path.name for path in (results / ".staging").glob("*")]:
            raise Broken(f"left behind: {left}")
        if (found := _outputs(results)) != self.outputs:
            raise Broken(f"records are lost, or have other bytes: {found.keys() ^ self.outputs.keys()}")


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    said: str


def reference(folder: Path) -> Reference:
    """Write the claim into `folder` and run it twice: first to make what caches keep."""
    (folder / "claim.py").write_text(CLAIM.format(duration="100 ms", arms=("one", "two")))
    (folder / "two.yaml").write_text(TWO)
    ended(started(folder, folder / "warm"))
    begun = time.monotonic()
    ran = ended(started(folder, folder / "reference"))
    if ran.code not in (0, 1):
        raise Broken(f"the claim does not run here: {ran.said}")
    return Reference(folder, ran.code, time.monotonic() - begun, _outputs(folder / "reference"))


def started(
    folder: Path,
    results: Path,
    env: Mapping[str, str] | None = None,
    program: tuple[str, ...] = (LAB,),
    before: Callable[[], None] | None = None,
) -> subprocess.Popen[str]:
    """Start a run of the claim."""
    return subprocess.Popen(
        [*program, "run", "claim.py", "--results", str(results)],
        cwd=folder,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def ended(run: subprocess.Popen[str]) -> Ran:
    """Wait for a run that nobody killed. Raises Broken when it hangs, shows a traceback, or ends as none should."""
    watch = Watch(run.pid, CPU)
    while True:
        try:
            said = run.communicate(timeout=LOOK_SECONDS)[1]
            break
        except subprocess.TimeoutExpired:
            if hangs := watch.look():
                for pid in (run.pid, *descendants(run.pid)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                raise Broken(f"{hangs}: {run.communicate()[1]}") from None
    if "Traceback (most" in said or run.returncode not in ALLOWED:
        raise Broken(f"ends with {run.returncode}: {said}")
    return Ran(run.returncode, said)


def gone(pids: Iterator[int]) -> None:
    """Wait until these processes have ended. Raises Broken for one that does not."""
    for pid in pids:
        watch = Watch(pid, CPU)
        while _lives(pid):
            if hangs := watch.look():
                raise Broken(f"a process lives on, and {hangs}: {Path(f'/proc/{pid}/cmdline').read_text()}")
            time.sleep(LOOK_SECONDS)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _outputs(results: Path) -> dict[str, dict[str, str]]:
    return {
        record.address: {name: output.sha256 for name, output in record.outputs.items()} for record in Store(results)
    }
