"""The listed segments of a connection are lost, and no others."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.errors import LabError
from lab.guest import outputs
from lab.guest.middlebox import LoseSegments, LostSegment
from lab.guest.probe import Capture
from lab.guest.workload import Bulk
from lab.metric import connection_of
from lab.metric.arrays import np
from lab.model import ModelError
from lab.record.record import Record
from lab.spec import find
from lab.units import Size, from_plain, to_plain

TRANSFER = Bulk(size=Size(60 * 1448))
CAPTURES = (Capture(node="sender"), Capture(node="receiver"))


@pytest.mark.guest
def test_two_listed_segments_are_lost(perform: Callable[..., Record]) -> None:
    # the first and second sending of one segment, and a byte in the middle of another
    segments = (LostSegment(16 * 1448), LostSegment(16 * 1448, 2), LostSegment(31 * 1448 + 700))
    done = perform("two-hosts", TRANSFER, CAPTURES, middleboxes=(LoseSegments(link="path", segments=segments),))
    sent, arrived = (connection_of(done, node).forward for node in ("sender", "receiver"))
    first = sent.seq[sent.data][0]
    counts = [np.bincount((each.seq[each.data] - first) // 1448, minlength=60) for each in (sent, arrived)]
    lost = counts[0] - counts[1]
    assert not done.invalid
    assert {number: int(times) for number, times in enumerate(lost) if times} == {16: 2, 31: 1}
    told = json.loads(done.path(outputs.losses("path", "forward")).read_text())
    assert [(each["byte"], each["sending"], each["lost"]) for each in told] == [
        (16 * 1448, 1, True),
        (16 * 1448, 2, True),
        (31 * 1448 + 700, 1, True),
    ]


@pytest.mark.guest
def test_a_segment_that_never_passed_is_told(perform: Callable[..., Record]) -> None:
    late = (LostSegment(1448), LostSegment(60 * 1448))
    with pytest.raises(LabError, match="byte 86880 was to be lost on link path when it passed for time 1; it passed 0"):
        perform("two-hosts", TRANSFER, (), middleboxes=(LoseSegments(link="path", segments=late),))
    box = LoseSegments(link="path", segments=late, required=False)
    done = perform("two-hosts", TRANSFER, (), middleboxes=(box,))
    told = json.loads(done.path(outputs.losses("path", "forward")).read_text())
    assert [each["lost"] for each in told] == [True, False]


@given(st.lists(st.tuples(st.integers(-2, 5_000_000_000), st.integers(-1, 2000)), max_size=4))
def test_what_is_no_list_of_segments_is_refused(pairs: list[tuple[int, int]]) -> None:
    fits = all(0 <= byte <= 4_000_000_000 and 1 <= sending <= 1000 for byte, sending in pairs)
    fits = fits and bool(pairs) and len(set(pairs)) == len(pairs)
    if not fits:
        with pytest.raises(ValueError, match=r"segments: should be|is there twice|byte: should be|sending: should be"):
            LoseSegments(link="path", segments=tuple(LostSegment(*pair) for pair in pairs))
        return
    box = LoseSegments(link="path", segments=tuple(LostSegment(*pair) for pair in pairs))
    assert from_plain(to_plain(box), LoseSegments) == box


def test_fifteen_hundred_segments_at_most() -> None:
    with pytest.raises(ValueError, match="should be 1 to 1500 segments, not 1501"):
        LoseSegments(link="path", segments=tuple(map(LostSegment, range(1501))))


def test_no_model_of_the_lab_covers_listed_losses() -> None:
    box = LoseSegments(link="path", segments=(LostSegment(1448),))
    network = find.topology("two-hosts").resolve()
    scenario = model.Scenario.of(network, ("sender", "receiver"), model.KernelTraits(), TRANSFER, (box,))
    with pytest.raises(ModelError, match="the path loses listed segments: no model of the lab covers this"):
        model.goodput_bulk(scenario)
