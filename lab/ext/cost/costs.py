"""Compute the instructions per message, segment, connection or system call, and compare kernels by function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from lab.errors import InputError
from lab.ext.cost.areas import area
from lab.ext.cost.counts import USER, TrialCounts, Unit
from lab.ext.cost.measuring import CaseCost
from lab.guest.saturation import SATURATED
from lab.spec.errors import instead

__all__ = ["CaseFigures", "CostFigure", "FunctionChange", "KernelCost"]

CostOutcome = Literal["same", "changed", "open"]

_UNITS: tuple[Unit, ...] = ("message", "segment", "connection", "system call")
_LEADING: tuple[Unit, ...] = ("message", "segment", "system call")  # the first of these that a workload has is its unit


@dataclass(frozen=True)
class CostFigure:
    """Holds a number of instructions for each seed, and computes its mean and range."""

    by_seed: Mapping[int, float]  # at least one

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(self.by_seed.values())

    @property
    def low(self) -> float:
        """The smallest number."""
        return min(self.by_seed.values())

    @property
    def high(self) -> float:
        """The largest number."""
        return max(self.by_seed.values())

    @property
    def scatter(self) -> float:
        """The largest distance of a seed from the mean, relative to the mean."""
        return max(self.high - self.mean, self.mean - self.low) / self.mean if self.mean else 0.0

    def plain(self) -> dict[str, float]:
        """Return the figure as plain data for JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class FunctionChange:
    """Holds a function's instructions per unit on two kernels, means over the seeds."""

    name: str
    base: float
    new: float

    @property
    def by(self) -> float:
        """The change, in instructions per unit."""
        return self.new - self.base


@dataclass(frozen=True)
class CaseFigures:
    """Computes the figures of one case from its counts."""

    case: CaseCost

    @property
    def name(self) -> str:
        """The names of its arms."""
        return ", ".join(self.case.arms)

    @property
    def unit(self) -> Unit:
        """The unit that fits the workload best: its messages, else segments, else system calls."""
        known = [each.units(self.case.messages) for of in self.case.counts.values() for each in of]
        return next((unit for unit in _LEADING if known and all(unit in each for each in known)), _LEADING[-1])

    def seeds(self, kernel: str) -> tuple[TrialCounts, ...]:
        """Return the counts of a kernel, one for each seed."""
        return tuple(each for each in self.case.counts.get(kernel, ()) if not each.repeat)

    def total(self, kernel: str) -> CostFigure | None:
        """Return all instructions of a trial's workload, or None without counts."""
        return self._figure(kernel, lambda each: each.kernel + each.user)

    def of_kernel(self, kernel: str) -> CostFigure | None:
        """Return the kernel's instructions in a trial's workload, or None without counts."""
        return self._figure(kernel, lambda each: each.kernel)

    def per(self, kernel: str, unit: Unit) -> CostFigure | None:
        """Return the kernel's instructions per unit, or None if the trial had no such unit."""
        return self._figure(kernel, lambda each: _ratio(each.kernel, each.units(self.case.messages).get(unit, 0)))

    def per_call(self, kernel: str, function: str) -> CostFigure | None:
        """Return a function's own instructions per call, or None if the kernel did not call it."""

        def of(each: TrialCounts) -> float | None:
            count = each.functions.get(function)
            return _ratio(count.instructions, count.calls) if count else None

        return self._figure(kernel, of)

    def limited(self) -> dict[str, float]:
        """Return the kernels on which the CPU limited the traffic, with the share of the time that it was busy."""
        shares = {name: max((each.busy for each in self.seeds(name)), default=0.0) for name in self.case.counts}
        return {name: share for name, share in shares.items() if share >= SATURATED}

    def unequal(self, kernel: str) -> list[str]:
        """Return how repeats of one seed differ on a kernel: a sentence for each seed. Empty if all are equal."""
        return [
            f"{self.case.claim} {self.name}, kernel {kernel}, seed {seed.seed}: repeat {each.repeat} took "
            f"{each.kernel + each.user:,} instructions, and repeat 0 took {seed.kernel + seed.user:,}"
            for seed in self.seeds(kernel)
            for each in self.case.counts[kernel]
            if each.seed == seed.seed and (each.user, each.functions) != (seed.user, seed.functions)
        ]

    def functions(self, kernel: str) -> dict[str, float]:
        """Return the instructions of each function per unit, means over the seeds. Programs are one function."""
        counts = self.seeds(kernel)
        total: dict[str, float] = {}
        for each in counts:
            number = each.units(self.case.messages).get(self.unit, 0)
            for name, instructions in _parts(each):
                if number:
                    total[name] = total.get(name, 0.0) + instructions / number / len(counts)
        return total

    def areas(self, kernel: str) -> dict[str, float]:
        """Return the instructions of each area per unit, means over the seeds. A renamed function stays in its area."""
        total: dict[str, float] = {}
        for name, number in self.functions(kernel).items():
            total[area(name)] = total.get(area(name), 0.0) + number
        return total

    def changes(self, base: str, new: str) -> list[FunctionChange]:
        """Return the functions of two kernels, the largest change first."""
        before, after = self.functions(base), self.functions(new)
        found = [FunctionChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}]
        return sorted(found, key=lambda each: (-abs(each.by), each.name))

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON. Functions below 0.1 % of the instructions are left out."""
        return {
            "claim": self.case.claim,
            "arms": list(self.case.arms),
            "unit": self.unit,
            **({"skipped": self.case.skipped} if self.case.skipped else {}),
            "kernels": {name: self._plain(name) for name in (*self.case.counts, *self.case.missing)},
        }

    def _plain(self, kernel: str) -> dict[str, Any]:
        if kernel in self.case.missing:
            return {"missing": self.case.missing[kernel]}
        named = {unit: self.per(kernel, unit) for unit in _UNITS}
        functions = self.functions(kernel)
        least = sum(functions.values()) / 1000
        return {
            "trials": [
                {
                    "trial": each.trial,
                    "seed": each.seed,
                    "repeat": each.repeat,
                    "kernel": each.kernel,
                    "programs": each.user,
                    "busy": round(each.busy, 3),
                    "units": each.units(self.case.messages),
                }
                for each in self.case.counts[kernel]
            ],
            "per": {unit: figure.plain() for unit, figure in named.items() if figure},
            "areas": dict(sorted(self.areas(kernel).items())),
            "functions": {name: number for name, number in sorted(functions.items()) if number >= least},
        }

    def _figure(self, kernel: str, of: Callable[[TrialCounts], float | None]) -> CostFigure | None:
        known = {each.seed: found for each in self.seeds(kernel) if (found := of(each)) is not None}
        return CostFigure(known) if known else None


@dataclass(frozen=True)
class KernelCost:
    """Holds the cost of claims on one or more kernels. With several, the first is the base of the comparison."""

    kernels: Mapping[str, Mapping[str, Any]]  # by name: the kernel's description
    cases: tuple[CaseFigures, ...]
    function: str | None  # the only function to compare; None: the whole kernel
    interest: float  # the smallest relative change that matters

    def figure(self, case: CaseFigures, kernel: str) -> CostFigure | None:
        """Return the figure that decides the comparison."""
        return case.per_call(kernel, self.function) if self.function else case.per(kernel, case.unit)

    @property
    def base(self) -> str:
        """The name of the first kernel."""
        return next(iter(self.kernels))

    def change(self, case: CaseFigures, kernel: str) -> float | None:
        """Return the relative change of the deciding figure from the first kernel to this one, or None."""
        base, new = self.figure(case, self.base), self.figure(case, kernel)
        return new.mean / base.mean - 1 if base and new and base.mean else None

    def changes(self, case: CaseFigures, kernel: str) -> dict[int, float]:
        """Return the relative change of the deciding figure with each seed that both kernels have."""
        base, new = self.figure(case, self.base), self.figure(case, kernel)
        before, after = base.by_seed if base else {}, new.by_seed if new else {}
        return {seed: after[seed] / number - 1 for seed, number in before.items() if number and seed in after}

    def has_changed(self, case: CaseFigures, kernel: str) -> bool:
        """Return whether the figure changed by more than the interest with each seed, always in the same direction.

        A seed gives the same addresses, ports and moments on both kernels, so the kernels are compared seed by seed.
        """
        changes = self.changes(case, kernel).values()
        return bool(changes) and (min(changes) > self.interest or max(changes) < -self.interest)

    def without(self, case: CaseFigures) -> dict[str, str]:
        """Return the kernels that have no deciding figure, and why, by name.

        A function that no kernel called in this case is no figure to compare, so that nothing is missing. Nor is
        anything missing from a case that no distribution kernel can run.
        """
        if case.case.skipped:
            return {}
        found = dict(case.case.missing)
        lacking = [name for name in self.kernels if name not in found and not self.figure(case, name)]
        if not self.function or any(self.figure(case, name) for name in self.kernels):
            reason = f"{self.function} was not called" if self.function else f"there was no {case.unit}"
            found |= dict.fromkeys(lacking, reason)
        return found

    @property
    def unequal(self) -> list[str]:
        """The repeats that differ, in sentences. There should be none."""
        return [said for case in self.cases for kernel in self.kernels for said in case.unequal(kernel)]

    @property
    def outcome(self) -> CostOutcome:
        """What the comparison found. Repeats that differ, and a kernel without a figure, leave it open.

        A change counts even if another case has no figure.
        """
        if self.unequal:
            return "open"
        if any(self.has_changed(case, kernel) for case in self.cases for kernel in self.kernels):
            return "changed"
        figures = any(self.figure(case, name) for case in self.cases for name in self.kernels)
        return "open" if not figures or any(map(self.without, self.cases)) else "same"

    @property
    def exit_code(self) -> int:
        """Return 0 if no figure changed, 1 if one changed, and 2 if there is no answer."""
        return {"same": 0, "changed": 1, "open": 2}[self.outcome]

    def require_function(self) -> None:
        """Raise InputError if no kernel called the function to compare."""
        if self.function is None or any(self.figure(case, name) for case in self.cases for name in self.kernels):
            return
        counts = [each for case in self.cases for of in case.case.counts.values() for each in of]
        known = {name for each in counts for name in each.functions}
        if known:
            raise InputError(
                f"--function {self.function}: no kernel called it{instead(self.function, sorted(known))}; the compiler "
                "may have merged it into its caller"
            )

    def plain(self) -> dict[str, Any]:
        """Return the cost as plain data for JSON."""
        return {
            "kernels": dict(self.kernels),
            "cases": [{**case.plain(), **self._comparison(case)} for case in self.cases],
            "unequal": self.unequal,
            "outcome": self.outcome,
        }

    def _comparison(self, case: CaseFigures) -> dict[str, Any]:
        others = list(self.kernels)[1:]
        if not others:
            return {}
        figures = {name: figure.plain() if (figure := self.figure(case, name)) else None for name in self.kernels}
        return {
            "compared": {"function": self.function, "figures": figures},
            "change": {name: self.change(case, name) for name in others},
            "changes": {name: {str(seed): by for seed, by in self.changes(case, name).items()} for name in others},
            "changed": {name: self.has_changed(case, name) for name in others},
            "without": self.without(case),
        }


def _parts(counts: TrialCounts) -> Iterator[tuple[str, int]]:
    yield USER, counts.user
    yield from ((name, each.instructions) for name, each in counts.functions.items())


def _ratio(instructions: int, number: int) -> float | None:
    return instructions / number if number else None


def figures(cases: Sequence[CaseCost]) -> tuple[CaseFigures, ...]:
    """Return the figures of these cases."""
    return tuple(map(CaseFigures, cases))
