"""Pack claims into one file: experiments, records, predictions and pages, and the trials' kernels and userlands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.base.building import Progress, terminable
from lab.errors import InputError
from lab.ext.bundle import program, writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.part import EXPERIMENTS, KERNELS, NOTEBOOKS, REPORT, RESULTS, TOPOLOGIES, USERLANDS, Part
from lab.guest.trial import HOST
from lab.machine.kernel import installed
from lab.machine.kernel.base import KernelMissing
from lab.machine.userland import builder, cache
from lab.machine.userland.cache import UserlandMissing
from lab.record.record import Record
from lab.record.store import Store
from lab.report import notebooks
from lab.runner.progress import name
from lab.spec import shipped
from lab.spec.loaded import LoadedExperiment
from lab.verdict import predictions
from lab.verdict.judged import JudgedClaim, judge_stored

KERNEL_FILES = frozenset({"config", "kernel.json", "linux"})  # without the log, which names folders of this machine


@dataclass(frozen=True)
class Bundled:
    """Describes the written bundle."""

    file: Path
    id: str
    claims: tuple[str, ...]
    records: int
    kernels: tuple[str, ...]
    userlands: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return the bundle as plain data for JSON."""
        return {
            "bundle": str(self.file),
            "id": self.id,
            "bytes": self.file.stat().st_size,
            "claims": list(self.claims),
            "records": self.records,
            "kernels": list(self.kernels),
            "userlands": list(self.userlands),
        }


def bundle(
    experiments: Iterable[LoadedExperiment],
    results: Path,
    report: Path | None,
    out: Path,
    progress: Progress,
    others: Iterable[Record] = (),
) -> Bundled:
    """Write the bundle `out` with the claims that have records in the store `results`, and the pages in `report`.

    `others` are records of the store that belong to no claim. Raises InputError without records or if `out` exists,
    RecordError for a damaged record, and MachineError if a trial's kernel or userland is missing or the disk is full.
    """
    store = Store(results)
    progress.say("judging the records")
    judged = [claim for claim in judge_stored(experiments, store, store.predictions) if claim.records]
    claimed = (record for claim in judged for record in claim.records)
    records = sorted({record.address: record for record in (*claimed, *others)}.items())
    if not records:
        raise InputError(f"{results} has no records of these claims; `lab run` makes them")
    with store.held():
        return _bundled(judged, [record for _, record in records], store, report, out, progress)


def _bundled(
    judged: Sequence[JudgedClaim],
    trials: Sequence[Record],
    store: Store,
    report: Path | None,
    out: Path,
    progress: Progress,
) -> Bundled:
    for record in trials:
        record.verify()
    kernels, userlands = _kernels(trials), _userlands(trials)
    parts = [*kernels, *userlands, *_declared(judged), *_records(trials), *_predictions(judged, store.predictions)]
    if report is not None:
        parts.append(Part(REPORT, report, "The pages that show these claims"))
    claims = tuple(claim.declared.id for claim in judged)
    with terminable(), TemporaryDirectory(prefix="replab-program-") as scratch:
        own = builder.build("lab", progress)
        progress.say("packing the lab")
        packed = Path(scratch, "program.zip")
        program.make(packed, own.tree, shipped.PACKAGE, shipped.folder())
        contents = writer.write(out, parts, _about(judged, trials), packed, progress)
    return Bundled(out, contents.id, claims, len(trials), _ids(kernels), _ids(userlands))


class _Trial(Part):
    """Describes a record. In the bundle, the outputs have the form in which the trial left them."""

    __slots__ = ()

    def contents(self) -> Iterator[tuple[str, Path]]:
        with Record(self.source).unpacked() as folder:
            yield from Part(self.path, folder, self.about).contents()


def _ids(parts: Iterable[Part]) -> tuple[str, ...]:
    return tuple(part.source.name for part in parts)


def _about(judged: Sequence[JudgedClaim], records: Sequence[Record]) -> About:
    titles = dict.fromkeys(claim.declared.article.title for claim in judged)
    said = "; ".join(f"{claim.declared.id}: {claim.result.verdict.kind}" for claim in judged)
    newest = max(record.started for record in records)[:10]
    if not judged:
        names = ", ".join(sorted({record.trial.claim for record in records}))
        return About(f"Records of {names}", "Run by replab.", newest, version("replab"))
    return About(f"Claims of {', '.join(titles)}", f"Judged by replab: {said}.", newest, version("replab"))


def _kernels(records: Iterable[Record]) -> list[Part]:
    """Return the user-mode kernels of the trials, and the base kernels of any variants among them.

    Raises KernelMissing.
    """
    ran = [record.trial for record in records if record.trial.on == "uml"]
    wanted = {trial.kernel["id"] for trial in ran} | {trial.kernel["base"] for trial in ran if "base" in trial.kernel}
    here = {kernel.id: kernel for kernel in installed()}
    parts = []
    for ident in sorted(wanted):
        if ident not in here:
            raise KernelMissing(
                f"kernel {ident}, on which trials ran, is no longer here; run `lab kernel build`, then retry"
            )
        kernel = here[ident]
        about = f"Kernel {kernel.name}: user-mode Linux {kernel.version}, HZ {kernel.hz}"
        parts.append(Part(f"{KERNELS}/{ident}", kernel.path.parent, about, only=KERNEL_FILES))
    return parts


def _userlands(records: Iterable[Record]) -> list[Part]:
    """Return the userlands that the guests booted. Raises UserlandMissing."""
    parts = []
    for ident in sorted({record.trial.userland for record in records} - {HOST}):
        found = cache.load(ident)
        if found is None:
            raise UserlandMissing(f"userland {ident}, on which trials ran, is no longer here; run `lab userland build`")
        about = "The userland of guests: programs and libraries of Debian, unpacked"
        parts.append(Part(f"{USERLANDS}/{ident}", found.tree.parent, about, sealed=True))
    return parts


def _declared(judged: Sequence[JudgedClaim]) -> Iterator[Part]:
    """Yield experiments with all files in their folders, their topologies, and their notebooks."""
    parts: dict[str, Part] = {}
    said = {claim.declared.path: claim.declared.claim for claim in judged}
    for claim in judged:
        declared = claim.declared
        article = declared.article.name
        for file in sorted(path for path in declared.path.parent.iterdir() if path.is_file()):
            path = f"{EXPERIMENTS}/{article}/{file.name}"
            parts.setdefault(path, Part(path, file, said.get(file, f"Of the article {article}")))
        drawn = declared.topology.path
        if drawn.parent != declared.path.parent:
            path = f"{TOPOLOGIES}/{drawn.name}"
            parts.setdefault(path, Part(path, drawn, declared.topology.about))
    wanted = {notebooks.INDEX, *(claim.declared.article.name for claim in judged)}
    for title, file in notebooks.found().items():
        if title in wanted:
            path = f"{NOTEBOOKS}/{file.name}"
            parts[path] = Part(path, file, f"The notebook {title}")
    yield from parts.values()


def _records(records: Iterable[Record]) -> Iterator[Part]:
    for record in records:
        place = f"{RESULTS}/{record.address[:2]}/{record.address}"
        yield _Trial(place, record.folder, f"Record of the trial {name(record.trial)}")


def _predictions(judged: Iterable[JudgedClaim], folder: Path) -> Iterator[Part]:
    """Yield the predictions for these claims in the store."""
    for kept in predictions.kept_for(folder, {claim.declared.id for claim in judged}):
        place = f"{RESULTS}/{folder.name}/{kept.folder.name}"
        yield Part(place, kept.folder, f"Prediction for {kept.about}", only=kept.files)
