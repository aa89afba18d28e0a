"""A prediction is made once; whatever decides it makes another."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.model import ModelError
from lab.model.path import Path as NetworkPath
from lab.prediction import declared
from lab.spec.case import Case
from lab.units import Value
from lab.verdict.predictions import Predictions
from tests.verdict.cases import case

PATH = NetworkPath((), ())


@pytest.fixture
def asked() -> list[NetworkPath]:
    return []


def predicted(predictions: Predictions, of: Case, path: NetworkPath = PATH) -> Value:
    assert of.prediction
    return predictions.of(of, of.prediction, path)


def counting(asked: list[NetworkPath]) -> Case:
    def predict(path: NetworkPath) -> Value:
        asked.append(path)
        return Value(1 / 3, "s", None, 0.5)

    return case(prediction=declared(predict))


def test_a_prediction_is_made_once(tmp_path: Path, asked: list[NetworkPath]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path / "new", "file")
    assert predicted(predictions, counted) == predicted(predictions, counted) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 1


def test_what_decides_it_makes_another(tmp_path: Path, asked: list[NetworkPath]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path, "file")
    predicted(predictions, counted)
    predicted(predictions, counted, replace(PATH, hz=100))
    predicted(predictions, counted, replace(PATH, workload={"kind": "ping"}))
    for other in (replace(counted, claim="other"), replace(counted, arm="other"), replace(counted, point="other")):
        predicted(predictions, other)
    predicted(Predictions(tmp_path, "file changed"), counted)
    assert len(asked) == 7


def test_what_the_model_does_not_cover_stays_so(tmp_path: Path) -> None:
    def fail(_: NetworkPath) -> Value:
        raise ModelError("no such path")

    for _ in range(2):
        with pytest.raises(ModelError, match="no such path"):
            predicted(Predictions(tmp_path, "file"), case(prediction=declared(fail)))


@pytest.mark.parametrize("spoil", [lambda file: file.write_text("{"), lambda file: file.write_text("[]")])
def test_a_damaged_one_is_made_again(tmp_path: Path, asked: list[NetworkPath], spoil: Callable[[Path], None]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path, "file")
    predicted(predictions, counted)
    (file,) = tmp_path.iterdir()
    spoil(file)
    assert predicted(predictions, counted) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 2


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path: Path, asked: list[NetworkPath]) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (None, tmp_path / "file"):
        predicted(Predictions(folder, "file"), counting(asked))
    assert len(asked) == 2
