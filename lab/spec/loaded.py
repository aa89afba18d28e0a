"""Represent an experiment file as it was read, and derive the cases that it stands for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.prediction import declared
from lab.spec import history, variant
from lab.spec.case import Case
from lab.spec.errors import Problem, SpecError, display, suggestion
from lab.spec.experiment import Arm, Experiment, Point
from lab.spec.history import Entry
from lab.spec.network import Network
from lab.spec.task import Traffic
from lab.spec.tolerance import Figure, accuracy_for
from lab.spec.topology import Topology
from lab.units import Value

__all__ = ["LEAST_SAMPLES", "Article", "Commit", "LoadedExperiment"]

LEAST_SAMPLES = 10  # of a figure that chance has a part in
_TOO_FEW = (
    "samples={samples}, but its wires lose, delay, reorder or duplicate frames by chance, so each seed gives another "
    "figure: samples={least} at least, or few_samples='why fewer do'"
)


@dataclass(frozen=True)
class Commit:
    """Says which commit of the kernel changed claims of an article."""

    commit: str  # the first twelve digits of its hash
    since: str  # the first version that has it
    title: str  # its subject line
    claims: tuple[str, ...]  # their names
    known: str  # how we know that it was this one


@dataclass(frozen=True)
class Article:
    """Says where the claims of a folder come from."""

    name: str  # the folder's
    title: str
    author: str
    date: str
    url: str
    headline: str = ""  # what was found, as the title of its page says it
    answer: str = ""  # what was found, in a sentence or two
    # claim's name -> what to call it where there is little room, in the order in which the page tells them
    story: Mapping[str, str] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()  # of the kernel, as far as it is known which one changed a claim


@dataclass(frozen=True)
class LoadedExperiment:
    """Holds an experiment file as it was read."""

    id: str  # article/claim
    article: Article
    claim: str  # its sentence
    source: str  # where the article says so
    path: Path
    source_sha256: str  # covers what the file means (see `lab.meaning`), and the patches that it names
    experiment: Experiment
    topology: Topology

    @property
    def history(self) -> tuple[Entry, ...]:
        """Later changes of what counts, read when they are asked for. Raises SpecError for mistakes in their file."""
        return history.load(self.path.parent).get(self.path.stem, ())

    def cases(self) -> tuple[Case, ...]:
        """Return every arm at every point, in the file's order. Raises SpecError with all that does not resolve."""
        cases: list[Case] = []
        problems: list[Problem] = []
        for arm in self.experiment.arms:
            for point in self.experiment.points:
                try:
                    cases.append(self._case(arm, point))
                except SpecError as error:
                    problems += error.problems
        if problems:
            raise SpecError(problems)
        return tuple(cases)

    def problem(self, case: Case, message: str) -> Problem:
        """Return what is wrong with a case, at the line that declares it."""
        arm = next(each for each in self.experiment.arms if each.name == case.arm)
        point = next((each for each in self.experiment.points if each and each.label == case.point), None)
        return self._problem(arm, point, message)

    def _problem(self, arm: Arm, point: Point | None, message: str) -> Problem:
        where = f"arm '{arm.name}'" + (f" at {point.label}" if point else "")
        return Problem(display(self.path), _line(self.path, arm, point), f"{where}: {message}")

    def _with_files(self, workload: Traffic, blame: Callable[[str], Problem]) -> Traffic:
        """Return the workload with the contents of its files, which lie beside the experiment."""

        def read(name: str) -> bytes:
            try:
                return (self.path.parent / name).read_bytes()
            except OSError as error:
                raise SpecError([blame(f"file '{name}': {error.strerror}")]) from error

        try:
            return workload.with_files(read)
        except ValueError as error:
            raise SpecError([blame(str(error))]) from error

    def _case(self, arm: Arm, point: Point | None) -> Case:
        experiment = self.experiment
        label = point.label if point else ""

        def blame(message: str) -> Problem:
            return self._problem(arm, point, message)

        changes = (experiment, arm) if point is None else (experiment, arm, point)
        network = self.topology.resolve(*changes, blame=blame)
        workload = self._with_files((point and point.workload) or arm.workload or experiment.workload, blame)
        probes = experiment.probes if arm.probes is None else arm.probes
        middleboxes = experiment.middleboxes if arm.middleboxes is None else arm.middleboxes
        kernel = arm.kernel or experiment.kernel
        tolerance = arm.tolerance or experiment.tolerance
        predict = arm.prediction or experiment.prediction
        samples = arm.samples or experiment.samples
        if network.is_left_to_chance and samples < LEAST_SAMPLES and not (arm.few_samples or experiment.few_samples):
            raise SpecError([blame(_TOO_FEW.format(samples=samples, least=LEAST_SAMPLES))])
        _check_nodes(network, [*experiment.path, *_nodes(*_alone(workload), *probes, *middleboxes)], blame)
        return Case(
            claim=self.id,
            arm=arm.name,
            point=label,
            value=Value.of(point.value) if point else None,
            network=network,
            workload=workload,
            probes=probes,
            middleboxes=middleboxes,
            kernel=variant.resolve(kernel, self.path.parent) if kernel else None,
            userland=experiment.userland,
            clock=arm.clock or experiment.clock,
            samples=samples,
            path=experiment.path,
            metric=arm.metric or experiment.metric,
            prediction=declared(predict) if predict else None,
            tolerance=tolerance,
            accuracy=arm.accuracy or experiment.accuracy or accuracy_for(tolerance),
            claimed=experiment.claimed(arm, point),
            explains=arm.explains,
            relative_to=arm.relative_to,
            title=arm.title or arm.name.replace("-", " "),
        )


def _alone(workload: Traffic) -> Iterator[Traffic]:
    """Yield the workloads that it consists of, or itself."""
    parts = workload.parts()
    yield from (part.workload for part in parts) if parts else (workload,)


def _nodes(*tasks: object) -> list[str]:
    named = [getattr(task, role, None) for task in tasks for role in ("client", "server", "node")]
    return [node for node in named if isinstance(node, str) and node]


def _check_nodes(network: Network, names: Iterable[str], blame: Callable[[str], Problem]) -> None:
    known = [node.name for node in network.nodes]
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        raise SpecError(blame(f"unknown host '{name}'{suggestion(name, known)}") for name in unknown)


def _line(path: Path, arm: Arm, point: Point | None) -> int:
    """Return the line that declares the point, else the arm, else the experiment, as far as their names are literal."""
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    wanted: list[tuple[str, Figure | None]] = [("Arm", arm.name), ("Experiment", None)]
    if point is not None:
        wanted.insert(0, ("Point", point.value))
    for word, first in wanted:
        for call in calls:
            written = [argument.value for argument in call.args[:1] if isinstance(argument, ast.Constant)]
            if isinstance(call.func, ast.Name) and call.func.id == word and (first is None or first in written):
                return call.lineno
    return 1
