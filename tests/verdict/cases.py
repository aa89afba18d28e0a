"""A case of no experiment, shared by the tests of judging: its metric is the record's `value`."""

from dataclasses import replace
from typing import Any

from lab.guest.network import Network
from lab.guest.workload import Bulk
from lab.spec.case import Case
from lab.spec.claimed import Reported
from lab.spec.prediction import declared
from lab.spec.tolerance import STEADY, Within
from lab.units import Value

FIVE = Within(0.05, because="the article rounds")


def bps(number: float, low: float | None = None, high: float | None = None) -> Value:
    return Value(number, "bit/s", low, high)


HUNDRED = bps(100)


def value_of(record: Any) -> Value:
    return record.value  # type: ignore[no-any-return]


BASELINE = Case(
    claim="article/claim",
    arm="baseline",
    title="",
    point="",
    value=None,
    network=Network("none", nodes=(), links=()),
    workload=Bulk(),
    probes=(),
    middleboxes=(),
    kernel=None,
    userland="guest",
    clock="virtual",
    samples=1,
    path=("sender", "receiver"),
    metric=value_of,
    prediction=declared(bps),
    tolerance=FIVE,
    accuracy=STEADY,
    claimed=Reported(HUNDRED, "so it says"),
    explains=None,
    relative_to="",
)


def case(arm: str = "baseline", **changed: Any) -> Case:
    return replace(BASELINE, arm=arm, **changed)
