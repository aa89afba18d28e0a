"""Two records of a trial are the same, or part at a byte that is named."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.record.identity import ByteDifference, byte_differences, first_difference
from lab.record.record import Record
from lab.record.store import Store
from tests.examples import examples
from tests.trials import trial

Make = Callable[[Mapping[str, bytes]], Record]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    def make(outputs: Mapping[str, bytes]) -> Record:
        with Store(tmp_path_factory.mktemp("store")).stage(trial()) as stage:
            for name, content in outputs.items():
                (stage.out / name).write_bytes(content)
            return stage.commit({})

    return make


@examples(20)  # each writes five records
@given(content=st.binary(min_size=1, max_size=50), at=st.integers(0, 49))
def test_the_first_byte_that_differs_is_found(make: Make, content: bytes, at: int) -> None:
    at %= len(content)
    other = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    assert first_difference(make({"a": content}), make({"a": content})) == ""
    assert first_difference(make({"a": content}), make({"a": other})) == f"a, byte {at}"
    assert first_difference(make({"a": content}), make({"a": content + b"x"})) == f"a, byte {len(content)}"


def test_an_output_that_one_lacks(make: Make) -> None:
    assert first_difference(make({"a": b"1", "b": b"2"}), make({"b": b"2"})) == "a is missing on one side"


def test_every_output_that_differs(make: Make) -> None:
    found = byte_differences(make({"a": b"1", "b": b"2", "c": b"33"}), make({"b": b"2", "c": b"34", "d": b""}))
    assert list(found) == [ByteDifference("a", None), ByteDifference("c", 1), ByteDifference("d", None)]


@pytest.mark.parametrize(
    ("environment", "invalid", "where"),
    [
        ({"kernel": "Linux", "sysctls": {"a": {"x": "1", "y": "3"}}}, ["late"], "record.json, environment.sysctls.a.y"),
        ({"kernel": "Linux"}, ["late"], "record.json, environment.sysctls"),
        ({"kernel": "Linux", "sysctls": {"a": {"x": "1", "y": "2"}}}, [], "record.json, invalid"),
        ({"kernel": "Linux", "sysctls": {"a": {"x": "1", "y": "2"}}}, ["late"], ""),
    ],
)
def test_environments_and_reasons_are_compared(
    tmp_path: Path, environment: dict[str, object], invalid: list[str], where: str
) -> None:
    with Store(tmp_path / "ours").stage(trial()) as stage:
        ours = stage.commit({"kernel": "Linux", "sysctls": {"a": {"x": "1", "y": "2"}}}, ["late"])
    with Store(tmp_path / "theirs").stage(trial()) as stage:
        theirs = stage.commit(environment, invalid)
    assert first_difference(ours, theirs) == where
