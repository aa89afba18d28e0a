"""Plan trials from experiments: every arm, point and repeat, with its kernel and tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from msgspec import structs

from lab.errors import InputError, MachineError
from lab.guest.clock import Clock, cpu_takes_time
from lab.guest.fabric import FABRICS
from lab.guest.network import Network
from lab.guest.trial import HOST, Trial
from lab.machine.kernel import Kernel
from lab.machine.userland.cache import Userland
from lab.machine.userland.ready import ready
from lab.runner import programs, queues, tools
from lab.runner.cost import Cost, estimate
from lab.runner.programs import CompileError
from lab.spec.case import Case
from lab.spec.errors import Problem, SpecError, display
from lab.spec.loaded import LoadedExperiment
from lab.spec.variant import ResolvedVariant
from lab.units import to_plain


@dataclass(frozen=True)
class Settings:
    """Holds the command-line settings for all trials of a run. Raises InputError."""

    kernel: Kernel
    clock: Clock = "virtual"
    seed: int = 1
    repeat: int = 1
    fabric: str = FABRICS[0]
    # the userland of guests whose experiment names no other; None: the host's own programs
    userland: Userland | None = None
    trust: bool = False  # whether to compile sources of packs even if the machine cannot confine that

    def __post_init__(self) -> None:
        if self.clock not in self.kernel.clocks:
            raise InputError(f"--clock {self.clock}: --on {self.kernel.on} has only the {self.kernel.clocks[0]} clock")
        if self.fabric not in FABRICS:
            raise InputError(f"--fabric {self.fabric} is unknown; use {' or '.join(FABRICS)}")
        if self.repeat < 1:
            raise InputError(f"--repeat {self.repeat} is too small; use 1 or more")
        if not 0 <= self.seed < 1 << 64:
            raise InputError(f"--seed {self.seed} is out of range; use a whole number from 0 to {(1 << 64) - 1}")


@dataclass(frozen=True)
class PlannedCase:
    """Holds the cases of one arm at one point, and their trials on `kernel`, one for each (seed, repeat).

    The cases are the figures that these trials give: one for a claim, several for a study. If they cannot run here,
    there are no trials; `skipped` has the reason.
    """

    cases: tuple[Case, ...]
    kernel: Kernel
    clock: Clock
    samples: tuple[tuple[int, int], ...]
    trials: tuple[Trial, ...]
    skipped: str = ""

    @property
    def case(self) -> Case:
        """The first case. All cases have its network, its programs and its kernel."""
        return self.cases[0]

    @property
    def travels(self) -> bool:
        """Whether another machine may run the case, because its bytes are the same there."""
        return not cpu_takes_time(self.kernel.on, self.clock)

    @property
    def cost(self) -> Cost:
        """The estimated cost of each trial of the case."""
        return estimate(self.case.network, self.case.workload, self.case.probes)


def plan(experiments: Iterable[LoadedExperiment], settings: Settings) -> list[PlannedCase]:
    """Return all trials, in the order of the experiments. Raises SpecError if an experiment does not resolve."""
    arms = [
        (loaded, tuple(cases)) for loaded in experiments for _, cases in groupby(loaded.cases(), lambda case: case.key)
    ]
    kernels = {wanted: _variant(settings.kernel, wanted) for wanted in {cases[0].kernel for _, cases in arms}}
    return [_planned(loaded, cases, settings, kernels[cases[0].kernel]) for loaded, cases in arms]


def trials_of(planned: Iterable[PlannedCase]) -> list[Trial]:
    """Return the trials of all planned cases, in order."""
    return [trial for each in planned for trial in each.trials]


def _variant(kernel: Kernel, wanted: ResolvedVariant | None) -> Kernel | MachineError:
    """Return the kernel for a case, or the error that explains why there is none.

    The result is cached, because reading a tree takes a second.
    """
    try:
        return kernel.variant(wanted) if wanted else kernel
    except MachineError as missing:
        return missing


def _planned(
    loaded: LoadedExperiment, cases: tuple[Case, ...], settings: Settings, kernel: Kernel | MachineError
) -> PlannedCase:
    case = cases[0]
    clock = _clock(case, settings)
    if not cpu_takes_time(settings.kernel.on, clock) and case.workload.greedy and not _limited(case.network):
        message = "a flow that sends as much as it can needs a link with a rate: without one, virtual time hardly moves"
        raise SpecError([loaded.problem(case, message)])
    userland = _userland(case, settings)
    _check_programs(loaded, case, userland, settings.trust)
    samples = _samples(case, clock, settings)
    try:
        if isinstance(kernel, MachineError):
            raise kernel
        queues.check(kernel, case.network, loaded.topology, lambda message: loaded.problem(case, message))
        given = (settings.seed, loaded.source_sha256, settings.fabric, userland)
        trial = trial_of(case, kernel, clock, *given)
    except MachineError as missing:
        return PlannedCase(cases, settings.kernel, clock, samples, (), str(missing))
    trials = tuple(
        structs.replace(trial, seed=seed, repeat=repeat, network=to_plain(case.network_of(seed)))
        for seed, repeat in samples
    )
    return PlannedCase(cases, kernel, clock, samples, trials)


def _userland(case: Case, settings: Settings) -> Userland | None:
    """Return the userland of the case's guests.

    If this userland differs from the run's userland and is missing, build it.
    """
    if settings.userland is None or case.userland == "guest":
        return settings.userland
    return ready(case.userland)


def _check_programs(loaded: LoadedExperiment, case: Case, userland: Userland | None, trust: bool) -> None:
    """Raise SpecError if a program that the case starts is missing, or one of the case's sources does not compile."""
    if lacking := programs.missing(case.workload, userland):
        names = " and ".join(f"'{name}'" for name in lacking)
        where = "on this machine" if userland is None else f"in the userland '{case.userland}'"
        message = f"there is no program {names} {where}, nor among the experiment's files and sources"
        raise SpecError([loaded.problem(case, message)])
    try:
        programs.compile_all(to_plain(case.workload), trust)
    except CompileError as error:
        file = display(loaded.path.parent / error.name)
        raise SpecError([Problem(file, error.line, error.message)]) from None


def trial_of(
    case: Case,
    kernel: Kernel,
    clock: Clock,
    seed: int,
    source_sha256: str = "",
    fabric: str = FABRICS[0],
    userland: Userland | None = None,
) -> Trial:
    """Return the case's trial with this seed, in a userland or with the host's own programs.

    Raises MachineError if a tool is missing.
    """
    wanted = tools.needed((case.workload, *case.probes, *case.middleboxes)) | tools.of_fabric(fabric)
    return Trial(
        claim=case.claim,
        arm=case.arm,
        point=case.point,
        source_sha256=source_sha256,
        network=to_plain(case.network_of(seed)),
        workload=to_plain(case.workload),
        probes=to_plain(list(case.probes)),
        middleboxes=to_plain(list(case.middleboxes)),
        kernel=kernel.describe(),
        on=kernel.on,
        clock=clock,
        seed=seed,
        repeat=0,
        tools=(tools.versions(wanted) if userland is None else tools.sealed(wanted, userland))
        | programs.versions(case.workload, userland),
        fabric=fabric,
        userland=HOST if userland is None else userland.id,
    )


def _clock(case: Case, settings: Settings) -> Clock:
    """Return the clock that the experiment requests if the kernel supports that clock, else the kernel's default clock.

    With counted instructions, computing also takes virtual time.
    """
    asked = "real" if settings.clock == "real" else case.clock
    return asked if asked in settings.kernel.clocks else settings.kernel.clocks[0]


def _samples(case: Case, clock: Clock, settings: Settings) -> tuple[tuple[int, int], ...]:
    """Return (seed, repeat) of each trial.

    Figures vary with the seed in virtual time, and with every run in real time.
    """
    seeds, repeats = (case.samples, settings.repeat) if clock == "virtual" else (1, case.samples * settings.repeat)
    return tuple((settings.seed + seed, repeat) for seed in range(seeds) for repeat in range(repeats))


def _limited(network: Network) -> bool:
    return any(
        direction.least_rate or direction.trace for link in network.links for _, direction, _ in link.directions()
    )
