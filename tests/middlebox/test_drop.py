"""One chosen segment is lost, and no other."""

from collections.abc import Callable

import pytest

from lab.errors import LabError
from lab.metric import connection_of
from lab.middlebox import DropSegment
from lab.probe import Capture
from lab.record.record import Record
from lab.units import Size
from lab.workload import Bulk

TRANSFER = Bulk(size=Size(60 * 1448))


def test_the_chosen_segment_is_dropped(perform: Callable[..., Record]) -> None:
    captures = (Capture(node="sender"), Capture(node="receiver"))
    done = perform("routed-1g", TRANSFER, captures, middleboxes=(DropSegment(node="router", number=17),))
    sent, arrived = (connection_of(done, node).forward for node in ("sender", "receiver"))
    at = sent.seq[sent.data][0] + 16 * 1448
    assert not done.invalid
    assert (arrived.seq[arrived.data] == at).sum() == 1  # the second time that it was sent
    assert list(arrived.seq[arrived.data][:17] - at) == [*(1448 * (number - 16) for number in range(16)), 1448]
    assert arrived.data.sum() == 60


def test_a_segment_that_never_came_is_told(perform: Callable[..., Record]) -> None:
    with pytest.raises(LabError, match="segment 61 was to be dropped; only 60 left router"):
        perform("routed-1g", TRANSFER, middleboxes=(DropSegment(node="router", number=61),))


def test_there_is_no_segment_zero() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        DropSegment(node="router", number=0)
