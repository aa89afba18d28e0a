"""Records that belong to no experiment are compared by what they printed, their packets and their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from lab.errors import InputError
from lab.ext.comparison.api import compare_unclaimed
from lab.ext.comparison.display import Answer
from lab.ext.comparison.unclaimed import SAID, compare, unclaimed
from lab.record.record import Record
from lab.record.store import Store
from tests.examples import examples
from tests.trials import trial

SCRIPT = "mininet/script"
Make = Callable[..., Record]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    def make(outputs: Mapping[str, bytes], kernel: str = "7.2", claim: str = SCRIPT, seed: int = 1) -> Record:
        about = {"name": kernel, "version": kernel, "id": kernel, "hz": 1000, "patches": []}
        with Store(tmp_path_factory.mktemp("store")).stage(trial(claim=claim, kernel=about, seed=seed)) as stage:
            for name, content in outputs.items():
                (stage.out / name).write_bytes(content)
            return stage.commit({})

    return make


def test_what_a_script_printed_on_two_kernels(make: Make) -> None:
    base = make({SAID: b"one\ntwo\nthree\n", "a.bin": b"1"})
    new = make({SAID: b"one\n2\nthree\n", "a.bin": b"2"}, "6.12")
    (found,) = compare([base], [new])
    assert (found.change, found.has_changed, found.kernels) == ("output changed", True, ("7.2", "6.12"))
    assert found.said == ("-two", "+2")
    assert [str(each) for each in found.files] == ["a.bin, byte 0", f"{SAID}, byte 4"]
    answer = Answer((), (found,))
    assert answer.exit_code == 1
    console = Console(width=80, record=True, file=None)
    with console.capture() as shown:
        console.print(answer.render())
    assert "mininet/script baseline, seed 1  output changed  7.2 → 6.12" in shown.get()
    assert "  +2\n" in "\n".join(line.rstrip() + "\n" for line in shown.get().splitlines())
    assert answer.plain()["trials"][0]["output"] == ["-two", "+2"]
    assert [each.outcome for each in answer.cases()] == ["failed"]


def test_each_run_has_a_name_of_its_own(make: Make) -> None:
    records = [make({SAID: b"one"}, seed=seed) for seed in (1, 2)]
    found = compare(records, records)
    assert [each.run for each in found] == ["mininet/script baseline, seed 1", "mininet/script baseline, seed 2"]
    assert len({(each.group, each.name) for each in Answer((), found).cases()}) == 2


def test_other_files_are_no_other_answer(make: Make) -> None:
    (found,) = compare([make({SAID: b"one\n", "a": b"1"})], [make({SAID: b"one\n", "a": b"2"}, "6.12")])
    assert (found.change, found.has_changed, found.said) == ("files differ", False, ())
    assert Answer((), (found,)).exit_code == 0


def test_other_inputs_are_not_compared(make: Make) -> None:
    assert compare([make({}, seed=1)], [make({}, "6.12", seed=2)]) == ()


def test_a_claims_record_is_left_to_its_claim(make: Make) -> None:
    script, claim = make({}), make({}, claim="article/claim")
    assert list(unclaimed([script, claim], {"article/claim"})) == [script]


def test_a_foreign_capture_does_not_stop_the_comparison(make: Make) -> None:
    (found,) = compare([make({"x.pcap": b"not a capture"})], [make({"x.pcap": b"nor this"}, "6.12")])
    assert found.change == "files differ"


@examples(20)  # each writes two records
@given(before=st.lists(st.sampled_from("abc"), max_size=9), after=st.lists(st.sampled_from("abc"), max_size=9))
def test_the_lines_turn_one_output_into_the_other(make: Make, before: list[str], after: list[str]) -> None:
    sides = [make({SAID: "".join(f"{line}\n" for line in lines).encode()}) for lines in (before, after)]
    (found,) = compare(*([side] for side in sides))
    assert (found.change == "identical") == (before == after)
    removed = sum(line.startswith("-") for line in found.said)
    assert len(before) - removed == len(after) - (len(found.said) - removed)


def test_altered_files_are_refused(tmp_path: Path) -> None:
    for side in ("base", "new"):
        with Store(tmp_path / side).stage(trial(claim=SCRIPT)) as stage:
            (stage.out / "a").write_bytes(b"1")
            record = stage.commit({})
    (record.folder / "out" / "a").write_bytes(b"2")
    with pytest.raises(InputError, match="nothing was compared"):
        compare_unclaimed(tmp_path / "base", tmp_path / "new")
