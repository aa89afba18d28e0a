"""The chart of what is behind a case's figure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lab.ext.cc import behind
from lab.guest import outputs

SAMPLE = {"ns": 5, "backlog": 3}


@pytest.mark.parametrize(("samples", "is_drawn"), [([], False), ([SAMPLE], True)])
def test_a_queue_is_drawn_if_it_has_samples(samples: list[dict[str, int]], is_drawn: bool) -> None:
    trial = SimpleNamespace(workload={"kind": "bulk"})
    queue = outputs.queue("bottleneck", "forward")
    record: Any = SimpleNamespace(trial=trial, outputs={queue}, json={queue: samples}.__getitem__)
    assert ("queue, packets" in behind.drawn(record, "case")) == is_drawn
