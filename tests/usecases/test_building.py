"""The kernel that claims need first is built first."""

from __future__ import annotations

from typing import Any

import pytest

from lab.errors import InputError
from lab.kernel.uml import builder, pace
from lab.kernel.uml.pace import Pace
from lab.usecases import building


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
