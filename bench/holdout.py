"""Test the models on cases that nobody tuned them to: `make holdout`, or `python -m bench.holdout --help`.

A date decides the cases (`bench.draw`). Each is predicted, and then run in virtual time. What comes out is the
coverage, the distribution of errors of simulations and laws, and the name of every prediction that misses by more than
a hundredth. Trials are kept: a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import draw, several, shared
from bench.draw import KERNELS, Drawn
from bench.scores import QUANTILES, Score, Summary, silences, summaries
from lab.app import userlands
from lab.errors import LabError
from lab.guest.trial import Trial
from lab.machine.kernel import Kernel, choose
from lab.record.date import now
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.plan import trial_of
from lab.runner.progress import shown
from lab.runner.schedule import Runner
from lab.spec.case import CaseKey
from lab.verdict import Verdict
from lab.verdict.judged import judge_records, predict_case
from lab.verdict.predictions import Predictions, model_hash

CASES = 240
DRAWS: Mapping[str, Callable[[str, int], Drawn]] = {
    "transfers": draw.draw,
    "queues": shared.draw,
    "flows": several.draw,
}
SCRATCH = Path("build")


def run(cases: Sequence[Drawn], kernels: Mapping[str, Kernel], results: Path, jobs: int | None) -> list[Score]:
    """Predict the cases, run those that the store lacks, and score all. `kernels` are by name.

    Raises KeyboardInterrupt, with all that is finished in the store.
    """
    store = Store(results)
    kept = {name: Predictions(store.predictions, "", kernel.id) for name, kernel in kernels.items()}
    trials: dict[int, Trial] = {}
    failed: dict[CaseKey, Verdict] = {}
    userland = userlands.chosen("sealed", "uml")
    for drawn in cases:
        try:
            kernel = kernels[drawn.kernel]
            trials[drawn.number] = trial_of(drawn.case, kernel, "virtual", drawn.seed, userland=userland)
        except LabError as missing:
            failed[drawn.case.key] = Verdict("skipped", str(missing))
    predict = {
        trials[drawn.number].address: partial(
            predict_case, drawn.case, kernels[drawn.kernel].describe(), kept[drawn.kernel]
        )
        for drawn in cases
        if drawn.number in trials
    }
    with shown(len(trials)) as progress:
        runner = Runner(store, list(kernels.values()), jobs, before=lambda trial: predict[trial.address]())
        outcomes = runner.run(list(trials.values()), progress)
    for trial in trials.values():
        if isinstance(outcome := outcomes[trial.address], LabError):
            failed[trial.key] = Verdict("invalid", str(outcome))
    records = [outcome for outcome in outcomes.values() if isinstance(outcome, Record)]
    return sorted(
        (score for name in kernels for score in _judged(cases, name, records, kernels[name], kept[name], failed)),
        key=lambda score: score.drawn.number,
    )


def _judged(
    cases: Sequence[Drawn],
    name: str,
    records: Sequence[Record],
    kernel: Kernel,
    predictions: Predictions,
    failed: Mapping[CaseKey, Verdict],
) -> list[Score]:
    """Score the cases of one kernel."""
    having = {drawn.case.key: drawn for drawn in cases if drawn.kernel == name}
    if not having:
        return []
    own = [record for record in records if record.trial.key in having]
    every = [drawn.case for drawn in having.values()]
    judged = judge_records(every, own, kernel.describe(), "virtual", predictions, failed)
    return [Score(having[result.key], result) for result in judged.results]


def plain(day: str, scores: Sequence[Score], kernels: Mapping[str, Kernel]) -> dict[str, Any]:
    """Return all that came out, for JSON."""
    return {
        "date": day,
        "run": now(),
        "model": model_hash(),
        "kernels": {name: kernel.describe() for name, kernel in kernels.items()},
        "all": Summary.of("", scores).plain(),
        "kinds": {each.name: each.plain() for each in summaries(scores, _kind)},
        "by_kernel": {each.name: each.plain() for each in summaries(scores, _kernel)},
        "silences": dict(silences(scores)),
        "misses": [score.drawn.number for score in scores if score.missed],
        "cases": [score.plain() for score in scores],
    }


def tables(scores: Sequence[Score]) -> list[Table]:
    """Make tables of coverage and errors by kind and by kernel, and one of why cases have no score."""
    whole = Summary.of("all", scores)
    return [
        _errors("what is predicted", [*summaries(scores, _kind), whole]),
        _errors("kernel", [*summaries(scores, _kernel), whole]),
        _reasons(scores),
    ]


def _kind(score: Score) -> str:
    return score.drawn.case.arm


def _kernel(score: Score) -> str:
    return score.drawn.kernel


def _errors(title: str, summed: Sequence[Summary]) -> Table:
    made = Table(title, "drawn", "answered", "by", "scored", *_names(), box=None)
    for each in summed:
        rows = [(name, spread) for name, spread in (("simulation", each.simulation), ("law", each.law)) if spread.count]
        for number, (name, spread) in enumerate(rows or [("", each.law)]):
            group = ("", "", "") if number else (each.name, str(each.drawn), str(each.answered))
            made.add_row(*group, name, str(spread.count), *map(_share, spread.quantiles))
    return made


def _share(error: float) -> str:
    return "no ratio" if error == inf else f"{100 * error:.3g} %"


def _names() -> list[str]:
    return ["most" if share == 1 else f"{100 * share:g} % up to" for share in QUANTILES]


def _reasons(scores: Sequence[Score]) -> Table:
    made = Table("cases", "have no score, because", box=None)
    for reason, count in silences(scores):
        made.add_row(str(count), reason)
    return made


def named(score: Score, day: str) -> str:
    """Say in a line what was missed, and how to run it again alone."""
    result, number = score.result, score.drawn.number
    off = f"{100 * result.model_error:+.2f} %" if result.model_error is not None else "no ratio"
    figures = f"predicted {result.predicted}, measured {result.measured} ({off}), law {result.law}"
    drawn = score.drawn.case.point.rpartition("/")[2].removesuffix(str(number))
    of = {"q": "--of queues ", "f": "--of flows "}.get(drawn, "")
    return f"{number}: {_kind(score)} on {_kernel(score)}: {figures}; {of}--date {day} --only {number}"


def _day(text: str) -> str:
    """Return the date in its one form, so that it names one draw. Raises ValueError."""
    return date.fromisoformat(text).isoformat()


def _counted(text: str) -> int:
    """Return a number of 1 or more. Raises ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Run a draw; return 1 when a prediction misses, 3 when the machine cannot run it."""
    parser = argparse.ArgumentParser(prog="make holdout", description="Test the models on cases drawn by a date.")
    parser.add_argument("--date", type=_day, default=now()[:10], help="decides the cases (today's, in UTC)")
    parser.add_argument("--of", choices=tuple(DRAWS), default="transfers", help="what is drawn")
    parser.add_argument("--cases", type=_counted, default=CASES, help=f"how many ({CASES})")
    parser.add_argument("--only", type=_counted, action="append", metavar="N", help="run this case; may be repeated")
    parser.add_argument("--jobs", type=int, help="trials at a time (one for each core)")
    parser.add_argument("--results", type=Path, default=SCRATCH / "holdout", help="where trials are kept")
    parser.add_argument("--into", type=Path, help="where every score is kept (RESULTS/DATE.json; of --only, nowhere)")
    asked = parser.parse_args(argv)
    console = Console(highlight=False, width=120)
    drawing = DRAWS[asked.of]
    cases = [drawing(asked.date, number) for number in asked.only or range(1, asked.cases + 1)]
    try:
        kernels = {name: choose("uml", name) for name in KERNELS if name in {drawn.kernel for drawn in cases}}
        scores = run(cases, kernels, asked.results, asked.jobs)
    except KeyboardInterrupt:
        print("holdout: interrupted: finished trials are kept, run again to go on", file=sys.stderr)
        return 130
    except LabError as error:
        print(f"holdout: {error}", file=sys.stderr)
        return error.exit_code
    found = plain(asked.date, scores, kernels)
    into = asked.into or (None if asked.only else asked.results / f"{asked.date}.{asked.of}.json")
    if into:
        into.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n")
    if asked.only:
        console.print_json(data=found["cases"])
    for table in [*tables(scores), *([several.skills(scores)] if asked.of == "flows" else [])]:
        console.print(table, "")
    missed = [score for score in scores if score.missed]
    allowed = {drawn.allowed for drawn in cases}
    miss = f"{100 * allowed.pop():g} %" if len(allowed) == 1 else "their law states"
    console.print(
        f"{len(missed)} of {len(scores)} predictions miss by more than {miss}", f"model {found['model'][:12]}"
    )
    for score in missed:
        console.print(named(score, asked.date))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
