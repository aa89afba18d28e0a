"""The exercises, as students find them and solved: their steps, their stored outputs, and what answers are told."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.ext.course import exercises as course
from lab.ext.course.exercise import Answer, Choose, Predict, Reach, Said
from lab.ext.course.lesson import Lesson
from lab.ext.course.outcome import Judge
from lab.metric import capture_goodput
from lab.report import notebooks, stored
from lab.report.drawing import LivePicture
from lab.spec import shipped
from lab.spec.experiment import Experiment
from lab.units import Value
from tools import notebooks as keeping

FOLDER = shipped.folder() / "notebooks" / "classroom"
NAMES = list(course.exercises())
ARTICLES = ["tcp-timestamps", "tcp-bottleneck", "ack-rate", "tcp-nodelay", "asymmetric-mtu"]

# Mistakes that are near at hand, and a word of the hint that each deserves.
MISTAKES: list[tuple[str, str, Answer, str]] = [
    ("1-timestamps", "with-timestamps", 949.3, "how many bytes of options"),
    ("1-timestamps", "without-timestamps", 957, "frame on the wire has 1538 bytes"),
    ("1-timestamps", "larger-packets", 6000, "Solve for the MTU"),
    ("1-timestamps", "larger-packets", 6040, "% off, the goal is"),
    ("2-windows", "one-window", 100, "link's rate"),
    ("2-windows", "one-window", 101.6, "both ways"),
    ("2-windows", "buffer", 500_000, "rate x round trip"),
    ("2-windows", "buffer", 2_000_000, "full long before"),
    ("3-acks", "acks", 81_275, "every segment"),
    ("3-acks", "acks", 325_103.6, "You said 325,104, the kernel did 40,633: 700 % too high."),
    ("3-acks", "acks", 0.0406, "times too little. Are there bits"),
    ("3-acks", "wait", 12, "second frame"),
    ("4-small-writes", "stall", 60.0, "not each write"),
    ("4-small-writes", "nodelay", 1, "holds writes back"),
    ("4-small-writes", "nodelay", 2, "with Nagle's rule"),
    ("4-small-writes", "way", "nodelay", "see the message whole"),
    ("5-two-sizes", "payload", 460, "12 bytes"),
    ("5-two-sizes", "goodput", 94.1, "38 of Ethernet"),
    ("5-two-sizes", "mss", 1000, "1500 bytes"),
    ("6-sawtooth", "period", 2.8, "half of it is left"),
    ("6-sawtooth", "goodput", 18.8, "at the top of the sawtooth"),
    ("6-sawtooth", "goodput", 9.3, "at the bottom of the sawtooth"),
    ("6-sawtooth", "queue", 10, "still fill the path"),
    ("7-bufferbloat", "fifo", 20, "empty path"),
    ("7-bufferbloat", "fq-codel", 300, "a queue for each flow"),
    ("7-bufferbloat", "fq-codel", 25, "what CoDel lets a queue keep"),
    ("7-bufferbloat", "limit", 100, "1.23 ms"),
    ("8-limits", "first", "nothing", "takes most of the time"),
    ("8-limits", "first", "link", "takes most of the time"),
    ("8-limits", "twice", 94, "Does twice the window fill it?"),
    ("8-limits", "twice", 20, "that its window carries"),
    ("8-limits", "second", "receive-buffer", "nothing to send while the window is open"),
]


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_an_exercise_for_each_article_and_the_index_lists_all() -> None:
    for article, name in zip(ARTICLES, NAMES, strict=False):
        assert f"notebooks/{article}.ipynb" in (FOLDER / f"{name}.ipynb").read_text(), "where to go on"
    index = (FOLDER / "README.md").read_text()
    assert re.findall(r"\(([\w-]+)\.ipynb\)", index) == NAMES
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_one_blank_for_each_step_and_no_answer(name: str) -> None:
    notebook = read(FOLDER / f"{name}.ipynb")
    steps = course.load(name).exercise.steps
    assert sorted(keeping.given(notebook)) == sorted(step.name for step in steps)
    assert set(keeping.given(notebook).values()) == {"..."}
    assert sum(".say(" in cell for cell in code(notebook)) == len(steps), "one blank a cell"
    assert sum("your turn" in cell for cell in code(notebook)) == len(steps)
    assert any("seen.packets(" in cell for cell in code(notebook)), "a capture is opened"
    assert any(isinstance(step, Choose) for step in steps), "why was I off?"
    assert course.load(name).exercise.minutes <= 25
    for link in re.findall(r"\]\(([^)]+)\)", "\n".join(cell.source for cell in notebook.cells)):
        assert (FOLDER / link).exists(), link


@pytest.mark.parametrize("name", NAMES)
def test_a_solved_copy_differs_by_its_answers_alone(name: str) -> None:
    blank, solved = read(FOLDER / f"{name}.ipynb"), read(FOLDER / "solved" / f"{name}.ipynb")
    answers = keeping.given(solved)
    assert "..." not in answers.values()
    sources = [cell.source for cell in keeping.filled(blank, answers).cells]
    assert sources == [cell.source for cell in solved.cells], "`make notebooks` makes it anew"


@pytest.mark.parametrize("copy", ["", "solved"], ids=["blank", "solved"])
@pytest.mark.parametrize("name", NAMES)
def test_stored_outputs_are_of_the_exercise_as_it_is(name: str, copy: str) -> None:
    notebook = read(FOLDER / copy / f"{name}.ipynb")
    assert stored.made_of(notebook) == stored.digest(notebook, keeping.sources_of(name)), "`make notebooks`"


@pytest.mark.parametrize("copy", ["", "solved"], ids=["blank", "solved"])
@pytest.mark.parametrize("name", NAMES)
def test_stored_outputs_are_small_and_say_nothing_of_a_machine(name: str, copy: str) -> None:
    path = FOLDER / copy / f"{name}.ipynb"
    assert path.stat().st_size < 150_000
    text = "\n".join(json.dumps(cell.get("outputs", ())) for cell in read(path).cells)
    assert not re.search(r"/(?:root|home|tmp|work|usr)/|[0-9a-f]{64}|seconds ago|20\d\d-\d\d-\d\d|<progress", text)


def test_the_teachers_table_says_what_the_exercises_say() -> None:
    table = (FOLDER.parents[1] / "docs" / "classroom.md").read_text()
    rows = re.findall(r"^\| (\d .+?) \| (\d+) \| predict (\d), choose (\d), reach (\d) \|", table, re.MULTILINE)
    found = [course.load(name) for name in NAMES]
    expected = [
        (
            f"{number} {each.title}",
            str(each.exercise.minutes),
            *(str(sum(isinstance(step, kind) for step in each.exercise.steps)) for kind in (Predict, Choose, Reach)),
        )
        for number, each in enumerate(found, 1)
    ]
    assert rows == expected


def executed(paths: list[Path], results: Path) -> list[Any]:
    found = notebooks.execute({path: notebooks.read(path) for path in paths}, results, lambda _: None)
    return [stored.reduced(each, "") for each in found]


def outputs(notebook: Any) -> list[Any]:
    """All that cells show, but for the pictures' bytes, which fonts decide."""
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ())]
    return [{kind: text for kind, text in data.items() if kind != "image/png"} for data in shown]


@pytest.mark.long
def test_an_exercise_that_nobody_has_answered_runs_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no kernel, and shows what is stored with it."""
    monkeypatch.chdir(tmp_path)
    paths = [FOLDER / f"{name}.ipynb" for name in NAMES]
    for path, found in zip(paths, executed(paths, tmp_path / "results"), strict=True):
        assert outputs(found) == outputs(read(path)), path.name
    assert not (tmp_path / "results").exists()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that the tests of answers share: what several ask runs once."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.guest
def test_a_solved_exercise_shows_what_is_stored(tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [FOLDER / "solved" / f"{name}.ipynb" for name in NAMES]
    for path, found in zip(paths, executed(paths, results), strict=True):
        assert outputs(found) == outputs(read(path)), path.name


@pytest.mark.guest
def test_a_teacher_sees_who_was_right_who_was_wrong_and_who_answered_nothing(tmp_path: Path, results: Path) -> None:
    """Of every step of every exercise, by the command that a teacher types."""
    ada, bob, eve = FOLDER / "solved", tmp_path / "bob", tmp_path / "eve"
    for folder in (bob, eve):
        folder.mkdir()
    for name in NAMES:
        nbformat.write(mistaken(name), bob / f"{name}.ipynb")
        nbformat.write(read(FOLDER / f"{name}.ipynb"), eve / f"{name}.ipynb")
    table = tmp_path / "grades.csv"
    done = CliRunner().invoke(
        app, ["grade", *map(str, (ada, bob, eve)), "--results", str(results), "--csv", str(table)]
    )
    assert done.exit_code == 1, done.output
    rows = list(csv.DictReader(table.read_text().splitlines()))
    every = {(name, step.name) for name in NAMES for step in course.load(name).exercise.steps}
    for who, verdict in ((ada, "right"), (bob, "wrong"), (eve, "empty")):
        assert {(row["exercise"], row["step"]) for row in rows if row["submission"] == str(who)} == every
        assert {row["verdict"] for row in rows if row["submission"] == str(who)} == {verdict}
        assert f"in all: {len(every)} {verdict}" in done.output


def mistaken(name: str) -> Any:
    """The solved notebook as somebody leaves it who makes a mistake in every step."""
    wrong: dict[str, Answer] = {step: answer for exercise, step, answer, _ in MISTAKES if exercise == name}
    exercise = course.load(name)
    notebook = read(FOLDER / "solved" / f"{name}.ipynb")
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        said = output.data.get(stored.ANSWER)
        if said:
            step = exercise.step(said["step"])
            if isinstance(step, Choose):
                said["answer"] = next(each for each in step.options if not step.is_right(each))
            else:
                said["answer"] = wrong[step.name]
    return notebook


@pytest.mark.guest
def test_mistakes_are_told_how_far_off_they_are_and_what_to_think_of(results: Path) -> None:
    judge = Judge(results)
    for name, step, answer, hint in MISTAKES:
        exercise = course.load(name)
        outcome = judge.judge(exercise, exercise.step(step), answer)
        assert outcome.verdict == "wrong", (name, step)
        assert outcome.says.startswith("Not yet."), (name, step)
        assert hint in outcome.says, (name, step, outcome.says)


@pytest.mark.guest
def test_figures_say_whose_the_figure_is(results: Path) -> None:
    """Nobody reads an article here: there is what a student said, and a goal."""
    lesson = Lesson(course.load("2-windows"), Judge(results))
    said, goal = ("one-window", 100, "you said: 100 Mbit/s"), ("buffer", 500_000, "goal: ≥ 93 Mbit/s")
    for step, answer, whose in (said, goal):
        drawn = lesson.say(step, answer).run().plot("bars").text
        assert whose in drawn
        assert "article" not in drawn


@pytest.mark.guest
@pytest.mark.parametrize(
    ("name", "step", "answer"),
    [
        ("1-timestamps", "larger-packets", 6041),  # 12 / (6041 - 40) is the first cost below 0.2 %; see 6040
        ("2-windows", "buffer", 787_293),  # 500,000 * 2280 / 1448: its window still grows at the end
    ],
)
def test_what_the_formula_gives_is_right(results: Path, name: str, step: str, answer: int) -> None:
    exercise = course.load(name)
    assert Judge(results).judge(exercise, exercise.step(step), answer).verdict == "right"


@pytest.mark.guest
def test_an_answer_whose_trial_has_no_figure_stops_nobody_elses(results: Path) -> None:
    exercise = course.load("2-windows")
    step = exercise.step("one-window")
    assert isinstance(step, Predict)

    def unmeasured(said: Said) -> Experiment:
        return replace(step.experiment(said), metric=capture_goodput(start=1, end=3, interface="none"))

    outcome = Judge(results).judge(exercise, replace(step, experiment=unmeasured), 50)
    assert outcome.verdict == "broken"
    assert outcome.says.startswith("50 cannot be judged: ")


@pytest.mark.guest
def test_a_caption_speaks_of_no_idle_time_where_there_is_none(results: Path) -> None:
    seen = Lesson(course.load("2-windows"), Judge(results)).say("one-window", 50).run()
    assert "Grey" not in seen.plot("io_graph", start=1.5).text


@pytest.mark.guest
def test_what_a_student_sees_is_in_the_courses_words(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = Lesson(course.load("6-sawtooth"), Judge(results)).say("queue", 64).run()
    assert "reproduced" not in capsys.readouterr().err
    assert "seen.packets()" in seen._repr_html_()
    assert "captures/" not in seen._repr_html_(), "nothing is there before it is opened"


@pytest.mark.guest
def test_the_flow_can_be_seen_in_a_notebook_that_nobody_trusts(results: Path) -> None:
    """Jupyter shows such a one's pictures, not its drawings."""
    flow = Lesson(course.load("6-sawtooth"), Judge(results)).say("queue", 64).run().flow()
    assert isinstance(flow, LivePicture)
    assert "round trip, ms" in flow.text


@pytest.mark.parametrize("name", NAMES)
def test_every_other_option_of_a_choice_is_wrong(name: str) -> None:
    exercise = course.load(name)
    (step,) = (step for step in exercise.exercise.steps if isinstance(step, Choose))
    verdicts = {option: Judge(Path()).judge(exercise, step, option) for option in step.options}
    assert sorted(each.verdict for each in verdicts.values()) == ["right", *["wrong"] * (len(step.options) - 1)]
    for option, outcome in verdicts.items():
        assert step.remarks[option] in outcome.says


@pytest.mark.parametrize(
    "answer", [None, True, [], {}, "", "100", -1, 0, float("nan"), float("inf"), 10**400, "x" * 10_000]
)
def test_what_is_no_answer_is_said_so(answer: object) -> None:
    for name in NAMES:
        exercise = course.load(name)
        for step in exercise.exercise.steps:
            outcome = Judge(Path()).judge(exercise, step, answer)
            assert outcome.verdict == "broken"
            assert "is no answer: it should be" in outcome.says
            assert len(outcome.says) < 300


def test_a_figure_keeps_the_unit_it_was_said_in() -> None:
    exercise = course.load("1-timestamps")
    step = exercise.step("with-timestamps")
    assert isinstance(step, Predict)
    assert step.claimed(941.5).value == Value.of("941.5 Mbit/s")


def test_an_answer_may_be_computed(tmp_path: Path) -> None:
    """The course says so, and a division has more digits than any unit, or a fraction of zero."""
    exercise = course.load("1-timestamps")
    computed = Lesson(exercise, Judge(tmp_path)).say("with-timestamps", 1000 * 1448 / 1538)
    assert repr(computed) == "You say 941.4824 Mbit/s. Now run it."
    for name in NAMES:
        exercise = course.load(name)
        for step in exercise.exercise.steps:
            if isinstance(step, Predict):
                assert exercise.experiment(step, 1000 / 3).experiment.arms
            elif isinstance(step, Reach) and not step.options:
                assert step.why_not(step.low + 0.5)
                assert not step.why_not(float(step.low))
                assert isinstance(step.chosen(float(step.low)), int)
                assert exercise.experiment(step, float(step.low)).experiment.arms


def test_a_setting_out_of_bounds_runs_nothing() -> None:
    exercise = course.load("2-windows")
    step = exercise.step("buffer")
    assert isinstance(step, Reach)
    assert step.why_not(step.low - 1) == "it should be a whole number from 100,000 to 10,000,000 bytes"
    assert not step.why_not(step.low)
    assert not step.why_not(step.high)


def test_an_exercise_beside_a_submission_is_not_the_courses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever grades may do so in a folder that students wrote."""
    monkeypatch.chdir(tmp_path)
    theirs = tmp_path / "notebooks" / "classroom" / "exercises"
    theirs.mkdir(parents=True)
    (theirs / "1-timestamps.py").write_text("raise SystemExit('run')")
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "symmetric-1g.yaml").write_text("no topology")
    exercise = course.load("1-timestamps")
    step = exercise.step("with-timestamps")
    assert isinstance(step, Predict)
    assert exercise.experiment(step, 1.0).topology.network.links[0].name == "path"
