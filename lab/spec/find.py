"""Find topologies and experiments: first in the project, then in the lab, then in packs.

A topology is named after its file. An experiment's id is article/claim: the names of its folder and its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lab.base.moving import entries
from lab.errors import InputError
from lab.spec import article, history, python, shipped, topo
from lab.spec import load as loader
from lab.spec import topology as topology_files
from lab.spec.errors import Problem, SpecError, display, suggestion
from lab.spec.loaded import LoadedExperiment
from lab.spec.topology import Topology
from lab.spec.variant import ResolvedVariant

TOPOLOGY_SUFFIXES = (".yaml", ".yml")
LISTED = "; `lab list` shows all of them"


def topologies(near: Iterable[Path] = ()) -> dict[str, Path]:
    """Return the files of all topologies by name, sorted. The directories in `near` come before all others."""
    found: dict[str, Path] = {}
    for root in (*near, *shipped.places()):
        found = _topologies(root) | found
    return dict(sorted(found.items()))


def _topologies(root: Path) -> dict[str, Path]:
    """Return the files of a folder's own topologies, by name."""
    files = [path for path in entries(root / "topologies") if path.suffix in TOPOLOGY_SUFFIXES]
    return {path.stem: path for path in reversed(files) if not path.name.startswith(".")}


def experiments() -> dict[str, Path]:
    """Return the files of all experiments by id, sorted with numbers in order: delay-10ms before delay-100ms."""
    return _found(shipped.places())


def _found(places: Iterable[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in places:
        for path in _experiments(root):
            found.setdefault(f"{path.parent.name}/{path.stem}", path)
    return {claim: found[claim] for claim in sorted(found, key=_natural)}


def _experiments(root: Path) -> list[Path]:
    return [path for folder in entries(root / shipped.EXPERIMENTS) for path in shipped.experiments(folder)]


def _histories() -> list[Path]:
    folders = dict.fromkeys(path.parent for path in experiments().values())
    return [folder / history.FILE for folder in folders if (folder / history.FILE).exists()]


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def topology(name: str) -> Topology:
    """Return the topology with this name or file.

    A file is YAML, or Python with a Mininet `Topo` (FILE.py or FILE.py:ENTRY).
    Raises InputError if there is no such topology, and SpecError for mistakes in the file.
    """
    if found := _in_file(name, Path()):
        return found
    known = topologies()
    if name not in known and Path(name).exists():
        files = "a YAML file, or a Python file with a Mininet Topo; `lab import` reads other tools' files"
        raise InputError(f"{name} is not a topology; name {files}")
    if name not in known:
        raise InputError(f"unknown topology '{name}'{suggestion(name, known) or LISTED}")
    return topology_files.load(known[name])


def find(selectors: Iterable[str] = ()) -> tuple[LoadedExperiment, ...]:
    """Return the experiments that `selectors` name. Default: all experiments except those in packs.

    A selector is an id, an article, a FILE.py, a pack, any pack folder, or FOLDER/CLAIM for a claim of a pack folder.
    Each experiment appears once, in the order of the selectors. Raises InputError for an unknown selector, and
    SpecError for mistakes in files.
    """
    loaded, problems = readable(selectors)
    if problems:
        raise SpecError(problems)
    return loaded


def readable(selectors: Iterable[str] = ()) -> tuple[tuple[LoadedExperiment, ...], tuple[Problem, ...]]:
    """Return those experiments of `find(selectors)` that can be read, and the mistakes in the others.

    Raises InputError for an unknown selector.
    """
    selectors = tuple(selectors)
    if selectors and all(selector.endswith(".py") for selector in selectors):  # there is nothing to look for
        return _load_all(dict.fromkeys(Path(selector).absolute() for selector in selectors))
    known = experiments()
    articles: dict[str, list[Path]] = {}
    for claim, path in known.items():
        articles.setdefault(claim.split("/")[0], []).append(path)
    paths: list[Path] = []
    packs = shipped.packs()
    for selector in selectors:
        if selector.endswith(".py"):
            paths.append(Path(selector).absolute())
        elif selector in known:
            paths.append(known[selector])
        elif selector in articles:
            paths += articles[selector]
        elif folder := packs.get(selector) or _pack(Path(selector)):
            if not (own := list(_found([folder]).values())):
                raise InputError(f"{selector} has no experiment; write one in {selector}/experiments/ARTICLE/CLAIM.py")
            paths += own
        elif own := _in_pack(selector):
            paths += own
        else:
            if Path(selector).exists():
                ours = "name a FILE.py, or a claim of `lab list`; `lab import` reads other tools' files"
                raise InputError(f"{selector} is not an experiment or a pack; {ours}")
            hint = suggestion(selector, [*known, *articles, *packs]) or LISTED
            raise InputError(f"unknown claim, article or pack '{selector}'{hint}")
    return _load_all(dict.fromkeys(paths or _found(shipped.roots()).values()))


def is_known(name: str) -> bool:
    """Return whether a claim, an article or a pack has this name, or the name is a file's or a pack folder's."""
    known = experiments()
    named = name in known or any(claim.startswith(f"{name}/") for claim in known) or name in shipped.packs()
    return named or name.endswith(".py") or _pack(Path(name)) is not None or bool(_in_pack(name))


def variants() -> list[ResolvedVariant]:
    """Return the kernel variants that experiments use. Raises SpecError for mistakes."""
    cases = (case for loaded in find() for case in loaded.cases())
    return list(dict.fromkeys(case.kernel for case in cases if case.kernel))


def check(files: Iterable[Path] = ()) -> list[Problem]:
    """Return every mistake in these topologies and experiments (default: all), with each arm and point resolved."""
    paths = list(files) or [*topologies().values(), *experiments().values(), *_histories()]
    problems: set[Problem] = set()
    for path in paths:
        try:
            if path.suffix == ".py":
                _load(path).cases()
            elif path.name == "article.yaml":
                article.load(path.parent)
            elif path.name == history.FILE:
                history.load(path.parent)
            elif path.suffix in TOPOLOGY_SUFFIXES:
                problems.update(_unknown_controls(topology_files.load(path)))
            else:
                problems.add(
                    Problem(
                        display(path), 1, "neither a topology (.yaml) nor an experiment (.py); name a file of one kind"
                    )
                )
        except SpecError as error:
            problems.update(error.problems)
    return sorted(problems)


def _unknown_controls(topology: Topology) -> list[Problem]:
    """Return the topology's unknown congestion controls, or [] if a claim runs the topology on a kernel of its own."""
    found = list(topology.unknown_controls())
    if not found:
        return []
    users = [each for each in readable()[0] if each.topology.path == topology.path]
    return [] if any(each.has_own_kernel() for each in users) else found


def _load_all(paths: Iterable[Path]) -> tuple[tuple[LoadedExperiment, ...], tuple[Problem, ...]]:
    loaded: list[LoadedExperiment] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            loaded.append(_load(path))
        except SpecError as error:
            problems += error.problems
    return tuple(loaded), tuple(sorted(set(problems)))


def _load(path: Path) -> LoadedExperiment:
    return loader.load(path, _topology_of)


def _in_file(name: str, folder: Path) -> Topology | None:
    """Return the topology in the file `name`, relative to `folder`; None if `name` is not a file name."""
    if Path(name).suffix in TOPOLOGY_SUFFIXES:
        return topology_files.load(folder / name)
    file, _, entry = name.partition(":")
    return topo.load(folder / file, entry) if file.endswith(".py") else None


def _topology_of(wanted: str | Callable[[], Any], experiment: Path) -> Topology:
    """Return the topology that an experiment names: a path from its folder, a name (its own tree first) or a Topo."""
    if not isinstance(wanted, str):
        return topo.convert(wanted, experiment)
    if found := _in_file(wanted, experiment.parent):
        return found
    near = experiment.parents[:3]
    for root in near:
        if wanted in (own := _topologies(root)):
            return topology_files.load(own[wanted])
    known = topologies(near)
    if wanted not in known:
        line = python.line_of(experiment, ("Experiment", "Study"), "topology")
        message = f"unknown topology '{wanted}'{suggestion(wanted, known) or LISTED}"
        raise SpecError([Problem(display(experiment), line, message)])
    return topology_files.load(known[wanted])


def _pack(folder: Path) -> Path | None:
    """Return the folder's absolute path if it is a pack, else None."""
    return folder.absolute() if (folder / "experiments").is_dir() else None


def _in_pack(selector: str) -> list[Path]:
    """Return the files of the claims that FOLDER/CLAIM names in a pack folder, or [] if it names none."""
    path = Path(selector)
    folder = _pack(path.parent) if "/" in selector else None
    return [file for file in _found([folder]).values() if file.stem == path.name] if folder else []
