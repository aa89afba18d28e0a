"""Every planted defect is caught by shipped claims: by another verdict, or by a model that is off.

`make mutation` plants all of them. `make test` plants the quick ones, of what needs no kernel of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import lab.machine.kernel
from lab.machine.kernel import UmlKernel
from lab.record.store import Store
from tests.mutation.defects import DEFECTS, PATCHES, Defect
from tests.mutation.planting import ROOT, outcomes, planted, seen

QUICK, SLOW = ([each for each in DEFECTS if each.quick is quick] for quick in (True, False))


def asked(defects: Iterable[Defect]) -> list[str]:
    return sorted({claim for defect in defects for claim in defect.asked})


def name(defect: Defect) -> str:
    return f"{defect.family}: {defect.name}"


@pytest.mark.guest
@pytest.mark.parametrize(
    "defects", [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.mutation)]
)
def test_without_a_defect_the_claims_pass(defects: list[Defect], kernel: UmlKernel, store: Store) -> None:
    found = outcomes(ROOT, store.root, kernel.id, asked(defects))
    assert {claim: seen(outcome) for claim, outcome in found.items() if seen(outcome)} == {}


@pytest.mark.guest
@pytest.mark.parametrize(
    "defect",
    [pytest.param(each, id=name(each), marks=() if each.quick else pytest.mark.mutation) for each in DEFECTS],
)
def test_a_defect_is_caught(defect: Defect, kernel: UmlKernel, store: Store) -> None:
    under_test = lab.machine.kernel.build(kernel.name, [PATCHES / defect.patch]) if defect.patch else kernel
    with planted(defect.edits) as root:
        found = outcomes(root, store.root, under_test.id, defect.asked)
    assert {claim: seen(outcome) for claim, outcome in found.items() if seen(outcome)} == defect.caught
    assert "Error:" not in "".join(outcome["reason"] for outcome in found.values()), (
        "a defect computes, it does not fail"
    )
