"""`lab grade`: what was handed in, whatever it is, has a verdict for each step; none of its code is executed."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import InputError
from lab.ext.course import exercises as course
from lab.ext.course import grading
from lab.ext.course.exercise import Choose, Predict, Reach
from lab.ext.course.exercises import LoadedExercise
from lab.ext.course.grading import Grades
from lab.ext.course.outcome import VERDICTS, Judge, Outcome
from lab.ext.course.submission import handed_in
from lab.report.stored import ANSWER
from lab.spec import shipped
from tests.examples import examples

BLANK = shipped.folder() / "notebooks" / "classroom"
RIGHT = {"with-timestamps": 941.5, "without-timestamps": 949.3, "why": "b", "larger-packets": 9000}


class Quick(Judge):
    """Judges by RIGHT, without trials."""

    def judge(self, exercise: LoadedExercise, step: Predict | Reach | Choose, answer: object) -> Outcome:
        if step.why_not(answer) or isinstance(step, Choose):
            return super().judge(exercise, step, answer)
        return Outcome("right" if answer == RIGHT[step.name] else "wrong", f"You said {answer}.")


def cell(step: str, answer: object, exercise: str = "1-timestamps") -> dict[str, Any]:
    """A cell that was run."""
    shown = {ANSWER: {"exercise": exercise, "step": step, "answer": answer}, "text/plain": ["You say so."]}
    return {
        "cell_type": "code",
        "execution_count": 1,
        "source": f'exercise.say("{step}", 1)',
        "outputs": [{"output_type": "execute_result", "data": shown}],
    }


def notebook(folder: Path, *cells: object, name: str = "1-timestamps.ipynb") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    return path


def graded(*submissions: Path) -> Grades:
    return grading.grade(submissions, Quick(Path("nowhere")))


def verdicts(*submissions: Path) -> dict[str, str]:
    return {each.step: each.verdict for each in graded(*submissions).grades}


def test_right_answers_are_right(tmp_path: Path) -> None:
    path = notebook(tmp_path, *(cell(*each) for each in RIGHT.items()))
    assert verdicts(path) == dict.fromkeys(RIGHT, "right")
    assert graded(path).exit_code == 0


def test_each_step_has_a_verdict_of_its_own(tmp_path: Path) -> None:
    path = notebook(tmp_path, cell("with-timestamps", 1000), cell("why", "b"), cell("larger-packets", "big"))
    expected = {"with-timestamps": "wrong", "without-timestamps": "empty", "why": "right", "larger-packets": "broken"}
    assert verdicts(path) == expected
    assert graded(path).exit_code == 1


def test_the_last_answer_counts(tmp_path: Path) -> None:
    assert verdicts(notebook(tmp_path, cell("why", "a"), cell("why", "b")))["why"] == "right"


def test_what_nobody_answered_is_empty() -> None:
    found = grading.grade(sorted(BLANK.glob("*.ipynb")), Quick(Path("nowhere")))
    assert {each.verdict for each in found.grades} == {"empty"}
    assert {each.exercise for each in found.grades} == set(course.exercises())


def test_no_code_of_a_submission_is_executed(tmp_path: Path) -> None:
    source = f'open("{tmp_path}/executed", "w")\nwhile True: pass\nexercise.say("why", "b")'
    path = notebook(tmp_path, {"cell_type": "code", "source": source, "outputs": [], "execution_count": None})
    (broken,) = (each for each in graded(path).grades if each.step == "why")
    assert broken.verdict == "broken"
    assert "not run, or never ended" in broken.says
    assert not (tmp_path / "executed").exists()


def test_a_cell_that_raised_is_named_by_its_error(tmp_path: Path) -> None:
    output = {"output_type": "error", "ename": "NameError", "evalue": "", "traceback": []}
    raised = {"cell_type": "code", "source": ['exercise.say("why", b)'], "outputs": [output], "execution_count": 3}
    (broken,) = (each for each in graded(notebook(tmp_path, raised)).grades if each.step == "why")
    assert broken.says == "There is no answer: its cell ended with NameError."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a notebook"),
        (b"\xff\xfe\x00", "not a notebook"),
        (b"print('hello')", "not a notebook"),
        (b"[]", "it has no list of cells"),
        (b'{"cells": 3}', "it has no list of cells"),
        (b'{"cells": [3]}', "a cell is not a mapping"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"cells": []}', "it belongs to no exercise"),
    ],
)
def test_what_is_no_notebook_is_said_in_a_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.ipynb"
    path.write_bytes(content)
    found = graded(path)
    (only,) = found.grades
    assert (only.verdict, only.step) == ("broken", "")
    assert said in only.says
    assert "\n" not in only.says
    assert found.exit_code == InputError.exit_code


def test_one_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    good = notebook(tmp_path / "ada", *(cell(*each) for each in RIGHT.items())).parent
    bad = tmp_path / "bob"
    bad.mkdir()
    (bad / "1-timestamps.ipynb").write_text("{")
    empty = tmp_path / "eve"
    empty.mkdir()
    found = graded(good, bad, empty)
    assert list(found.by_submission()) == [str(good), str(bad), str(empty)]
    assert [each.verdict for each in found.grades] == ["right"] * 4 + ["broken"] * 2
    assert found.exit_code == 2


def test_a_renamed_notebook_is_known_by_its_answers(tmp_path: Path) -> None:
    path = notebook(tmp_path, cell("why", "b"), name="homework (3).ipynb")
    assert {each.exercise for each in graded(path).grades} == {"1-timestamps"}


def test_checkpoints_are_not_handed_in(tmp_path: Path) -> None:
    notebook(tmp_path, cell("why", "b"))
    notebook(tmp_path / ".ipynb_checkpoints", cell("why", "a"))
    assert len(graded(tmp_path).grades) == 4


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["cells", "data", "x"]), inner),
    max_leaves=8,
)


@examples(40)
@given(outputs=plain, source=plain, answer=plain, step=st.sampled_from([*RIGHT, "other"]))
def test_no_notebook_ends_in_a_traceback(
    outputs: object, source: object, answer: object, step: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    odd = {"cell_type": "code", "source": source, "outputs": outputs}
    path = notebook(tmp_path_factory.mktemp("odd"), odd, cell(step, answer))
    found = graded(path)
    assert len(found.grades) == 4
    json.dumps(found.plain(), allow_nan=False)
    assert ET.fromstring(found.junit()).get("tests") == "4"
    found.csv().encode()


def test_a_submission_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(InputError, match="nobody: no such file"):
        list(handed_in(Path("nobody"), ["1-timestamps"]))


def test_the_table_has_a_row_for_each_step_and_computes_nothing(tmp_path: Path) -> None:
    path = notebook(tmp_path, cell("with-timestamps", '=HYPERLINK("x")'), cell("why", "b"))
    rows = list(csv.DictReader(io.StringIO(graded(path).csv())))
    assert [row["step"] for row in rows] == list(RIGHT) or len(rows) == 4
    by_step = {row["step"]: row for row in rows}
    assert by_step["with-timestamps"]["answer"] == """'=HYPERLINK("x")"""
    assert by_step["why"]["verdict"] == "right"


def test_junit_has_a_suite_for_each_submission(tmp_path: Path) -> None:
    path = notebook(tmp_path, cell("with-timestamps", 1000), cell("why", "b"), cell("larger-packets", "big"))
    (suite,) = ET.fromstring(graded(path).junit())
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    kinds = {case.get("name"): [each.tag for each in case] for case in suite}
    assert kinds["with-timestamps"] == ["failure"]
    assert kinds["why"] == []


def test_a_class_is_summed_up_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wide = tmp_path / f"somebody-{'x' * 90}"
    for folder, answer in ((Path("ada"), "b"), (Path("bob [red]"), "a"), (wide, "c")):
        notebook(folder, cell("why", answer))
    done = CliRunner().invoke(app, ["grade", "ada", "bob [red]", str(wide)])
    lines = done.output.splitlines()
    head = next(number for number, line in enumerate(lines) if line.split() == ["submission", *VERDICTS])
    assert lines[head + 1].split() == ["ada", "1", "0", "3", "0"]
    assert lines[head + 2].split() == ["bob", "[red]", "0", "1", "3", "0"]
    assert max(map(len, lines[head:])) <= 80


def test_the_command_writes_all_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = notebook(tmp_path / "ada", cell("why", "a"))
    done = CliRunner().invoke(app, ["grade", str(path), "--junit", "j.xml", "--csv", "t.csv"])
    assert done.exit_code == 1, done.output
    assert "wrong  why = a  Not yet." in done.output
    assert "empty  with-timestamps, without-timestamps, larger-packets" in done.output
    assert "in all: 1 wrong, 3 empty" in done.output
    assert max(map(len, done.output.splitlines())) <= 80
    assert ET.parse("j.xml").getroot().get("tests") == "4"
    assert len(Path("t.csv").read_text().splitlines()) == 5
    said = CliRunner().invoke(app, ["grade", str(path), "--json"])
    (submission,) = json.loads(said.stdout)["submissions"]
    assert submission["counts"] == {"right": 0, "wrong": 1, "empty": 3, "broken": 0}
    assert not (tmp_path / "results").exists(), "a choice needs no trial"
