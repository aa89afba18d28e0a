"""Two records of a trial are the same, or part at a byte that is named."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.comparison.identity import ByteDifference, byte_differences, first_byte_difference
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import Trial

Make = Callable[[Mapping[str, bytes]], Record]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    none: dict[str, str] = {}
    trial = Trial("a/b", "only", "", "", none, none, [], [], none, "uml", "virtual", 1, 0, none)

    def make(outputs: Mapping[str, bytes]) -> Record:
        with Store(tmp_path_factory.mktemp("store")).stage(trial) as stage:
            for name, content in outputs.items():
                (stage.out / name).write_bytes(content)
            return stage.commit({})

    return make


@settings(max_examples=20)  # each writes five records
@given(content=st.binary(min_size=1, max_size=50), at=st.integers(0, 49))
def test_the_first_byte_that_differs_is_found(make: Make, content: bytes, at: int) -> None:
    at %= len(content)
    other = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    assert first_byte_difference(make({"a": content}), make({"a": content})) is None
    assert first_byte_difference(make({"a": content}), make({"a": other})) == ByteDifference("a", at)
    assert first_byte_difference(make({"a": content}), make({"a": content + b"x"})) == ByteDifference("a", len(content))


def test_an_output_that_one_lacks(make: Make) -> None:
    assert first_byte_difference(make({"a": b"1", "b": b"2"}), make({"b": b"2"})) == ByteDifference("a", None)


def test_every_output_that_differs(make: Make) -> None:
    found = byte_differences(make({"a": b"1", "b": b"2", "c": b"33"}), make({"b": b"2", "c": b"34", "d": b""}))
    assert list(found) == [ByteDifference("a", None), ByteDifference("c", 1), ByteDifference("d", None)]
