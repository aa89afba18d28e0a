"""Judge `lab explain --rebuild` on the transfers of `make explain-truth`: `make rebuild-truth`, or `-m bench.rebuilt`.

Each drawn transfer runs, is rebuilt from one of its captures alone, and runs again as rebuilt. What comes out is how
far the rebuilt transfer's goodput is from the original's. A transfer that is refused counts as missed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from bench.backlog import ENDS
from bench.draw import Drawn
from bench.transfers import KERNEL, draw, options
from lab.app import userlands
from lab.errors import InputError, LabError
from lab.ext.explain import files
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.opening import digest
from lab.ext.explain.planning import plan
from lab.guest import outputs
from lab.guest.trial import Trial
from lab.machine.kernel import choose
from lab.metric import CaptureError
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.plan import trial_of
from lab.runner.progress import shown
from lab.runner.schedule import Runner
from lab.spec import find
from lab.spec.case import Case
from lab.spec.metric import MetricError

CASES = 30
SAMPLES = 3  # seeds, if the rebuilt path loses segments by chance
NEAR = files.WITHIN


@dataclass(frozen=True)
class Rebuilt:
    """Holds one rebuilt transfer: goodputs in bit/s. `reason` tells why there is none."""

    number: int
    program: str
    end: str
    original: float = 0.0
    rebuilt: float = 0.0
    limit: str = ""
    reason: str = ""

    @property
    def error(self) -> float:
        """Return the distance of the logarithms; infinite for a transfer that was not rebuilt."""
        return abs(log(self.rebuilt / self.original)) if self.original and self.rebuilt else float("inf")

    @property
    def near(self) -> bool:
        """Return whether the rebuilt transfer is as near as it should be."""
        return self.error <= log(1 + NEAR)


class Judging:
    """Runs transfers and their rebuilt ones. Trials that the store has do not run again. Raises LabError."""

    def __init__(self, results: Path, jobs: int | None) -> None:
        self._store, self._kernel = Store(results), choose("uml", KERNEL)
        self._userland = userlands.chosen("sealed", "uml")
        self._jobs = jobs

    def run(self, cases: Sequence[Drawn], ends: Sequence[str]) -> Iterator[Rebuilt]:
        """Yield what came of each transfer, for each end."""
        first = {each.number: self._trial(each.case, each.seed) for each in cases}
        done = self._outcomes(first.values())
        planned: dict[tuple[int, str], tuple[Rebuilt, Case | None, list[Trial]]] = {}
        for each in cases:
            record = done[first[each.number].address]
            if not isinstance(record, Record):
                print(f"rebuilt: {each.number}: {record}", file=sys.stderr)
                continue
            for end in ends:
                planned[each.number, end] = self._planned(each, record, end)
        again = self._outcomes([trial for _, _, trials in planned.values() for trial in trials])
        for found, case, trials in planned.values():
            yield _measured(found, case, [again[each.address] for each in trials])

    def _planned(self, each: Drawn, record: Record, end: str) -> tuple[Rebuilt, Case | None, list[Trial]]:
        capture = record.path(outputs.capture(end, "eth0"))
        with tempfile.TemporaryDirectory() as folder:
            pack = Path(folder) / "rebuilt"
            try:
                made = plan(look_closely(capture))
                files.write(made, capture.name, digest(capture), pack)
            except InputError as error:
                return Rebuilt(each.number, each.case.arm, end, reason=str(error)), None, []
            [check] = [one for one in find.find([str(pack)]) if one.id.endswith(f"/{files.CHECK}")]
            case = check.cases()[0]
            seeds = range(1, SAMPLES + 1) if case.samples > 1 else [1]
            limit = next(iter(made.seen.explanation.shares)).value
            found = Rebuilt(each.number, each.case.arm, end, float(made.goodput.bps), limit=limit)
            return found, case, [self._trial(case, seed) for seed in seeds]

    def _trial(self, case: Case, seed: int) -> Trial:
        return trial_of(case, self._kernel, "virtual", seed, userland=self._userland)

    def _outcomes(self, trials: Iterable[Trial]) -> Mapping[str, Record | LabError]:
        wanted = list({each.address: each for each in trials}.values())
        with shown(len(wanted)) as progress:
            return Runner(self._store, [self._kernel], self._jobs).run(wanted, progress)


def _measured(found: Rebuilt, case: Case | None, outcomes: Sequence[Record | LabError]) -> Rebuilt:
    figures = []
    for each in outcomes:
        if case is None or not isinstance(each, Record):
            return Rebuilt(**{**asdict(found), "reason": str(each)})
        try:
            figures.append(case.metric(each).number)
        except (MetricError, CaptureError) as error:
            return Rebuilt(**{**asdict(found), "reason": str(error)})
    return Rebuilt(**{**asdict(found), "rebuilt": mean(figures)}) if figures else found


def table(found: Sequence[Rebuilt], title: str) -> Table:
    """Return how many transfers of each program were rebuilt, and how near they came."""
    made = Table("program", "transfers", "refused", f"within {100 * NEAR:.0f} %", "within 10 %", title=title, box=None)
    for program in [*sorted({each.program for each in found}), ""]:
        own = [each for each in found if program in ("", each.program)]
        counts = (sum(bool(each.reason) for each in own), sum(each.near for each in own),
                  sum(each.error <= log(1.1) for each in own))  # fmt: skip
        made.add_row(program or "all", str(len(own)), *map(str, counts))
    share = 100 * sum(each.near for each in found) / max(len(found), 1)
    made.caption = f"{share:.1f} % within {100 * NEAR:.0f} % of the original's goodput"
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run a draw, print the tables, and return 3 if the machine cannot run it."""
    parser = options("rebuild-truth", "Judge `lab explain --rebuild`.", CASES)
    parser.add_argument("--end", choices=ENDS, action="append", help="the capture; may be repeated (both)")
    asked = parser.parse_args(argv)
    console, ends = Console(highlight=False, width=140), asked.end or ENDS
    try:
        cases = [draw(asked.date, number) for number in asked.only or range(1, asked.cases + 1)]
        found = list(Judging(asked.results, asked.jobs).run(cases, ends))
    except LabError as error:
        print(f"rebuilt: {error}", file=sys.stderr)
        return error.exit_code
    for end in ends:
        console.print(table([each for each in found if each.end == end], f"captured at the {end}"), "")
    (asked.results / f"{asked.date}.rebuilt.json").write_text(
        json.dumps([asdict(each) for each in found], indent=1) + "\n"
    )
    for each in sorted(found, key=lambda each: each.error, reverse=True):
        if not each.near:
            said = each.reason or f"{each.rebuilt / 1e6:.3f} instead of {each.original / 1e6:.3f} Mbit/s; {each.limit}"
            console.print(f"{each.number} {each.program} at the {each.end}: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
