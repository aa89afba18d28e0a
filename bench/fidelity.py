"""Measure how often the check of real time is wrong: `make fidelity`, or `python -m bench.fidelity --help`.

Short trials run while a hog steals a known share of their CPU's time, in bursts of a known length. Each is scored
against three truths: what was stolen while it was watched, for how much of that time the machine itself was away, as
the hog's own timers saw it at a priority above everything, and whether the trial's figure is off by more than real time
promises. Where a trial says that its figures are known to a larger share, it is held to that. *False-valid* is a trial
that counts although one of them breaks this, *false-invalid* one that does not count although all keep it. On a machine
that is away for more than promised by itself, few trials keep it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.hog import Disturbance, disturbing
from lab.errors import LabError
from lab.guest import outputs
from lab.guest.probe import Capture
from lab.guest.trial import Trial
from lab.guest.workload import Bulk, Ping
from lab.machine.kernel import Kernel, choose
from lab.metric.capture import Capture as Packets
from lab.record.record import Record
from lab.record.store import Store
from lab.runner import tools
from lab.runner.schedule import Runner
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import Duration, Rate, to_plain
from lab.verdict.binomial import interval
from lab.verdict.promise import PROMISE
from lab.verdict.repeats import faults, uncertainty

LEVELS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05)
LENGTHS_NS = (500_000, 2_000_000, 10_000_000)
CLEAR = 0.02  # the level at which the check is held to one false-valid trial in a hundred
SECONDS = Duration.of("2500 ms")
SCRATCH = Path("build")


@dataclass(frozen=True)
class Kind:
    """Describe one kind of trial: its link, what runs on it, and by how much its figure is off, in promises."""

    name: str
    path: dict[str, Any]
    workload: Any
    off: Callable[[Record, float], float]  # from the record and the share of time in which the CPU was away
    probes: tuple[Any, ...] = ()


def _goodput(rate: str) -> Callable[[Record, float], float]:
    """IPv4, TCP and timestamps off, Ethernet, FCS, preamble and gap on: R x 1448 / 1538."""

    def off(record: Record, _: float) -> float:
        bulk = record.json(outputs.BULK)
        found = 8e9 * (bulk["bytes"] - bulk["first_bytes"]) / (bulk["last_ns"] - bulk["first_ns"])
        return float(abs(found / (Rate.of(rate).bps * 1448 / 1538) - 1) / PROMISE.share)

    return off


def _rtt(seconds: float) -> Callable[[Record, float], float]:
    """The median, as the sender's interface sees it."""

    def off(record: Record, _: float) -> float:
        times = Packets(record.path(outputs.capture("sender", "eth0"))).time_ns / 1e9
        return float(abs(median(times[1::2] - times[::2]) - seconds) / PROMISE.rtt)

    return off


def _cpu(_: Record, away: float) -> float:
    """Where the CPU is the bottleneck, goodput lacks the time in which it was away."""
    return away / PROMISE.share


_PINGS = Ping(count=26, interval=Duration.of("100 ms"))
_ICMP = (Capture(node="sender", filter="icmp"),)
_FRAME = 8 * (14 + 20 + 8 + 56 + 24)  # bits of a ping on the wire
KINDS = (
    Kind("bulk, 10 Mbit/s", {"rate": "10 Mbit/s"}, Bulk(duration=SECONDS), _goodput("10 Mbit/s")),
    Kind("ping, 10 Mbit/s", {"rate": "10 Mbit/s", "delay": "5 ms"}, _PINGS, _rtt(0.01 + 2 * _FRAME / 1e7), _ICMP),
    Kind("bulk, no rate", {"rate": None}, Bulk(duration=SECONDS), _cpu),
    Kind("ping, no rate", {"rate": None, "delay": "10 ms"}, _PINGS, _rtt(0.02), _ICMP),
)


@dataclass(frozen=True)
class Plan:
    """Say what one trial is to be."""

    kind: Kind
    level: float
    burst_ns: int
    seed: int


@dataclass(frozen=True)
class Score:
    """Hold what came of one trial."""

    kind: str
    level: float
    burst_ns: int
    stolen: float  # the share of the time in which it was watched
    away: float  # the share of that time in which the machine was away by itself, estimated
    off: float  # its figure, in promises
    reasons: tuple[str, ...]
    stated: float  # the share to which it says that its figures are known
    evidence: dict[str, Any]  # all that was seen, so that another rule can be scored on the same trials

    @property
    def valid(self) -> bool:
        """Say whether it counts."""
        return not self.reasons

    @property
    def broken(self) -> bool:
        """Say whether what it says was broken: in its figure, or in the time that the machine was away."""
        return self.off * PROMISE.share > self.stated or self.stolen + self.away > self.stated


def plans(clear: int, calm: int, others: int, seed: int) -> list[Plan]:
    """Make so many trials at the clear level, at none, and at each of the others; every kind and length in turn."""
    counts = {level: {CLEAR: clear, 0.0: calm}.get(level, others) for level in LEVELS}
    made = [
        Plan(KINDS[number % len(KINDS)], level, LENGTHS_NS[number // len(KINDS) % len(LENGTHS_NS)], 0)
        for level, count in counts.items()
        for number in range(count)
    ]
    random.Random(seed).shuffle(made)  # so that drift affects all levels equally
    return [Plan(each.kind, each.level, each.burst_ns, seed + number) for number, each in enumerate(made)]


def trial(kind: Kind, kernel: Kernel, seed: int) -> Trial:
    """Return the trial of this kind."""
    network = find.topology("symmetric-1g").resolve(Changes(links={"path": kind.path}))
    return Trial(
        claim="bench/fidelity",
        arm=re.sub(r"\W+", "-", kind.name),
        point="",
        source_sha256="",
        network=to_plain(network),
        workload=to_plain(kind.workload),
        probes=to_plain(list(kind.probes)),
        middleboxes=[],
        kernel=kernel.describe(),
        on=kernel.on,
        clock="real",
        seed=seed,
        repeat=0,
        tools=tools.versions(tools.needed([kind.workload, *kind.probes])),
    )


def run(plan: Plan, kernel: Kernel, cpu: int, scratch: Path) -> Score:
    """Run one trial. Raises LabError."""
    planned = trial(plan.kind, kernel, plan.seed)
    results = Path(tempfile.mkdtemp(dir=scratch))
    with disturbing(cpu, plan.level, plan.burst_ns, plan.seed) as disturbance:
        record = Runner(Store(results), [kernel], jobs=1).run([planned], Silent())[planned.address]
    if isinstance(record, LabError):
        raise record
    stolen, away = _watched(record, disturbance)
    off = plan.kind.off(record, stolen + away)
    score = Score(
        plan.kind.name,
        plan.level,
        plan.burst_ns,
        stolen,
        away,
        off,
        faults(record),
        max(PROMISE.share, uncertainty(record)),
        record.json(outputs.FIDELITY),
    )
    shutil.rmtree(results)
    return score


class Silent:
    """Shows nothing of a trial."""

    def started(self, trial: Trial) -> None:
        """Show nothing."""

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Show nothing."""


def _watched(record: Record, disturbance: Disturbance) -> tuple[float, float]:
    """Return which share of the time in which the trial was watched was stolen, and in which the machine was away."""
    seen = record.json(outputs.FIDELITY)
    samples, start = seen["samples"], seen["began_ns"]
    end = start + samples[-1]["ns"] - samples[0]["ns"]
    return disturbance.stolen(start, end), disturbance.away(start, end, PROMISE.rtt)


def rate(hits: int, count: int) -> str:
    """Print a rate with its 95 % interval: '1 of 200, 0.5 % (0.0 to 2.8 %)'."""
    if not count:
        return "-"
    low, high = interval(hits, count)
    return f"{hits} of {count}, {100 * hits / count:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def summary(scores: Sequence[Score]) -> Iterator[Table]:
    """Make a table by level, and of the clear level one by kind and one by length of a burst."""
    yield _table("stolen", scores, lambda score: f"{100 * score.level:g} %")
    clear = [score for score in scores if score.level == CLEAR]
    yield _table(f"at {100 * CLEAR:g} % stolen", clear, lambda score: score.kind)
    yield _table(f"at {100 * CLEAR:g} % stolen, bursts of", clear, lambda score: f"{score.burst_ns / 1e6:g} ms")


def _table(title: str, scores: Iterable[Score], name: Callable[[Score], str]) -> Table:
    made = Table(title, "trials", "really", "away", "count", "figure off", "false-valid", "false-invalid", box=None)
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(name(score), []).append(score)
    for group, having in sorted(groups.items(), key=lambda item: float(re.sub(r"[^\d.].*", "", item[0]) or 0)):
        broken = [score for score in having if score.broken]
        kept = [score for score in having if not score.broken]
        made.add_row(
            group,
            str(len(having)),
            f"{100 * fmean(score.stolen for score in having):.2f} %",
            f"{100 * fmean(score.away for score in having):.2f} %",
            str(sum(score.valid for score in having)),
            str(sum(score.off * PROMISE.share > score.stated for score in having)),
            rate(sum(score.valid for score in broken), len(broken)),
            rate(sum(not score.valid for score in kept), len(kept)),
        )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run everything; return 1 when more than one trial in a hundred is false-valid at the clear level."""
    parser = argparse.ArgumentParser(prog="make fidelity", description="Measure how often the check is wrong.")
    parser.add_argument("--clear", type=int, default=200, help="trials with 2 %% stolen (200)")
    parser.add_argument("--calm", type=int, default=40, help="trials with nothing stolen (40)")
    parser.add_argument("--others", type=int, default=12, help="trials at each other level (12)")
    parser.add_argument("--on", choices=("uml", "host"), default="uml", help="where trials run (uml)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", type=Path, default=SCRATCH / "fidelity.json", help="where every score is kept")
    asked = parser.parse_args(argv)
    cpu = min(os.sched_getaffinity(0))  # the one that a trial gets
    SCRATCH.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="fidelity-", dir=SCRATCH))
    console = Console(highlight=False, width=120)
    scores: list[Score] = []
    try:
        kernel = choose(asked.on, None, "real")
        todo = plans(asked.clear, asked.calm, asked.others, asked.seed)
        for number, plan in enumerate(todo, 1):
            scores.append(score := run(plan, kernel, cpu, scratch))
            shares = f"{100 * score.stolen:.2f} % stolen, {100 * score.away:.2f} % away"
            said = "; ".join(score.reasons) or "counts"
            print(f"{number}/{len(todo)} {score.kind}, {shares}: {said}", file=sys.stderr)
    except KeyboardInterrupt:
        pass
    except LabError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        asked.into.write_text(json.dumps([vars(score) for score in scores]) + "\n")
    for table in summary(scores):
        console.print(table, "")
    clear = [score for score in scores if score.level == CLEAR and score.broken]
    return int(sum(score.valid for score in clear) > 0.01 * len(clear))


if __name__ == "__main__":
    sys.exit(main())
