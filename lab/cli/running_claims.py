"""Run claims for `lab run`, in every form of the command, and return the exit code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lab.cli import printing, reports
from lab.cli.taking import Clocked
from lab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lab.app.options import RunOptions
    from lab.report.ci.case import Case
    from lab.report.claims import Claims as Judged


def run(
    claims: Sequence[str] | None,
    *,
    options: RunOptions,
    seeds: str | None = None,
    shard: str | None = None,
    balance: Path | None = None,
    build: bool = False,
    begun: float | None = None,
    report: Sequence[str] | None = None,
    as_json: bool = False,
) -> int:
    """Run claims, judge them, store the records and print the result. `lab run --help` explains the arguments."""
    from lab import app as api
    from lab.cli import kernels

    names = kernels.named(options.kernel)
    if len(names) > 1 and (shard or seeds or build):
        raise InputError("--kernel A,B does not go with --shard, --seeds or --build; name one kernel")
    if build and (shard or seeds):
        raise InputError("--build does not go with --shard or --seeds; first run `lab kernel build --variants`")
    if report and (shard or seeds):
        raise InputError("--report is for one run and does not go with --shard or --seeds; leave one of them out")
    if balance and not shard:
        raise InputError("--plan balances shards; give --shard, too")
    wanted = None
    if seeds is not None:
        from lab.app import seeding as seed_numbers

        wanted = seed_numbers.parse(seeds, options.seed)
    if shard is not None:
        from lab.app.extension import hook

        part = hook("shard", "--shard")(shard, *claims or (), seeds=wanted, plan=balance, **options.given())
        printing.answer(part.plain(), part.text, as_json)
        code: int = part.exit_code
        return code
    if wanted:
        from lab.cli import seeding

        several = api.run_seeds(wanted, *claims or (), **options.given(without=["seed"]))
        printing.answer(several.plain(), lambda: seeding.render(several), as_json)
        for said in seeding.remarks(several):
            printing.say(said)
        return several.exit_code
    asked = reports.asked(report)
    if len(names) > 1:
        beside = api.run_kernels(names, *claims or (), **options.given(without=["kernel"]))
        printing.answer(kernels.plain(beside), lambda: kernels.render(beside), as_json)
        for said in kernels.remarks(beside):
            printing.say(said)
        return reports.exit_code(asked, lambda: kernels.cases(beside), kernels.exit_code(beside))
    clocked = Clocked(begun or time.time())
    found = api.run(*claims or (), build=build, judged=clocked.note, **options.given())
    from lab.report import text  # imported late, so that a guest starts sooner

    judged = [claim.judged.result for claim in found]
    printing.answer(found.plain(), lambda: text.blocks(judged), as_json)
    for remark in (remark for claim in found for remark in text.remarks(claim.judged)):
        printing.say(remark)
    if begun and clocked.times:
        printing.say(clocked.said("verdict"))
    return reports.exit_code(asked, lambda: _cases(found), found.exit_code)


def _cases(found: Judged) -> Sequence[Case]:
    from lab.report import cases  # imported late: it draws every claim as text

    return cases.cases(found)
