"""Define a case: one arm at one point of the sweep, with all data that is needed to run and judge the case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lab.guest.clock import Clock
from lab.guest.key import CaseKey
from lab.guest.network import Network
from lab.guest.task import Interference, Observer, Traffic
from lab.spec.drawn import Drawn
from lab.spec.experiment import Cause, Claimed, Metric, Programs, Tolerance, Untestable
from lab.spec.prediction import Prediction
from lab.spec.variant import ResolvedVariant
from lab.units import Value

__all__ = ["Case", "CaseKey", "Cause", "Claimed", "FigureKey", "Untestable"]


class FigureKey(NamedTuple):
    """Names one figure of a claim or a study. A study's trial may give several figures."""

    arm: str
    point: str
    figure: str  # '' if the trial gives only one figure


@dataclass(frozen=True)
class Case:
    """Holds one figure of one arm at one point of the sweep, with every field set."""

    claim: str
    arm: str
    point: str  # '' without a sweep
    value: Value | None
    network: Network
    workload: Traffic
    probes: tuple[Observer, ...]
    middleboxes: tuple[Interference, ...]
    kernel: ResolvedVariant | None  # how its kernel differs from the run's; None: not at all
    userland: Programs  # the programs of its guests, except in runs with the host's own
    clock: Clock
    samples: int
    path: tuple[str, str]
    metric: Metric
    prediction: Prediction | None
    tolerance: Tolerance | None  # None in a study, which judges no claim
    accuracy: Tolerance | None  # None if the prediction has no accuracy to meet
    claimed: Claimed | None
    explains: Cause | None
    relative_to: str
    title: str  # the arm's name on pages
    drawn: Drawn | None = None  # what each seed draws of the network
    figure: str = ""  # its name in a study with several figures

    def network_of(self, seed: int) -> Network:
        """Return the network of the trial with this seed."""
        return self.drawn.of(self.network, seed) if self.drawn else self.network

    @property
    def counts(self) -> bool:
        """Whether the case counts for the verdict: it has a figure and is not a witness."""
        return self.claimed is not None and self.explains is None

    @property
    def key(self) -> CaseKey:
        """The key of the case's trials, which may give other figures, too."""
        return CaseKey(self.arm, self.point)

    @property
    def figure_key(self) -> FigureKey:
        """The key that distinguishes this case from the other cases of the claim or study."""
        return FigureKey(self.arm, self.point, self.figure)
