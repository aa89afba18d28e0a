"""A case: one arm at one point of the sweep, as it runs and as it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.spec.experiment import Clock, Metric, Prediction, Task, Tolerance, Variant
from lab.spec.network import Network
from lab.units import Value

__all__ = ["Case", "CaseKey"]


class CaseKey(NamedTuple):
    """What tells the cases of one claim apart. `point` is '' without a sweep."""

    arm: str
    point: str = ""


@dataclass(frozen=True)
class Case:
    """One arm at one point of the sweep, with nothing left to inherit. `point` is '' without a sweep.

    `kernel` is how its kernel differs from the run's, `patches` the files of that; None: not at all.
    """

    claim: str
    arm: str
    point: str
    value: Value | None
    network: Network
    workload: Task
    probes: tuple[Task, ...]
    middleboxes: tuple[Task, ...]
    kernel: Variant | None
    patches: tuple[Path, ...]
    clock: Clock
    samples: int
    path: tuple[str, str]
    metric: Metric
    prediction: Prediction | None
    tolerance: Tolerance
    accuracy: Tolerance
    reported: Value | None
    explains: str
    relative_to: str

    @property
    def key(self) -> CaseKey:
        """Which case of its claim it is."""
        return CaseKey(self.arm, self.point)
