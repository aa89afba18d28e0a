"""Run an experiment file and read its declarations."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.base.meaning import meaning
from lab.spec import article, python
from lab.spec.arms import Trials
from lab.spec.errors import Problem, SpecError, display, file_bytes, unreadable
from lab.spec.experiment import Experiment
from lab.spec.loaded import LoadedExperiment
from lab.spec.study import Study
from lab.spec.topology import Topology

_FOR_THE_LAB = re.compile(rb"\bEXPERIMENT\b|^[ \t]*(?:from|import)[ \t]+lab\b", re.MULTILINE)
_NONE = "should define EXPERIMENT = Experiment(...) or Study(...)"


def load(path: Path, topology: Callable[[str | Callable[[], Any], Path], Topology]) -> LoadedExperiment:
    """Return the experiment in `path`. `topology` loads its topology. Raises SpecError for any mistake."""
    path = path.absolute()
    source = python.source_of(path)
    python.refuse_script(source, path)
    if not _FOR_THE_LAB.search(source):  # then it is another program, which should not run here
        with python.blamed(path):
            ast.parse(source)
        raise SpecError([Problem(display(path), 1, _NONE)])
    module = python.run(source, path)
    experiment = getattr(module, "EXPERIMENT", None)
    text = inspect.cleandoc(module.__doc__ or "")
    problems: list[Problem] = []
    if not isinstance(experiment, Experiment | Study):
        problems.append(Problem(display(path), 1, _NONE))
    if not text:
        problems.append(Problem(display(path), 1, "should begin with its claim, or its question, as a docstring"))
    if problems or not isinstance(experiment, Experiment | Study):
        raise SpecError(problems)
    claim, _, where = text.partition("\n\n")
    return LoadedExperiment(
        id=f"{path.parent.name}/{path.stem}",
        article=article.load(path.parent),
        claim=" ".join(claim.split()),
        source=" ".join(where.split()),
        path=path,
        source_sha256=_digest(source, path, experiment),
        experiment=experiment,
        topology=topology(experiment.topology, path),
    )


def _digest(source: bytes, path: Path, experiment: Trials) -> str:
    """Return the SHA-256 of the file's code, and of the bytes of every patch and fragment that the file names.

    The docstring states the claim. Like a comment, the docstring cannot affect a packet, so the digest omits it. Raises
    SpecError if a file cannot be read.
    """
    with python.blamed(path):
        total = hashlib.sha256(meaning(source))
    variants = [kernel for kernel in (experiment.kernel, *(arm.kernel for arm in experiment.arms)) if kernel]
    patches = (("patch", name) for variant in variants for name in variant.patches)
    fragments = (("fragment", name) for variant in variants for name in variant.config)
    for what, name in dict.fromkeys([*patches, *fragments]):
        try:
            total.update(file_bytes(path.parent / name))
        except OSError as error:
            line = python.line_of(path, ("Variant",), "")
            raise SpecError(
                [Problem(display(path), line, f"{what} '{name}' {unreadable(path.parent / name, error)}")]
            ) from error
    return total.hexdigest()
