"""A trial whose CPU had no time left does not count, unless the CPU is what it is about."""

from __future__ import annotations

import pytest

from lab.guest.probe import Capture, CpuTime
from lab.guest.saturation import Load, reasons


@pytest.mark.parametrize("busy", [0.0, 0.5, 0.899])
def test_an_idle_cpu_spoils_nothing(busy: float) -> None:
    assert reasons(Load(busy), [Capture()]) == []


@pytest.mark.parametrize("busy", [0.9, 1.0])
def test_a_busy_cpu_is_the_reason_with_its_part_of_the_time(busy: float) -> None:
    (reason,) = reasons(Load(busy), [Capture()])
    assert f"{100 * busy:.0f} %" in reason


def test_a_trial_about_the_cpu_may_keep_it_busy() -> None:
    assert reasons(Load(1.0), [Capture(), CpuTime()]) == []
