"""Run claims with one seed after another, and find which verdicts depend on the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from lab.app import running
from lab.app.running import Asked
from lab.errors import InputError, LabError
from lab.runner.plan import Settings
from lab.spec.loaded import LoadedExperiment
from lab.verdict import Kind, depends
from lab.verdict.judged import JudgedClaim

if TYPE_CHECKING:
    from lab.app.options import RunOptions

MOST, LAST = 10_000, 2**32  # the most seeds at once, and the highest; a trial's own seed has 64 bits


@dataclass(frozen=True)
class SeededClaim:
    """Holds a claim's judgement with each seed."""

    id: str
    judged: dict[int, JudgedClaim]  # by seed

    @property
    def verdicts(self) -> dict[Kind, tuple[int, ...]]:
        """Return the seeds that gave each verdict, the most frequent verdict first."""
        found: dict[Kind, tuple[int, ...]] = {}
        for seed, judged in self.judged.items():
            kind = judged.result.verdict.kind
            found[kind] = (*found.get(kind, ()), seed)
        return dict(sorted(found.items(), key=lambda each: -len(each[1])))

    @property
    def depends(self) -> bool:
        """Return whether seeds gave different verdicts."""
        return depends(self.verdicts)

    @property
    def is_declared(self) -> bool:
        """Return whether the claim declares with `other_seeds` all verdicts that the seeds gave."""
        return all(judged.passed for judged in self.judged.values())

    def plain(self) -> dict[str, Any]:
        """Return the judgements as plain data for JSON."""
        return {
            "claim": self.id,
            "depends": self.depends,
            "verdicts": self.verdicts,
            "runs": [{"seed": seed, **judged.result.plain()} for seed, judged in self.judged.items()],
        }


@dataclass(frozen=True)
class Seeds:
    """Holds all claims, each with the same seeds, and the errors of failed trials."""

    seeds: tuple[int, ...]
    claims: tuple[SeededClaim, ...]
    errors: tuple[LabError, ...]

    @property
    def depending(self) -> tuple[SeededClaim, ...]:
        """Return the claims whose verdict depends on the seed."""
        return tuple(claim for claim in self.claims if claim.depends)

    @property
    def exit_code(self) -> int:
        """Return 3 if the machine could not run a trial, 1 if a verdict or a model is not as expected, else 0.

        A claim whose verdict depends on the seed declares the further verdicts with `other_seeds`.
        """
        judged = [each for claim in self.claims for each in claim.judged.values()]
        skipped = any(each.result.verdict.kind == "skipped" for each in judged)
        if skipped or any(error.exit_code == 3 for error in self.errors):
            return 3
        return int(not all(each.passed for each in judged))

    def plain(self) -> dict[str, Any]:
        """Return the judgements as plain data for JSON."""
        return {"seeds": list(self.seeds), "claims": [claim.plain() for claim in self.claims]}


def parse(text: str, first: int) -> tuple[int, ...]:
    """Return the seeds of '10' (ten seeds from `first` on) or '1-5' (seeds 1 to 5). Raises InputError."""
    try:
        least, dash, most = text.partition("-")
        seeds = range(int(least), int(most) + 1) if dash else range(first, first + int(text))
    except ValueError:
        raise InputError(
            f"--seeds {text} gives no seeds; write a number of seeds, like 10, or a range, like 1-5"
        ) from None
    if not seeds or seeds[0] < 1:
        raise InputError(f"--seeds {text} has no seed, or one below 1; write a number like 10, or a range like 1-5")
    if seeds[-1] - seeds[0] >= MOST or seeds[-1] > LAST:
        raise InputError(f"--seeds {text} is too large; use at most {MOST:,} seeds, and none above {LAST:,}")
    return tuple(seeds)


def run(
    experiments: Sequence[LoadedExperiment],
    settings: Settings,
    seeds: Sequence[int],
    options: RunOptions,
) -> Seeds:
    """Run missing trials, and return all claims judged with each seed.

    A claim of ten samples uses the next ten seeds for each judgement, so that no two verdicts depend on the same trial.
    Raises SpecError, MachineError, Interrupted, and NoRoom unless `anyway`.
    """
    wanted = asked(experiments, settings, seeds)
    done = running.run_beside(wanted, options)
    judged: dict[str, dict[int, JudgedClaim]] = {loaded.id: {} for loaded in experiments}
    for (_, seed), judgement in zip(product(experiments, seeds), done, strict=True):
        for claim in judgement.judged:
            judged[claim.declared.id][seed] = claim
    errors = tuple(error for judgement in done for error in judgement.errors)
    return Seeds(tuple(seeds), tuple(SeededClaim(claim, by_seed) for claim, by_seed in judged.items()), errors)


def asked(experiments: Sequence[LoadedExperiment], settings: Settings, seeds: Sequence[int]) -> list[Asked]:
    """Return a separate run for each experiment with each seed."""
    pairs = product(experiments, seeds)
    return [([loaded], replace(settings, seed=_start(loaded, seed))) for loaded, seed in pairs]


def _start(loaded: LoadedExperiment, seed: int) -> int:
    """Return the first seed of a claim's trials: 1 for seed 1, plus the number of samples for each further seed."""
    return (seed - 1) * max(case.samples for case in loaded.cases()) + 1
