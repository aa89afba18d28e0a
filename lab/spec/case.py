"""Define a case: one arm at one point of the sweep, as it runs and as it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from lab.prediction import Prediction
from lab.spec.clock import Clock
from lab.spec.experiment import Cause, Claimed, Metric, Programs, Tolerance, Untestable
from lab.spec.key import CaseKey
from lab.spec.network import Network
from lab.spec.task import Interference, Task, Traffic
from lab.spec.variant import ResolvedVariant
from lab.units import Value

__all__ = ["Case", "CaseKey", "Cause", "Claimed", "Untestable"]


@dataclass(frozen=True)
class Case:
    """Holds one arm at one point of the sweep, with nothing left to inherit."""

    claim: str
    arm: str
    point: str  # '' without a sweep
    value: Value | None
    network: Network
    workload: Traffic
    probes: tuple[Task, ...]
    middleboxes: tuple[Interference, ...]
    kernel: ResolvedVariant | None  # how its kernel differs from the run's; None: not at all
    userland: Programs  # what its guests boot from, unless they use the host's own programs
    clock: Clock
    samples: int
    path: tuple[str, str]
    metric: Metric
    prediction: Prediction | None
    tolerance: Tolerance
    accuracy: Tolerance
    claimed: Claimed | None
    explains: Cause | None
    relative_to: str
    title: str  # what pages call the arm

    @property
    def counts(self) -> bool:
        """Whether the verdict rests on the case: it has a figure, and is no witness."""
        return self.claimed is not None and self.explains is None

    @property
    def key(self) -> CaseKey:
        """The key that tells this case from the others of its claim."""
        return CaseKey(self.arm, self.point)
