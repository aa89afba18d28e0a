"""Represent a loaded experiment file, and derive its cases."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.guest.task import Traffic
from lab.spec import chance, history, names, python, sysctls, variant
from lab.spec.arms import Arm, FigureSpec, Metric, Point
from lab.spec.beside import FilesBeside
from lab.spec.case import Case
from lab.spec.errors import Problem, SpecError, display, told
from lab.spec.experiment import Experiment
from lab.spec.history import Entry
from lab.spec.metric import DeclaredMetric, described
from lab.spec.prediction import declared
from lab.spec.steady import Steady
from lab.spec.study import Study
from lab.spec.tolerance import Absolute, Figure, Tolerance
from lab.spec.topology import Topology
from lab.units import Duration, Rate, Size, Value, in_unit

_HOW = "steady=Steady() cuts the start by MSER-5, steady=Steady(after='10 s', because='...') a fixed time"
_NO_CUT = (
    "its law, {law}, is about the long run, but its metric includes the start of the run; use a metric that is a mean "
    f"over time, without start or end. {_HOW}"
)
_FROM_THE_START = f"its metric is a mean over time that includes the start of the run. {_HOW}"
_EXAMPLES = {"bit/s": Rate.example, "s": Duration.example, "B": Size.example}


@dataclass(frozen=True)
class Commit:
    """Describes a kernel commit that changed claims of an article."""

    commit: str  # the first twelve digits of its hash
    since: str  # the first kernel version with it
    title: str  # its subject line
    claims: tuple[str, ...]  # their names
    known: str  # how we know that it was this commit


@dataclass(frozen=True)
class Article:
    """Describes the source of a folder's claims."""

    name: str  # the folder's
    title: str
    author: str
    date: str
    url: str
    headline: str = ""  # the result, as the title of its page
    answer: str = ""  # the result, in a sentence or two
    # claim -> its short name, in the order of the page
    story: Mapping[str, str] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()  # kernel commits that are known to have changed a claim


@dataclass(frozen=True)
class LoadedExperiment:
    """Holds a loaded experiment file."""

    id: str  # article/claim
    article: Article
    claim: str  # its sentence
    source: str  # its place in the article
    path: Path
    source_sha256: str  # covers the file's meaning (see `lab.base.meaning`), and the patches that it names
    experiment: Experiment | Study
    topology: Topology
    any_control: bool = False  # whether the run's kernel may have congestion controls that Linux does not have

    @property
    def history(self) -> tuple[Entry, ...]:
        """Later changes to the registered claim, read from the history file on each use.

        Raises SpecError for mistakes in the file.
        """
        return history.load(self.path.parent).get(self.path.stem, ())

    def cases(self) -> tuple[Case, ...]:
        """Return every figure of every arm at every point, in the file's order. Raises SpecError with every mistake."""
        cases: list[Case] = []
        wrong = list(names.mistakes_in_path(self.topology.network, self.experiment.path))
        line = python.line_of(self.path, ("Experiment", "Study"), "path") if wrong else 1
        problems = [Problem(display(self.path), line, message) for message in wrong]
        problems += self._unknown_sysctls()
        for arm in self.experiment.arms:
            for point in self.experiment.points:
                try:
                    cases += self._cases(arm, point)
                except SpecError as error:
                    problems += error.problems
        if problems:
            raise SpecError(problems)
        return tuple(cases)

    def _unknown_sysctls(self) -> Iterator[Problem]:
        """Yield the sysctls in the file that the default kernel does not have, unless a kernel of the file may."""
        experiment = self.experiment
        if self.has_own_kernel():
            return
        interfaces = [end.name for _, end in self.topology.network.ends()]
        found: dict[str, None] = {}
        for changes in (experiment, *experiment.arms, *filter(None, experiment.points)):
            found |= dict.fromkeys([*changes.sysctls, *changes.sysctls_of_hosts()])
        for name, message in sysctls.mistakes(found, interfaces):
            yield Problem(display(self.path), python.line_of_text(self.path, name), message)

    def has_own_kernel(self) -> bool:
        """Return whether a kernel of the file may differ from the default kernel in its names."""
        kernels = (self.experiment.kernel, *(arm.kernel for arm in self.experiment.arms))
        return any(kernel.patches or kernel.tree or kernel.config for kernel in kernels if kernel)

    def problem(self, case: Case, message: str) -> Problem:
        """Return a problem with a case, at the line that declares the case."""
        arm = next(each for each in self.experiment.arms if each.name == case.arm)
        point = next((each for each in self.experiment.points if each and each.label == case.point), None)
        return self._problem(arm, point, message)

    def _problem(self, arm: Arm, point: Point | None, message: str) -> Problem:
        where = f"arm '{arm.name}'" + (f" at {point.label}" if point else "")
        return Problem(display(self.path), _line(self.path, arm, point), f"{where}: {message}")

    def _with_files(self, workload: Traffic, blame: Callable[[str], Problem]) -> Traffic:
        """Return the workload with the contents of its files, whose names are relative to the experiment's folder."""
        beside = FilesBeside(self.path.parent, blame)
        try:
            return workload.with_files(beside.read, beside.within)
        except ValueError as error:
            raise SpecError([blame(told(error))]) from error

    def _cases(self, arm: Arm, point: Point | None) -> Iterator[Case]:
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
        samples, drawn = arm.samples or experiment.samples, arm.drawn or experiment.drawn
        counts = experiment.claimed(arm, point) is not None and arm.explains is None
        few = arm.few_samples or experiment.few_samples
        if experiment.judges and (wrong := list(chance.mistakes(network, workload, drawn, samples, few, counts))):
            raise SpecError(map(blame, wrong))
        own = self.any_control or (kernel is not None and bool(kernel.patches or kernel.tree))
        wrong = [*names.mistakes(network, [*_alone(workload), *probes, *middleboxes], any_control=own)]
        if wrong := [*wrong, *names.mistakes_in_probes(probes)]:
            raise SpecError(map(blame, wrong))
        resolved = variant.resolve(kernel, self.path.parent) if kernel else None
        first, last = map(network.node_of, experiment.path)  # outputs and pages name nodes
        for wanted in experiment.figures(arm):
            metric = self._metric(wanted, arm.steady or experiment.steady, blame)
            claimed = experiment.claimed(arm, point)
            given = {"claimed figure": claimed.value if claimed else None, "accuracy": _room(wanted.accuracy)}
            for what, value in given.items():
                if value and (wrong_unit := _wrong_unit(what, value, described(metric), arm.relative_to)):
                    raise SpecError([blame(wrong_unit)])
            yield Case(
                claim=self.id,
                arm=arm.name,
                point=label,
                value=Value.of(point.value) if point else None,
                network=network,
                workload=workload,
                probes=probes,
                middleboxes=middleboxes,
                kernel=resolved,
                userland=experiment.userland,
                clock=arm.clock or experiment.clock,
                samples=samples,
                path=(first, last),
                figure=wanted.name,
                metric=metric,
                prediction=declared(wanted.prediction) if wanted.prediction else None,
                tolerance=wanted.tolerance,
                accuracy=wanted.accuracy,
                claimed=claimed,
                explains=arm.explains,
                relative_to=arm.relative_to,
                title=arm.title or arm.name.replace("-", " "),
                drawn=drawn,
            )

    def _metric(self, wanted: FigureSpec, steady: Steady | None, blame: Callable[[str], Problem]) -> Metric:
        """Return the figure's metric, with the cut at the start of the run. Raises SpecError if a cut is needed but not
        declared.
        """
        found = described(wanted.metric)
        is_long = found.over_time is not None and not found.over_time.is_timed
        if is_long and steady:
            return found.cut_by(steady)
        if wanted.prediction and declared(wanted.prediction).long_run:
            raise SpecError([blame(_NO_CUT.format(law=declared(wanted.prediction).name))])
        if is_long:
            raise SpecError([blame(_FROM_THE_START)])
        return wanted.metric


def _alone(workload: Traffic) -> Iterator[Traffic]:
    """Yield the parts of a workload, or the workload itself if it has no parts."""
    parts = workload.parts()
    yield from (part.workload for part in parts) if parts else (workload,)


def _room(accuracy: Tolerance | None) -> Value | None:
    return Value.of(accuracy.room) if isinstance(accuracy, Absolute) else None


def _wrong_unit(what: str, value: Value, metric: DeclaredMetric, relative_to: str) -> str:
    """Return a message if a value cannot have the unit of the measured figure, else ""."""
    unit = "1" if relative_to else metric.measures_in
    if not unit or value.unit == unit:
        return ""
    ours = f"a ratio to '{relative_to}'" if relative_to else metric.innermost.name
    how = f"write it like '{_EXAMPLES[unit]}'" if unit in _EXAMPLES else "write a number without quotes"
    return f"its {what}, {value}, is {in_unit(value.unit)}, but {ours} is {in_unit(unit)}; {how}"


def _line(path: Path, arm: Arm, point: Point | None) -> int:
    """Return the line that declares the point, else the arm, else the experiment. Only literal names are found."""
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    wanted: list[tuple[str, Figure | None]] = [("Arm", arm.name), ("Experiment", None), ("Study", None)]
    if point is not None:
        wanted.insert(0, ("Point", point.value))
    for word, first in wanted:
        for call in calls:
            written = [argument.value for argument in call.args[:1] if isinstance(argument, ast.Constant)]
            if isinstance(call.func, ast.Name) and call.func.id == word and (first is None or first in written):
                return call.lineno
    return 1
