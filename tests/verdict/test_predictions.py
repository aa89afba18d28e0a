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


def counting(asked: list[NetworkPath]) -> Case:
    def predict(path: NetworkPath) -> Value:
        asked.append(path)
        return Value(1 / 3, "s", None, 0.5)

    return case(prediction=declared(predict))


def test_a_prediction_is_made_once(tmp_path: Path, asked: list[NetworkPath]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path / "new", "file")
    assert predictions.of(counted, PATH) == predictions.of(counted, PATH) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 1


def test_what_decides_it_makes_another(tmp_path: Path, asked: list[NetworkPath]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path, "file")
    predictions.of(counted, PATH)
    predictions.of(counted, replace(PATH, hz=100))
    predictions.of(counted, replace(PATH, workload={"kind": "ping"}))
    for other in (replace(counted, claim="other"), replace(counted, arm="other"), replace(counted, point="other")):
        predictions.of(other, PATH)
    Predictions(tmp_path, "file changed").of(counted, PATH)
    assert len(asked) == 7


def test_what_the_model_does_not_cover_stays_so(tmp_path: Path) -> None:
    def fail(_: NetworkPath) -> Value:
        raise ModelError("no such path")

    for _ in range(2):
        with pytest.raises(ModelError, match="no such path"):
            Predictions(tmp_path, "file").of(case(prediction=declared(fail)), PATH)


@pytest.mark.parametrize("spoil", [lambda file: file.write_text("{"), lambda file: file.write_text("[]")])
def test_a_damaged_one_is_made_again(tmp_path: Path, asked: list[NetworkPath], spoil: Callable[[Path], None]) -> None:
    counted, predictions = counting(asked), Predictions(tmp_path, "file")
    predictions.of(counted, PATH)
    (file,) = tmp_path.iterdir()
    spoil(file)
    assert predictions.of(counted, PATH) == Value(1 / 3, "s", None, 0.5)
    assert len(asked) == 2


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path: Path, asked: list[NetworkPath]) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (None, tmp_path / "file"):
        Predictions(folder, "file").of(counting(asked), PATH)
    assert len(asked) == 2
