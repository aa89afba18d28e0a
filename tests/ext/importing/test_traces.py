"""Traces: Mahimahi's, and columns of times and rates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.importing import traces
from lab.ext.importing.importing import ImportOptions, read
from lab.guest import trace
from lab.units import Duration, Rate
from tests.ext.importing.conftest import Imports


def test_mahimahi_as_it_is(imports: Imports, tmp_path: Path) -> None:
    found = imports("5\n5\n9\n20\n", "lte.up", tmp_path / "lte.yaml")
    assert found.beside == {"lte-forward.trace": "5\n5\n9\n20\n"}
    made = found.topology.network.links[0].forward.trace
    assert made is not None
    assert list(trace.decoded(made)) == [(5, 2), (9, 1), (20, 1), (20, 0)]
    assert found.topology.network.links[0].back.trace is None


def test_columns(imports: Imports, tmp_path: Path) -> None:
    found = imports("time bw\n10 12\n10.5 0\n# a comment\n12,6\n", "train.txt", tmp_path / "train.yaml")
    rows = ["duration,rate", "500 ms,12 Mbit/s", "1.5 s,0 bit/s", "1.5 s,6 Mbit/s"]
    assert found.beside["train-forward.csv"].splitlines() == rows


def test_there_and_back(tmp_path: Path) -> None:
    up, down = tmp_path / "up", tmp_path / "down.csv"
    up.write_text("0 1000\n10 2000\n")
    down.write_text("40\n")
    found = read([up, down], tmp_path / "x.yaml", ImportOptions(time_unit="ms", rate_unit="kB/s"))
    assert set(found.beside) == {"x-forward.csv", "x-back.trace"}
    assert found.beside["x-forward.csv"].splitlines()[1:] == ["10 ms,8 Mbit/s", "10 ms,16 Mbit/s"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1\n2 2\nx y\n", r":3: 'x y' is not a time and a rate"),
        ("1 1\n2 2\n1 2\n", r":3: this time is before the one above"),
        ("1 1\n2 -2\n", r":2: a rate cannot be negative"),
        ("1 1\n2 1e30\n", r":2: .* is --rate-unit"),
        ("5\n3\n", r":2: 3 ms is before"),
        ("5\n7\n\n", r":3: '' is not a time"),
        ("1 0\n2 0\n", r"never carries a frame"),
        ("0 1\n9e9 1\n", r"longer than 60 min|is more than"),
    ],
)
def test_mistakes_have_a_line(imports: Imports, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imports(text, "bad.txt", tmp_path / "bad.yaml")


def test_units_are_checked(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1 1\n2 2\n")
    with pytest.raises(InputError, match="--rate-unit Mbps is unknown; use Mbit/s"):
        read([tmp_path / "t"], tmp_path / "x.yaml", ImportOptions(rate_unit="Mbps"))


def test_a_trace_needs_a_place(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1 1\n2 2\n")
    with pytest.raises(InputError, match="-o FILE"):
        read([tmp_path / "t"], None, ImportOptions())


ROWS = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 10**6)), min_size=2, max_size=20)


@given(ROWS)
def test_every_trace_of_columns_keeps_its_bits(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]]
) -> None:
    """The rate holds from its time until the next; the last lasts as long as the one before it."""
    at, lines = 0, []
    for milliseconds, kilobits in rows:
        lines.append(f"{at} {kilobits}")
        at += milliseconds
    made = traces.columns(lines, "t", "ms", "kbit/s")
    parsed = [line.split(",") for line in made.splitlines()[1:]]
    bits = sum(Fraction(Duration.of(length).ns, 10**9) * Rate.of(rate).bps for length, rate in parsed)
    lengths = [*(length for length, _ in rows[:-1]), rows[-2][0]]
    assert bits == sum(Fraction(length, 1000) * 1000 * rate for length, (_, rate) in zip(lengths, rows, strict=True))
    assume(bits > 10 * 8 * trace.FRAME.bytes)
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.csv").write_text(made)
    assert trace.read("any.csv", folder).counts


@given(st.text(alphabet="0123456789.eE+-, \n#x", max_size=60))
def test_any_text_is_a_trace_or_is_refused(text: str) -> None:
    lines = text.splitlines()
    if traces.looks_like(lines) == "columns":
        try:
            assert traces.columns(lines, "t", "s", "Mbit/s").startswith("duration,rate\n")
        except InputError as error:
            assert str(error).startswith("t:")  # noqa: PT017  # either is right
