"""Read the cases of the judge's pack: each case's question, its scale, and the reference figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import float_info
from typing import Any

from lab.errors import InputError
from lab.ext.cc import flows, laws
from lab.ext.cc.laws import ReferenceLaw
from lab.ext.cc.scale import Scale
from lab.spec import document, find, shipped
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, suggestion, told
from lab.spec.loaded import LoadedExperiment
from lab.units import UnitError, Value, in_unit, to_plain

PACK, SCORES, REFERENCES, LAWS = "congestion-judge", "scores.yaml", "references.yaml", "laws.yaml"
MIXTURE = "rfc9743/mixture"  # the study of `--against`, which has no points
_TEXTS = ("title", "criterion", "figure", "because", "blind")
_PROSE = ("title", "because", "blind")  # changes no score
_KEYS = (*_TEXTS, "none", "all", "quick", "path")


@dataclass(frozen=True)
class JudgeCase:
    """Describes one case of the judge: a study of the pack, and how its figure becomes points."""

    study: LoadedExperiment
    title: str
    criterion: str
    figure: str  # the study's figure that earns points
    scale: Scale
    blind: str  # what the case cannot tell
    is_quick: bool
    varies: bool  # whether it also runs on changed paths
    references: Mapping[str, tuple[Value, ...]]  # the figures of well-known congestion controls, from seed 1 on
    laws: Mapping[str, ReferenceLaw]  # explain the figures of `references`

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
    scales: str  # a hash of all that decides a score, which tells the scores of two versions of the pack apart


def load() -> JudgePack:
    """Return the pack. The project's pack of this name comes before the lab's.

    Raises InputError if there is no pack, and SpecError for mistakes in its files.
    """
    folder = shipped.packs().get(PACK)
    if folder is None:
        raise InputError(f"there is no pack '{PACK}' here, nor in the lab")
    studies = {study.id: study for study in find.find([str(folder)])}
    scores = document.read(folder / SCORES)
    references, explained = _optional(folder / REFERENCES), _optional(folder / LAWS)
    if problems := [*_mistakes(scores, studies), *_mistakes_in_references(references)]:
        raise SpecError(problems)
    units = {name: Value.of(keys["all"]).unit for name, keys in scores.data.items()}
    controls = {control for name, given in references.data.items() if name != "kernel" for control in given}
    if problems := list(laws.mistakes(explained, units, sorted(controls))):
        raise SpecError(problems)
    cases = tuple(
        _case(scores, name, studies[name], references.data.get(name, {}), explained.data.get(name, {}))
        for name in scores.data
    )
    return JudgePack(cases, studies[MIXTURE], str(references.data.get("kernel", "")), _version(scores, studies))


def _version(scores: Document, studies: Mapping[str, LoadedExperiment]) -> str:
    """Return a hash of all that decides a score: the meaning of each case's source, its network, and its scale."""
    decides = {
        name: [
            studies[name].source_sha256,
            to_plain(studies[name].topology.network),
            {key: value for key, value in keys.items() if key not in _PROSE},
        ]
        for name, keys in scores.data.items()
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _optional(file: Path) -> Document:
    """Return a file of the pack, or an empty document if the pack does not have it."""
    return document.read(file) if file.exists() else Document(file, {}, {})


def _mistakes(scores: Document, studies: Mapping[str, LoadedExperiment]) -> Iterator[Problem]:
    """Yield the mistakes in the file with the scales."""
    if MIXTURE not in studies:
        yield scores.problem((), f"the pack has no study {MIXTURE}; add it")
    elif wrong := flows.mistake(studies[MIXTURE], rival=True):
        yield scores.problem((), f"{MIXTURE}: {wrong}")
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
        units = {case.figure: getattr(case.metric, "unit", "") for case in studies[name].cases()}
        if (figure := str(keys.get("figure"))) not in units:
            yield scores.problem((name, "figure"), f"{name}: unknown figure '{figure}'{suggestion(figure, units)}")
        if wrong := flows.mistake(studies[name]):
            yield scores.problem((name,), f"{name}: {wrong}")
        elif {"none", "all"} <= keys.keys():
            yield from _mistakes_in_scale(scores, studies[name], keys, units.get(figure, ""))


def _mistakes_in_scale(
    scores: Document, study: LoadedExperiment, keys: Mapping[str, Any], unit: str
) -> Iterator[Problem]:
    """Yield the mistakes in the ends of a scale. `unit` is that of the case's figure, or "" if it is unknown."""
    ends = {}
    for key in ("none", "all"):
        try:
            ends[key] = flows.buffer_time(flows.bottleneck(study)) if _is_buffer(keys, key) else Value.of(keys[key])
        except UnitError as error:
            yield scores.problem((study.id, key), f"{study.id}: {key}: {told(error)}")
    if len(ends) < 2:
        return
    none, all_ = ends["none"], ends["all"]
    if none is None:
        message = "the bottleneck has no rate, or no pfifo queue with a limit; give a figure"
        yield scores.problem((study.id, "none"), f"{study.id}: none: {message}")
    elif all_ is None or not (_is_finite(none.number) and _is_finite(all_.number) and none.number != all_.number):
        yield scores.problem((study.id, "all"), f"{study.id}: none and all should be two different finite figures")
    elif not none.unit == all_.unit == (unit or all_.unit):
        figure = in_unit(unit or "the unit of all")
        message = f"none is {in_unit(none.unit)}, all {in_unit(all_.unit)}, and the figure {figure}"
        yield scores.problem((study.id, "all"), f"{study.id}: {message}; use one unit")


def _mistakes_in_references(references: Document) -> Iterator[Problem]:
    """Yield the mistakes in the file with the references' figures."""
    for name, given in references.data.items():
        if name == "kernel":
            continue
        if not isinstance(given, dict):
            yield references.problem((name,), f"{name}: should be a mapping of congestion controls to figures")
            continue
        for control, figures in given.items():
            if not isinstance(figures, list) or not figures or not all(map(_is_number, figures)):
                message = f"{name}: {control}: should be a list of numbers, such as [0.94, 0.93]"
                yield references.problem((name, control), message)


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and _is_finite(given)


def _is_finite(number: float) -> bool:
    return abs(number) <= float_info.max  # an integer of YAML may be larger


def _is_buffer(keys: Mapping[str, Any], key: str) -> bool:
    """Return whether an end of a scale is the time of a full buffer."""
    return key == "none" and keys[key] == "buffer"


def _case(
    scores: Document,
    name: str,
    study: LoadedExperiment,
    references: Mapping[str, Any],
    explained: Mapping[str, Any],
) -> JudgeCase:
    keys = scores.data[name]
    texts = {key: " ".join(str(keys[key]).split()) for key in _TEXTS}
    all_ = Value.of(keys["all"])
    return JudgeCase(
        study=study,
        title=texts["title"],
        criterion=texts["criterion"],
        figure=texts["figure"],
        scale=Scale(None if _is_buffer(keys, "none") else Value.of(keys["none"]), all_, texts["because"]),
        blind=texts["blind"],
        is_quick=keys.get("quick") is True,
        varies=keys.get("path") is True,
        references={
            control: tuple(Value(float(number), all_.unit) for number in numbers)
            for control, numbers in references.items()
        },
        laws=laws.read(explained),
    )
