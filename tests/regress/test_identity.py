"""Two records of a trial are the same, or part at a byte that is named."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.record import Record, Store, Trial
from lab.regress.identity import Parting, parting, partings

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
    assert parting(make({"a": content}), make({"a": content})) is None
    assert parting(make({"a": content}), make({"a": other})) == Parting("a", at)
    assert parting(make({"a": content}), make({"a": content + b"x"})) == Parting("a", len(content))


def test_an_output_that_one_lacks(make: Make) -> None:
    assert parting(make({"a": b"1", "b": b"2"}), make({"b": b"2"})) == Parting("a", None)


def test_every_output_that_differs(make: Make) -> None:
    found = partings(make({"a": b"1", "b": b"2", "c": b"33"}), make({"b": b"2", "c": b"34", "d": b""}))
    assert list(found) == [Parting("a", None), Parting("c", 1), Parting("d", None)]
