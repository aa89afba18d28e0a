"""Create an atlas: run claims and scripts on several kernels, and write pages about the changes between the kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.app import running
from lab.app.options import RunOptions, SuiteOptions
from lab.base import version, writing
from lab.errors import InputError
from lab.ext.atlas.atlas import STYLE, Atlas, AtlasCommit
from lab.ext.atlas.known import KNOWN
from lab.ext.suites.packetdrill import running as scripts
from lab.ext.suites.packetdrill.scripts import Script
from lab.ext.suites.script import judge
from lab.machine.kernel import UmlKernel, installed
from lab.machine.kernel import find as find_kernel
from lab.machine.kernel.uml.history import History
from lab.record.store import Store
from lab.report import page
from lab.runner.plan import Settings
from lab.spec import find
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import judge_stored


def kernels() -> tuple[UmlKernel, ...]:
    """Return the default kernel of each built series, the oldest series first."""
    names = {kernel.name for kernel in installed() if kernel.answers_to(None)}
    return tuple(find_kernel(name) for name in sorted(names, key=version.order))


def wanted(claims: Sequence[str]) -> tuple[LoadedExperiment, ...]:
    """Return these claims. Default: all claims of articles, and the claims that show a known change."""
    if claims:
        return find.find(claims)
    evidence = [name for known in KNOWN for name in (*known.claims, *(pair.claim for pair in known.arms))]
    found = {each.id: each for each in (*find.find(), *find.find(dict.fromkeys(evidence)))}
    return tuple(found.values())


def performed(
    experiments: Sequence[LoadedExperiment],
    found: Sequence[Script],
    settings: Sequence[Settings],
    options: SuiteOptions,
) -> Atlas:
    """Return the atlas of these claims and scripts. Run missing trials on each kernel. Raises the errors of a run."""
    names = _names(settings)
    done = running.run_beside([(experiments, each) for each in settings], RunOptions(**options.given()))
    ran = [scripts.run(found, each, options).scripts if found else () for each in settings]
    judged = {name: judgement.judged for name, judgement in zip(names, done, strict=True)}
    return Atlas(names, judged, dict(zip(names, ran, strict=True)))


def kept(
    experiments: Sequence[LoadedExperiment], found: Sequence[Script], settings: Sequence[Settings], results: Path
) -> Atlas:
    """Return the atlas from the store's records, without running trials. Scripts without a record are omitted."""
    names, store = _names(settings), Store(results)
    claims, ran = {}, {}
    for name, each in zip(names, settings, strict=True):
        claims[name] = judge_stored(experiments, store, store.predictions, each.kernel.id)
        trials = ((script, scripts.trial_of(script, each).address) for script in found)
        ran[name] = tuple(
            judge(script.name, script.group, address, record)
            for script, address in trials
            if (record := store.get(address))
        )
    return Atlas(names, claims, ran)


def commits(tree: Path) -> Mapping[str, AtlasCommit]:
    """Return the known commits that a git tree contains. Raises InputError."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="lab-") as scratch:
        history = History.of(tree, Path(scratch) / "history")
        for known in KNOWN:
            if known.commit:
                try:
                    commit = history.commit(known.commit)
                except InputError:
                    continue  # the tree is shallow, or older than the commit
                found[known.commit] = AtlasCommit(commit.date, commit.author, commit.subject)
    return found


def write(atlas: Atlas, folder: Path) -> tuple[Path, ...]:
    """Write the pages atomically, and return their files, the index first. Raises MachineError."""
    texts = {**atlas.pages(), STYLE: page.style()}
    for name, text in texts.items():
        writing.write(text, folder / name)
    return tuple(folder / name for name in texts if name != STYLE)


def _names(settings: Iterable[Settings]) -> tuple[str, ...]:
    """Return the kernels' names. Raises InputError unless there are at least two different names."""
    names = tuple(each.kernel.name for each in settings)
    if len(names) < 2 or len({*names}) < len(names):
        raise InputError(
            f"an atlas needs two or more different kernels, not {', '.join(names) or 'none'}; name two with --kernel"
        )
    return names
