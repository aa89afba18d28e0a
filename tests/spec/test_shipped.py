"""What the shipped claims say of themselves: where figures come from, what explains them, and bounds that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.spec import find, resolve
from lab.spec.cause import Consistent, Demonstrated
from lab.spec.loaded import LoadedExperiment
from lab.spec.tolerance import Above, AtLeast, AtMost, Below
from lab.units import Rate, Size, Value
from tests.shipped import claims

SHIPPED = Path(__file__).parents[2] / "experiments"


def shipped() -> list[LoadedExperiment]:
    """The claims of the articles, without those of packs."""
    return [claim for claim in claims().values() if claim.path.is_relative_to(SHIPPED)]


def test_what_is_not_reproduced_has_a_cause_or_says_that_it_is_open() -> None:
    for claim in shipped():
        experiment = claim.experiment
        if experiment.expect in ("partly", "not reproduced"):
            causes = [arm.explains for arm in experiment.arms if isinstance(arm.explains, Demonstrated | Consistent)]
            assert causes or experiment.unexplained or experiment.untestable, claim.id


def test_no_bound_on_a_ratio_takes_no_effect() -> None:
    for case in (case for claim in shipped() for case in claim.cases()):
        if case.claimed and case.relative_to and isinstance(case.tolerance, Above | AtLeast | AtMost | Below):
            least, most = case.tolerance.bounds(case.claimed.value)
            assert not least <= 1 <= most, f"{case.claim}, {case.arm}: a ratio of 1, no effect, passes"


def test_one_figure_has_one_tolerance_in_an_article() -> None:
    """Witnesses included. Bounds and counts take no part: many sentences speak of a 1."""
    found: dict[tuple[str, Value], set[str]] = {}
    for claim in shipped():
        for case in claim.cases():
            if case.claimed and case.tolerance and not case.tolerance.sign and case.claimed.value.unit != "1":
                found.setdefault((claim.article.name, case.claimed.value), set()).add(str(case.tolerance))
    assert {key: each for key, each in found.items() if len(each) > 1} == {}


@pytest.mark.long
def test_no_shipped_claim_depends_on_the_usual_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its topology states what its links hold, so that another default changes no packet of it."""
    before = {name: [case.network for case in claim.cases()] for name, claim in claims().items()}
    usual = resolve.usual_queue  # from a gigabit on it is a window, with the word `ample` or without

    def other(rate: Rate, mtu: Size) -> int:
        return usual(rate, mtu) if rate.bps >= 10**9 else 1

    monkeypatch.setattr(resolve, "usual_queue", other)
    after = {claim.id: [case.network for case in claim.cases()] for claim in find.find(find.experiments())}
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []
