"""Read the cases of the judge's pack: each case's question, its scale, and the reference figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.ext.cc.scale import Scale
from lab.spec import document, find, shipped
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, suggestion, told
from lab.spec.loaded import LoadedExperiment
from lab.units import UnitError, Value

PACK, SCORES, REFERENCES = "congestion-judge", "scores.yaml", "references.yaml"
MIXTURE = "rfc9743/mixture"  # the study of `--against`, which has no points
_TEXTS = ("title", "criterion", "figure", "because", "law", "blind")
_KEYS = (*_TEXTS, "none", "all", "quick", "path")


@dataclass(frozen=True)
class JudgeCase:
    """Describes one case of the judge: a study of the pack, and how its figure becomes points."""

    study: LoadedExperiment
    title: str
    criterion: str
    figure: str  # the study's figure that earns points
    scale: Scale
    law: str  # what explains the references' figures, or "open"
    blind: str  # what the case cannot tell
    is_quick: bool
    varies: bool  # whether it also runs on changed paths
    references: Mapping[str, tuple[Value, ...]]  # the figures of well-known congestion controls, from seed 1 on

    @property
    def name(self) -> str:
        """The case's id: that of its study."""
        return self.study.id


@dataclass(frozen=True)
class JudgePack:
    """Holds the pack's cases in their order, and the study of mixtures."""

    cases: tuple[JudgeCase, ...]
    mixture: LoadedExperiment
    measured_on: str  # the kernel of the reference figures; "" without any


def load() -> JudgePack:
    """Return the pack. The project's pack of this name comes before the lab's.

    Raises InputError if there is no pack, and SpecError for mistakes in its files.
    """
    folder = shipped.packs().get(PACK)
    if folder is None:
        raise InputError(f"there is no pack '{PACK}' here, nor in the lab")
    studies = {study.id: study for study in find.find([str(folder)])}
    scores = document.read(folder / SCORES)
    references = _references(folder / REFERENCES)
    if problems := list(_mistakes(scores, studies)):
        raise SpecError(problems)
    cases = tuple(_case(scores, name, studies[name], references.get(name, {})) for name in scores.data)
    return JudgePack(cases, studies[MIXTURE], str(references.get("kernel", "")))


def _references(file: Path) -> Mapping[str, Any]:
    return document.read(file).data if file.exists() else {}


def _mistakes(scores: Document, studies: Mapping[str, LoadedExperiment]) -> Iterator[Problem]:
    """Yield the mistakes in the file with the scales."""
    if MIXTURE not in studies:
        yield scores.problem((), f"the pack has no study {MIXTURE}; add it")
    for name, keys in scores.data.items():
        if name not in studies:
            yield scores.problem((name,), f"{name}: unknown study{suggestion(name, studies)}")
            continue
        if not isinstance(keys, dict):
            yield scores.problem((name,), f"{name}: should be a mapping of keys to values")
            continue
        for key in keys:
            if key not in _KEYS:
                yield scores.problem((name, key), f"{name}: {key}: unknown key{suggestion(key, _KEYS)}")
        for key in (*_TEXTS, "none", "all"):
            if key not in keys:
                yield scores.problem((name,), f"{name}: missing: {key}")
        figures = [case.figure for case in studies[name].cases()]
        if (figure := str(keys.get("figure"))) not in figures:
            yield scores.problem((name, "figure"), f"{name}: unknown figure '{figure}'{suggestion(figure, figures)}")
        yield from _mistakes_in_scale(scores, name, keys)


def _mistakes_in_scale(scores: Document, name: str, keys: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("none", "all"):
        try:
            _bound(keys.get(key), key)
        except UnitError as error:
            yield scores.problem((name, key), f"{name}: {key}: {told(error)}")


def _bound(given: Any, key: str) -> Value | None:
    """Return an end of a scale; None for the full buffer."""
    return None if given == "buffer" and key == "none" else Value.of(given)


def _case(scores: Document, name: str, study: LoadedExperiment, references: Mapping[str, Any]) -> JudgeCase:
    keys = scores.data[name]
    texts = {key: " ".join(str(keys[key]).split()) for key in _TEXTS}
    all_ = Value.of(keys["all"])
    return JudgeCase(
        study=study,
        title=texts["title"],
        criterion=texts["criterion"],
        figure=texts["figure"],
        scale=Scale(_bound(keys["none"], "none"), all_, texts["because"]),
        law=texts["law"],
        blind=texts["blind"],
        is_quick=keys.get("quick") is True,
        varies=keys.get("path") is True,
        references={
            control: tuple(Value(float(number), all_.unit) for number in numbers)
            for control, numbers in references.items()
        },
    )
