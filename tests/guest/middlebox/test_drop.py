"""One chosen segment is lost, and no other."""

from collections.abc import Callable

import pytest

from lab.errors import LabError
from lab.guest.middlebox import DropSegment
from lab.guest.probe import Capture
from lab.guest.workload import Bulk
from lab.metric import connection_of
from lab.record.record import Record
from lab.units import Size

TRANSFER = Bulk(size=Size(60 * 1448))


@pytest.mark.guest
def test_the_chosen_segment_is_dropped(perform: Callable[..., Record]) -> None:
    captures = (Capture(node="sender"), Capture(node="receiver"))
    done = perform("routed-1g", TRANSFER, captures, middleboxes=(DropSegment(node="router", number=17),))
    sent, arrived = (connection_of(done, node).forward for node in ("sender", "receiver"))
    at = sent.seq[sent.data][0] + 16 * 1448
    assert not done.invalid
    assert (arrived.seq[arrived.data] == at).sum() == 1  # the second time that it was sent
    assert list(arrived.seq[arrived.data][:17] - at) == [*(1448 * (number - 16) for number in range(16)), 1448]
    assert arrived.data.sum() == 60


@pytest.mark.guest
def test_each_twentieth_segment_is_dropped(perform: Callable[..., Record]) -> None:
    captures = (Capture(node="sender"), Capture(node="receiver"))
    box = DropSegment(node="router", number=20, every=True)
    done = perform("routed-1g", TRANSFER, captures, middleboxes=(box,))
    sent, arrived = (connection_of(done, node).forward for node in ("sender", "receiver"))
    assert sent.data.sum() - arrived.data.sum() == sent.data.sum() // 20 == 3
    assert (box.loss(), box.dropped()) == (0.05, None)


@pytest.mark.guest
def test_a_segment_that_never_came_is_told(perform: Callable[..., Record]) -> None:
    with pytest.raises(LabError, match="segment 61 was to be dropped; only 60 left router"):
        perform("routed-1g", TRANSFER, middleboxes=(DropSegment(node="router", number=61),))


def test_there_is_no_segment_zero() -> None:
    with pytest.raises(ValueError, match="should be from 1 to"):
        DropSegment(node="router", number=0)
