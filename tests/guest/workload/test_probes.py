"""What watches a trial ends with it, however long the pauses are in which it looks at nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lab.guest import outputs
from lab.guest.probe import QueueState, TcpInfo
from lab.guest.workload import Bulk
from lab.units import Duration, Size
from tests.kinds import Perform


@pytest.mark.guest
@pytest.mark.parametrize("minutes", [1, 600])
def test_a_probe_ends_between_two_looks(perform: Perform, minutes: int) -> None:
    pause = Duration.of(f"{minutes} min")
    watched = (TcpInfo(node="sender", interval=pause), QueueState(link="path", interval=pause))
    record = perform("lossy", Bulk(size=Size(1000)), watched)
    assert outputs.tcp_info("sender") in record.outputs
    assert len(record.json(outputs.queue("path", "forward"))) == 1


@pytest.mark.guest
def test_a_probe_looks_once_in_its_interval(perform: Perform) -> None:
    watched = QueueState(link="path", interval=Duration.of("100 ms"))
    record = perform("lossy", Bulk(duration=Duration.of("1 s")), (watched,))
    moments = [sample["ns"] for sample in record.json(outputs.queue("path", "forward"))]
    assert len(moments) >= 10
    for earlier, later in pairwise(moments):
        assert later - earlier == pytest.approx(100e6, abs=60e3)  # a sleep has a slack of 50 us
