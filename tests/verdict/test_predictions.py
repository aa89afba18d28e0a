"""A prediction is made once; whatever decides it makes another."""

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from lab.guest.task import Writer
from lab.model import KernelTraits, ModelError, Scenario
from lab.spec.case import Case
from lab.spec.prediction import declared
from lab.units import Value
from lab.verdict.forecast import Forecast
from lab.verdict.predictions import Predictions, faults, kept_for
from tests.model.scenarios import hop, scenario
from tests.verdict.cases import case

ASKED = scenario(hop())


@pytest.fixture
def asked() -> list[Scenario]:
    return []


def kept_in(folder: Path | None, source: str = "file", kernel: str = "7.2") -> Predictions:
    return Predictions(folder, source, kernel)


def predicted(predictions: Predictions, of: Case, scenario: Scenario = ASKED) -> Value | None:
    return forecast_of(predictions, of, scenario).value


def forecast_of(predictions: Predictions, of: Case, scenario: Scenario = ASKED) -> Forecast:
    assert of.prediction
    return predictions.of(of, of.prediction, scenario)


def counting(asked: list[Scenario]) -> Case:
    def predict(scenario: Scenario) -> Value:
        asked.append(scenario)
        return Value(1 / 3, "s", None, 0.5)

    return case(prediction=declared(predict))


def test_a_prediction_is_made_once(tmp_path: Path, asked: list[Scenario]) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path / "new")
    assert predicted(predictions, counted) == predicted(predictions, counted) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 1


def test_what_decides_it_makes_another(tmp_path: Path, asked: list[Scenario]) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path)
    predicted(predictions, counted)
    predicted(predictions, counted, replace(ASKED, kernel=KernelTraits(hz=100)))
    predicted(predictions, counted, replace(ASKED, writer=Writer(write_size=1)))
    for other in (replace(counted, claim="other"), replace(counted, arm="other"), replace(counted, point="other")):
        predicted(predictions, other)
    predicted(kept_in(tmp_path, "file changed"), counted)
    predicted(kept_in(tmp_path, kernel="6.12"), counted)
    assert len(asked) == 8


def test_what_the_model_does_not_cover_stays_so(tmp_path: Path) -> None:
    def fail(_: Scenario) -> Value:
        raise ModelError("no such path")

    for _ in range(2):
        found = forecast_of(kept_in(tmp_path), case(prediction=declared(fail)))
        assert (found.value, found.why_not) == (None, "no such path")


def write(text: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(text)


def put(**changed: object) -> Callable[[Path], object]:
    return lambda file: file.write_text(json.dumps(json.loads(file.read_text()) | changed))


@pytest.mark.parametrize(
    "spoil",
    [
        *(write(text) for text in ("{", "[]", "null", "[" * 100_000)),
        put(made=3),
        put(figure="1 s"),
        put(figure={"number": 1.0, "unit": "s"}),
        put(figure={"number": "1", "unit": "s", "low": None, "high": None}),
        put(figure={"number": inf, "unit": "s", "low": None, "high": None}),
        lambda file: file.write_text(file.read_text().replace('"number": 0.3', '"number": 1e999')),
        put(figure={"number": 1.0, "unit": "parsec", "low": None, "high": None}),
        put(figure={"number": 1.0, "unit": "s", "low": None, "high": None, "extra": 1}),
    ],
)
def test_a_damaged_one_is_made_again(tmp_path: Path, asked: list[Scenario], spoil: Callable[[Path], object]) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path)
    predicted(predictions, counted)
    (file,) = tmp_path.glob("*/*.json")
    spoil(file)
    assert predicted(predictions, counted) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"claim": "article/claim"}'])
def test_what_is_kept_for_a_claim_is_found_among_damaged_files(tmp_path: Path, text: str) -> None:
    of = case(prediction=declared(lambda _: Value(1.0, "s")))
    predicted(kept_in(tmp_path), of)
    predicted(kept_in(tmp_path), replace(of, claim="article/other"))
    (file,) = (file for file in tmp_path.glob("*/*.json") if json.loads(file.read_text())["claim"] == of.claim)
    (file.parent / "damaged.json").write_text(text)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "damaged.json").write_text(text)
    (kept,) = kept_for(tmp_path, {of.claim})
    assert (kept.folder, kept.files) == (file.parent, frozenset((file.name,)))
    assert kept.about.startswith(of.claim)


@pytest.mark.parametrize(("figure", "same"), [(1.0, True), (2.0, False)])
def test_another_model_is_as_old_as_its_figure(tmp_path: Path, figure: float, same: bool) -> None:
    counted = case(prediction=declared(lambda _: Value(1.0, "s")))
    first = forecast_of(kept_in(tmp_path), counted)
    (file,) = tmp_path.glob("*/*.json")
    older = json.loads(file.read_text()) | {"model": "older", "made": "2026-01-01"}
    older["figure"]["number"] = figure
    file.with_name("older.json").write_text(json.dumps(older))
    again = forecast_of(kept_in(tmp_path), counted)
    assert again.value == first.value
    assert again.made == ("2026-01-01" if same else first.made)


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path: Path, asked: list[Scenario]) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (None, tmp_path / "file"):
        predicted(kept_in(folder), counting(asked))
    assert len(asked) == 2


def figure(number: float) -> dict[str, object]:
    return {"figure": {"number": number, "unit": "s", "low": None, "high": 0.5}}


def test_a_forged_figure_is_shown_and_does_not_count(tmp_path: Path, asked: list[Scenario]) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path)
    honest = forecast_of(predictions, counted)
    (file,) = tmp_path.glob("*/*.json")
    put(**figure(0.25), made="2026-01-01")(file)
    (fault,) = faults(tmp_path)
    assert fault.what == "was altered"
    for _ in range(2):
        found = forecast_of(predictions, counted)
        assert (found.value, found.instead) == (honest.value, "250 ms, of 2026-01-01")
        assert found.made > honest.made, "it is of today"
    assert len(asked) == 2
    (fault,) = faults(tmp_path)
    assert fault.what == "differs from the model's figure, and was: 250 ms, of 2026-01-01"


def test_what_another_machine_predicted_is_made_again_and_keeps_its_date(
    tmp_path: Path, asked: list[Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path / "kept")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    honest = forecast_of(predictions, counted)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ours"))
    assert list(faults(tmp_path / "kept")) == []
    for _ in range(2):
        assert forecast_of(predictions, counted) == honest
    assert len(asked) == 2, "once by each machine"


@pytest.mark.parametrize("made", ["0", "", "zzz", "<script>", "2001-01-01", "2999-01-01", "2026-02-30"])
def test_a_date_that_cannot_be_is_none(tmp_path: Path, asked: list[Scenario], made: str) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path)
    honest = forecast_of(predictions, counted)
    (file,) = tmp_path.glob("*/*.json")
    put(made=made)(file)
    (fault,) = faults(tmp_path)
    assert fault.what == "cannot be read, or its date is not possible"
    assert forecast_of(predictions, counted).made > honest.made


def test_a_prediction_that_was_moved_is_not_ours(tmp_path: Path, asked: list[Scenario]) -> None:
    counted, predictions = counting(asked), kept_in(tmp_path)
    predicted(predictions, counted)
    (file,) = tmp_path.glob("*/*.json")
    file.rename(file.with_name(f"{'0' * 64}.json"))
    (fault,) = faults(tmp_path)
    assert fault.what == "was altered"


def test_what_is_no_prediction_is_named(tmp_path: Path) -> None:
    (tmp_path / "stranger").write_text("?")
    (tmp_path / ("0" * 64)).mkdir()
    (tmp_path / ("0" * 64) / f"{'1' * 64}.json").symlink_to("/dev/zero")
    assert [str(fault) for fault in faults(tmp_path)] == [
        f"{'0' * 64}/{'1' * 64}.json cannot be read, or its date is not possible",
        "stranger is not a prediction",
    ]
