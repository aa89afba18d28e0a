"""Claims run as soon as a kernel is enough for them; what is still to build is built between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import InputError, LabError
from lab.kernel.uml import builder, pace
from lab.kernel.uml.pace import Pace
from lab.spec.loaded import LoadedExperiment
from lab.spec.variant import ResolvedVariant
from lab.usecases import building
from lab.usecases.running import Judgement


def experiment(ident: str, *kernels: tuple[str, int | None]) -> Any:
    """An experiment with a case on the run's own kernel, and one on each of these variants."""
    plain = SimpleNamespace(kernel=None)
    others = [SimpleNamespace(kernel=ResolvedVariant(patches=(Path(patch),), hz=hz)) for patch, hz in kernels]
    return SimpleNamespace(id=ident, cases=lambda: (plain, *others))


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was built and performed, in order."""
    found: list[str] = []

    def build(series: str, patches: Sequence[Path], hz: int, **_: object) -> None:
        found.append(f"build {series} {patches[0]} {hz}")

    monkeypatch.setattr(builder, "build", build)
    return found


def run(experiments: Sequence[Any], happened: list[str]) -> Judgement:
    def perform(some: Sequence[LoadedExperiment]) -> Judgement:
        happened.append("run " + " ".join(each.id for each in some))
        judged: Any = tuple(SimpleNamespace(declared=each) for each in some)
        return Judgement(judged, (LabError(f"of {len(some)}"),))

    kernel: Any = SimpleNamespace(name="7.2")
    return building.meanwhile(experiments, kernel, perform)


def test_variants_are_built_after_the_claims_that_do_without(happened: list[str]) -> None:
    experiments = [experiment("a", ("mss", None)), experiment("b"), experiment("c", ("mss", None), ("x", 250))]
    done = run(experiments, happened)
    assert happened == ["run b", "build 7.2 mss 1000", "build 7.2 x 250", "run a c"]
    assert [claim.declared.id for claim in done.judged] == ["a", "b", "c"]
    assert [str(error) for error in done.errors] == ["of 1", "of 2"]


def test_without_variants_nothing_is_built(happened: list[str]) -> None:
    run([experiment("a"), experiment("b")], happened)
    assert happened == ["run a b"]


@pytest.mark.parametrize(
    ("here", "seconds", "said"), [(True, 0.0, "a minute"), (False, 20.0, "2 minutes"), (False, 100.0, "3 minutes")]
)
def test_the_first_verdict_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: bool, seconds: float, said: str
) -> None:
    kernel: Any = object()
    monkeypatch.setattr(building, "_here", lambda _: True)
    monkeypatch.setattr(builder, "built", lambda _: kernel if here else None)
    monkeypatch.setattr(builder, "build", lambda *_, **__: kernel)
    monkeypatch.setattr(pace, "expected", lambda *_: Pace(1, seconds))
    assert building.ready(None) is kernel
    assert capsys.readouterr().err == f"first verdict in about {said}\n"


def test_a_kernel_by_another_name_cannot_be_made() -> None:
    with pytest.raises(InputError, match=r"not '7\.2-mss'"):
        building.ready("7.2-mss")
