"""Run trials over a link without rate and delay while an ordinary process burns their CPU: `python -m bench.burner`.

Its bursts are shorter than any timer notices. Every trial that counts has to hold what it says: its goodput is among
those of undisturbed trials, but for the share of the time in which its machine may have been away. So is the median of
the trials with each burner, within its interval.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import fidelity
from lab.errors import LabError
from lab.guest import outputs
from lab.machine.kernel import Kernel, choose
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.schedule import Runner
from lab.units import Value
from lab.verdict.repeats import faults, uncertainty
from lab.verdict.sample import median_of

SCRATCH = fidelity.SCRATCH


@dataclass(frozen=True)
class Burner:
    """Describe a process that computes for a burst and sleeps for a gap, in microseconds.

    With `chance` each is half to one and a half times as long.
    """

    burst: int
    gap: int
    chance: bool = False
    nice: int = 0

    def __str__(self) -> str:
        return f"{self.burst}, {self.gap}{' random' if self.chance else ''}{f', nice {self.nice}' if self.nice else ''}"


BURNERS = (
    Burner(50, 50),
    Burner(50, 50, nice=-15),
    Burner(100, 300, chance=True),
    Burner(100, 300, chance=True, nice=-15),
    Burner(150, 150),
    Burner(150, 150, nice=-15),
    Burner(30, 10),
    Burner(30, 10, nice=-15),
)


@dataclass(frozen=True)
class Score:
    """Hold what came of one trial."""

    burner: str
    goodput: float  # bit/s
    stated: float  # the share of the time for which its machine may have been away, as it says
    reasons: tuple[str, ...]

    @property
    def value(self) -> Value:
        """Return its goodput within what it says."""
        return Value(self.goodput, "bit/s").within(self.stated)

    def is_false(self, calm: Sequence[float]) -> bool:
        """Return whether it counts, and none of the goodputs without a burner is within what it says."""
        return not self.reasons and _is_apart(self.value, calm)


def _is_apart(value: Value, calm: Sequence[float]) -> bool:
    low, high = value.bounds
    return high < min(calm) or max(calm) < low


def burn(cpu: int, burner: Burner) -> None:
    """Burn a CPU until this process is ended."""
    os.sched_setaffinity(0, {cpu})
    os.nice(burner.nice)
    chance = random.Random(1)
    while True:
        share = chance.uniform(0.5, 1.5) if burner.chance else 1.0
        until = time.perf_counter_ns() + round(1000 * share * burner.burst)
        while time.perf_counter_ns() < until:
            pass
        time.sleep(1e-6 * share * burner.gap)


@contextmanager
def burning(cpu: int, burner: Burner | None) -> Iterator[None]:
    """Burn a CPU within this context."""
    if burner is None:
        yield
        return
    number = str(BURNERS.index(burner))
    process = subprocess.Popen([sys.executable, "-m", "bench.burner", "--burn", str(cpu), number])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run(burner: Burner | None, kernel: Kernel, cpu: int, seed: int, scratch: Path) -> Score:
    """Run one trial. Raises LabError."""
    trial = fidelity.trial(next(kind for kind in fidelity.KINDS if kind.name == "bulk, no rate"), kernel, seed)
    results = Path(tempfile.mkdtemp(dir=scratch))
    with burning(cpu, burner):
        record = Runner(Store(results), [kernel], jobs=1).run([trial], fidelity.Silent())[trial.address]
    if isinstance(record, LabError):
        raise record
    score = Score(str(burner or "none"), _goodput(record), uncertainty(record), faults(record))
    shutil.rmtree(results)
    return score


def _goodput(record: Record) -> float:
    bulk = record.json(outputs.BULK)
    return float(8e9 * (bulk["bytes"] - bulk["first_bytes"]) / (bulk["last_ns"] - bulk["first_ns"]))


def table(scores: Sequence[Score], calm: Sequence[float]) -> Table:
    """Make a table by burner."""
    columns = ("trials", "count", "goodput Gbit/s", "away at most", "false", "median's interval Gbit/s", "false")
    made = Table("burner (burst, gap in us)", *columns, box=None)
    for name in dict.fromkeys(score.burner for score in scores):
        having = [score for score in scores if score.burner == name]
        rates = sorted(score.goodput / 1e9 for score in having)
        shares = sorted(100 * score.stated for score in having)
        made.add_row(
            name,
            str(len(having)),
            str(sum(not score.reasons for score in having)),
            f"{rates[0]:.1f} to {rates[-1]:.1f}",
            f"{shares[0]:.2g} to {shares[-1]:.2g} %",
            str(sum(score.is_false(calm) for score in having)),
            *_interval([score.value for score in having if not score.reasons], calm),
        )
    return made


def _interval(values: Sequence[Value], calm: Sequence[float]) -> tuple[str, str]:
    """Return the interval of the median, and whether it is false."""
    if len(values) < 2:
        return "-", "-"
    found = median_of(values)
    return " to ".join(f"{bound / 1e9:.1f}" for bound in found.bounds), str(int(_is_apart(found, calm)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run everything; return 1 when any trial that counts is false."""
    parser = argparse.ArgumentParser(prog="python -m bench.burner", description="Burn the CPU of trials.")
    parser.add_argument("--calm", type=int, default=7, help="trials without a burner (7)")
    parser.add_argument("--each", type=int, default=5, help="trials with each of the eight burners (5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", type=Path, default=SCRATCH / "burner.json", help="where every score is kept")
    parser.add_argument("--burn", type=int, nargs=2, metavar=("CPU", "NUMBER"), help="only burn, until killed")
    asked = parser.parse_args(argv)
    if asked.burn:
        burn(asked.burn[0], BURNERS[asked.burn[1]])
    cpu = min(os.sched_getaffinity(0))  # the one that a trial gets
    SCRATCH.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="burner-", dir=SCRATCH))
    todo: list[Burner | None] = [*[None] * asked.calm, *(each for each in BURNERS for _ in range(asked.each))]
    random.Random(asked.seed).shuffle(todo)  # so that drift affects all alike
    scores: list[Score] = []
    try:
        kernel = choose("uml", None, "real")
        for number, burner in enumerate(todo, 1):
            scores.append(score := run(burner, kernel, cpu, asked.seed + number, scratch))
            said = "; ".join(score.reasons) or f"counts, away for {100 * score.stated:.3g} % at most"
            print(f"{number}/{len(todo)} {score.burner}: {score.goodput / 1e9:.1f} Gbit/s, {said}", file=sys.stderr)
    except KeyboardInterrupt:
        pass
    except LabError as error:
        print(f"burner: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        asked.into.write_text(json.dumps([vars(score) for score in scores]) + "\n")
    calm = [score.goodput for score in scores if score.burner == "none"]
    if not calm:
        return 0
    Console(highlight=False, width=140).print(table(scores, calm))
    return int(any(score.is_false(calm) for score in scores))


if __name__ == "__main__":
    sys.exit(main())
