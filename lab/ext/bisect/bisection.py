"""Judge a claim on one commit after another to find the first commit that changes the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.app import running, userlands
from lab.app.options import RunOptions
from lab.base.building import Progress
from lab.errors import InputError, MachineError
from lab.ext.comparison.commits import save
from lab.ext.comparison.compare import ClaimChange, compare
from lab.machine.kernel import BuildFailed, Checkout, UmlKernel, revision
from lab.machine.kernel.uml.history import Commit, History, Outcome
from lab.record.store import Store
from lab.runner.plan import Settings
from lab.spec import loaded
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import JudgedClaim


@dataclass(frozen=True)
class TestedCommit:
    """Holds a commit and the outcome of the claim on it."""

    commit: Commit
    outcome: Outcome
    detail: str


@dataclass(frozen=True)
class Bisection:
    """Holds the candidates for the first bad commit and the results of the search."""

    claim: str
    found: tuple[Commit, ...]  # the newest first; several if some commits could not be tested
    tested: tuple[TestedCommit, ...]
    change: ClaimChange  # the claim on the good revision and on the newest of `found`

    @property
    def exit_code(self) -> int:
        """Return 0 if the search found a single commit, 1 if it found several candidates."""
        return int(len(self.found) > 1)

    def plain(self) -> dict[str, Any]:
        """Return the result of the search as plain data for JSON."""
        return {
            "claim": self.claim,
            "commits": [_plain(each) for each in self.found],
            "tested": [{**_plain(each.commit), "outcome": each.outcome, "detail": each.detail} for each in self.tested],
            "change": self.change.plain(),
        }


@dataclass(frozen=True)
class Search:
    """Holds the claim to run on every commit (in virtual time) and the progress display."""

    declared: LoadedExperiment
    options: RunOptions
    progress: Progress

    def judged(self, kernel: UmlKernel, results: Path) -> JudgedClaim:
        """Return the claim, judged on a kernel. Raises the errors of `running.run`."""
        settings = Settings(kernel, seed=self.options.seed, userland=userlands.chosen("sealed", kernel.on))
        found = running.run((self.declared,), settings, replace(self.options, results=results))
        for error in found.errors:
            if error.exit_code == MachineError.exit_code:  # an error of the machine shows nothing about the commit
                raise error
        return found.judged[0]


def bisect(asked: Search, tree: Path, good: str, bad: str) -> Bisection:
    """Return the commit between two revisions of `tree` that changed the claim.

    The search works in a scratch folder of the store. Raises InputError if a revision is unknown or the claim has equal
    results on both revisions, and BuildFailed if one of the two revisions does not build.
    """
    with Store(asked.options.folder).scratch() as scratch:
        history = History.of(tree, scratch / "history")
        ends = history.commit(good), history.commit(bad)
        checkout = Checkout.of(tree, scratch)

        def judged(commit: Commit) -> JudgedClaim:
            kernel = revision(checkout, commit.id, scratch / "kernels", asked.progress)
            return asked.judged(kernel, scratch / "records")

        return search(asked.declared.id, history, ends, judged, asked.progress)


def search(
    claim: str,
    history: History,
    ends: tuple[Commit, Commit],
    judged: Callable[[Commit], JudgedClaim],
    progress: Progress,
) -> Bisection:
    """Return the result of `bisect`, with `judged` to judge the claim on a commit. Skip commits that do not build.

    A commit is bad if a verdict or a figure differs from the good revision's. If the bad revision changes only packets,
    a commit is bad if packets differ. `judged` raises BuildFailed for a commit that does not build.
    """
    good, bad = ends
    base = judged(good)
    last = _change(base, judged(bad))
    if last is None:
        raise InputError(f"{claim} has no record on {good if not base.records else bad}: nothing to compare with")
    if not (figures := last.has_changed) and not _parts(last):
        raise InputError(f"{claim} is the same on {good} and on {bad} ({last.change}): there is no change to find")
    changes = {bad.id: last}
    tested = [TestedCommit(good, "good", ""), TestedCommit(bad, "bad", _detail(last))]

    def judge(commit: Commit) -> Outcome:
        progress.say(f"trying {commit}")
        try:
            change = _change(base, judged(commit))
        except BuildFailed as error:
            return note(commit, "skip", error.args[0])  # without its log, which is removed with the scratch folder
        if change is None or (change.new.kind == "invalid" != last.new.kind):
            return note(commit, "skip", (change and change.new.reason) or "no trial finished")
        changes[commit.id] = change
        is_bad = change.has_changed if figures else _parts(change)
        return note(commit, "bad" if is_bad else "good", _detail(change))

    def note(commit: Commit, outcome: Outcome, detail: str) -> Outcome:
        tested.append(TestedCommit(commit, outcome, detail))
        progress.say(f"{commit.id[:12]} {outcome}: {detail}")
        return outcome

    found = history.bisect(good, bad, judge)
    return Bisection(claim, found, tuple(tested), changes[found[0].id])


def remember(found: Bisection, folder: Path, good: str, bad: str) -> None:
    """Save a single commit, found between `good` and `bad`, in the store `folder`, next to the change that it makes.

    Several candidates are not saved. Raises MachineError if the disk is full.
    """
    if len(found.found) > 1:
        return
    (commit,) = found.found
    known = f"`lab bisect` found it between {good} and {bad} ({commit.author}, {commit.date})."
    save(folder, loaded.Commit(commit.id[:12], "", commit.subject, (found.claim,), known), found.change)


def _change(base: JudgedClaim, new: JudgedClaim) -> ClaimChange | None:
    """Return the claim's change between two kernels, or None if one of the kernels has no records."""
    return compare((base,), (new,))[0] if base.records and new.records else None


def _parts(change: ClaimChange) -> bool:
    return any(case.packets.divergence for case in change.cases)


def _detail(change: ClaimChange) -> str:
    where = next((found for case in change.cases if (found := case.packets.divergence)), None)
    return change.change + (f", first at packet {where.number}, in {where.what}" if where else "")


def _plain(commit: Commit) -> dict[str, str]:
    return {"commit": commit.id, "author": commit.author, "date": commit.date, "subject": commit.subject}
