"""Run claims with one seed after another, and say which verdicts depend on the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from lab.errors import InputError, LabError
from lab.kernel import Budget
from lab.runner.plan import Settings
from lab.spec.loaded import LoadedExperiment
from lab.usecases import running
from lab.usecases.running import Asked, Elsewhere
from lab.verdict import Kind
from lab.verdict.judged import JudgedClaim

__all__ = ["SeededClaim", "Seeds", "asked", "parse", "run"]


@dataclass(frozen=True)
class SeededClaim:
    """Hold a claim as it was judged with each seed."""

    id: str
    judged: dict[int, JudgedClaim]  # by seed

    @property
    def verdicts(self) -> dict[Kind, tuple[int, ...]]:
        """Return each verdict that came with the seeds that gave it, the most frequent first."""
        found: dict[Kind, tuple[int, ...]] = {}
        for seed, judged in self.judged.items():
            kind = judged.result.verdict.kind
            found[kind] = (*found.get(kind, ()), seed)
        return dict(sorted(found.items(), key=lambda each: -len(each[1])))

    @property
    def depends(self) -> bool:
        """Return whether seeds gave different verdicts."""
        return len(self.verdicts) > 1

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "claim": self.id,
            "depends": self.depends,
            "verdicts": self.verdicts,
            "runs": [{"seed": seed, **judged.result.plain()} for seed, judged in self.judged.items()],
        }


@dataclass(frozen=True)
class Seeds:
    """Hold all claims, each with the same seeds, and the errors that trials ended with."""

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

        A verdict that depends on the seed is not the expected one with some seed.
        """
        judged = [each for claim in self.claims for each in claim.judged.values()]
        skipped = any(each.result.verdict.kind == "skipped" for each in judged)
        if skipped or any(error.exit_code == 3 for error in self.errors):
            return 3
        return int(not all(each.passed for each in judged))

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"seeds": list(self.seeds), "claims": [claim.plain() for claim in self.claims]}


def parse(text: str, first: int) -> tuple[int, ...]:
    """Return the seeds that '10' (as many, from `first` on) or '1-5' (these) names. Raises InputError."""
    try:
        least, dash, most = text.partition("-")
        seeds = range(int(least), int(most) + 1) if dash else range(first, first + int(text))
    except ValueError:
        raise InputError(f"--seeds {text}: write how many, as 10, or which, as 1-5") from None
    if not seeds or seeds[0] < 1:
        raise InputError(f"--seeds {text}: at least one seed, and none below 1")
    return tuple(seeds)


def run(
    experiments: Sequence[LoadedExperiment],
    settings: Settings,
    seeds: Sequence[int],
    results: Path,
    jobs: int | None = None,
    budget: Budget = Budget(),
    elsewhere: Elsewhere = Elsewhere(),
    anyway: bool = False,
) -> Seeds:
    """Run what the store lacks, and judge all claims with each seed.

    Raises SpecError, MachineError, Interrupted; NoRoom, unless it is to begin `anyway`.

    A claim that takes ten samples takes the ten next seeds for each: no two verdicts rest on the same trial.
    """
    wanted = asked(experiments, settings, seeds)
    done = running.run_beside(wanted, results, jobs, budget, elsewhere=elsewhere, anyway=anyway)
    judged: dict[str, dict[int, JudgedClaim]] = {loaded.id: {} for loaded in experiments}
    for (_, seed), judgement in zip(product(experiments, seeds), done, strict=True):
        for claim in judgement.judged:
            judged[claim.declared.id][seed] = claim
    errors = tuple(error for judgement in done for error in judgement.errors)
    return Seeds(tuple(seeds), tuple(SeededClaim(claim, by_seed) for claim, by_seed in judged.items()), errors)


def asked(experiments: Sequence[LoadedExperiment], settings: Settings, seeds: Sequence[int]) -> list[Asked]:
    """Return each experiment with each seed, as it is run on its own."""
    pairs = product(experiments, seeds)
    return [([loaded], replace(settings, seed=_start(loaded, seed))) for loaded, seed in pairs]


def _start(loaded: LoadedExperiment, seed: int) -> int:
    """Return the first of a claim's own seeds: 1 for seed 1, and from there on as many for each as it has samples."""
    return (seed - 1) * max(case.samples for case in loaded.cases()) + 1
