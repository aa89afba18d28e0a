"""A frame has a row for each seed, and polars, pandas and pyarrow read the same values from it and from its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.errors import InputError, MachineError
from lab.guest.trial import Trial
from lab.record.store import Store
from lab.report import frame
from lab.report.answer import answers
from lab.report.article import Article
from lab.report.claims import Claims
from lab.units import to_plain
from tests.report.conftest import KERNEL

DRAWN = '''"""The draw is 3 at most."""
from lab import Arm, Experiment, Netcat, Reported, Study, Value, Within
from lab.spec.metric import measures

@measures("s")
def drawn():
    """Measure the time of the transfer, in seconds."""
    return lambda record: Value(record.json("netcat.json")["end_ns"] / 1e9, "s")

SOME = {"samples": 3, "few_samples": "it is a toy"}
'''
SAMPLED = (
    DRAWN
    + """
EXPERIMENT = Experiment(
    topology="random-loss", workload=Netcat(), metric=drawn(),
    arms=(
        Arm("plain", Reported("2 s", "it says so"), **SOME),
        Arm("half", Reported(0.5, "it says so"), relative_to="plain", **SOME),
    ),
    tolerance=Within(0.9, because="it is made up"),
)
"""
)
STUDY = (
    DRAWN
    + """
EXPERIMENT = Study(
    topology="random-loss", workload=Netcat(), metrics={"time": drawn(), "time again": drawn()},
    arms=(Arm("plain", **SOME), Arm("half", relative_to="plain", **SOME)),
)
"""
)


@pytest.fixture
def sampled(here: Path) -> Claims:
    """A claim with three seeds in two arms, one of them relative to the other, and an invalid trial."""
    return kept(here, "sampled", SAMPLED)


def kept(here: Path, name: str, text: str) -> Claims:
    (here / "experiments" / "toy" / f"{name}.py").write_text(text)
    (loaded,) = lab.spec.find.find([f"toy/{name}"])
    store = Store(here / "results")
    for case in {case.key: case for case in loaded.cases()}.values():
        for seed in (1, 2, 3):
            inputs = {
                "claim": case.claim,
                "arm": case.arm,
                "point": "",
                "source_sha256": loaded.source_sha256,
                "network": to_plain(case.network_of(seed)),
                "workload": to_plain(case.workload),
                "probes": [],
                "middleboxes": [],
                "kernel": KERNEL,
                "on": "uml",
                "clock": "virtual",
                "seed": seed,
                "repeat": 0,
                "tools": {},
            }
            with store.stage(Trial(**inputs)) as stage:
                took = seed * 10**9 // (2 if case.arm == "half" else 1)
                (stage.out / "netcat.json").write_text(json.dumps({"start_ns": 0, "end_ns": took}))
                stage.commit({}, ["a wire was wrong"] if (case.arm, seed) == ("plain", 3) else [])
    return lab.load(f"toy/{name}", results="results")


def test_each_seed_has_a_row(sampled: Claims) -> None:
    found = list(frame.rows(sampled))
    assert [(row["arm"], row["seed"]) for row in found] == [(arm, n) for arm in ("plain", "half") for n in (1, 2, 3)]
    assert [row["value"] for row in found] == [1.0, 2.0, None, 0.5, 0.5, None]
    assert [row["valid"] for row in found] == [True, True, False, True, True, True]
    assert found[2]["why_invalid"] == "a wire was wrong"
    assert {row["unit"] for row in found} == {"s", "1"}
    assert [row["trial"] for row in found] == [record.address for record in sampled["sampled"].records]
    assert {row["measured"] for row in found if row["arm"] == "plain"} == {1.5}
    assert list(found[0]) == list(frame.COLUMNS)


def test_a_studys_trial_has_a_row_for_each_figure(here: Path) -> None:
    found = list(frame.rows(kept(here, "study", STUDY)))
    assert {(row["arm"], row["figure"], row["seed"], row["value"]) for row in found if row["valid"]} == {
        (arm, name, seed, value)
        for name in ("time", "time again")
        for arm, seed, value in (
            ("plain", 1, 1.0),
            ("plain", 2, 2.0),
            ("half", 1, 0.5),
            ("half", 2, 0.5),
            ("half", 3, None),
        )
    }
    assert {row["claimed"] for row in found} == {None}


def test_a_studys_trial_is_cited_as_a_study_without_a_verdict(here: Path) -> None:
    kept(here, "study", STUDY)
    pages = "".join(answers(lab.article("toy", "results")).values())
    assert "A trial of the study:" in pages
    assert "Verdict of the claim: measured" not in pages


def test_polars_and_pandas_read_the_frame(sampled: Claims) -> None:
    import pandas
    import polars

    table = sampled.frame()
    ours = list(frame.rows(sampled))
    assert polars.DataFrame(table).to_dicts() == ours
    assert polars.DataFrame(table).group_by("arm", maintain_order=True).agg(polars.col("value").mean()).to_dicts() == [
        {"arm": "plain", "value": 1.5},
        {"arm": "half", "value": 0.5},
    ]
    data = table.to_pandas()
    assert list(data.columns) == list(frame.COLUMNS)
    assert data.groupby("arm")["value"].mean().to_dict() == {"plain": 1.5, "half": 0.5}
    assert data["seed"].tolist() == [row["seed"] for row in ours]
    assert pandas.isna(data["predicted"]).all()


def test_the_files_have_the_same_rows(sampled: Claims, tmp_path: Path) -> None:
    import pandas
    import polars

    ours = list(frame.rows(sampled))
    for suffix in (".csv", ".parquet", ".arrow"):
        assert frame.write(sampled, tmp_path / f"t{suffix}") == len(ours)
    assert polars.read_parquet(tmp_path / "t.parquet").to_dicts() == ours
    assert pandas.read_parquet(tmp_path / "t.parquet")["value"].tolist()[:2] == [1.0, 2.0]
    assert polars.read_ipc(tmp_path / "t.arrow").to_dicts() == ours
    with (tmp_path / "t.csv").open(newline="") as file:
        plain = list(csv.DictReader(file))
    assert [row["value"] for row in plain] == ["1.0", "2.0", "", "0.5", "0.5", ""]
    read = polars.read_csv(tmp_path / "t.csv")
    assert read["valid"].to_list() == [row["valid"] for row in ours]
    assert read["seed"].to_list() == [row["seed"] for row in ours]
    assert pandas.read_csv(tmp_path / "t.csv")["valid"].tolist() == [row["valid"] for row in ours]


def test_claims_without_trials_have_no_rows(toy: Callable[[], Article]) -> None:
    toy()
    assert lab.load("toy/unrun", results="results").frame().num_rows == 0
    found = list(frame.rows(lab.load("toy", results="results")))
    assert [(row["claim"], row["arm"], row["point"]) for row in found][:2] == [
        ("toy/header", "on", ""),
        ("toy/header", "longer", ""),
    ]


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write a file that ends in \.csv, \.parquet or \.arrow"):
        frame.write((), tmp_path / "t.xlsx")


def test_without_pyarrow_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    modules: dict[str, Any] = {"pyarrow": None}
    for name, module in modules.items():
        monkeypatch.setitem(__import__("sys").modules, name, module)
    with pytest.raises(MachineError, match="replab\\[tables\\]"):
        frame.table(())
    assert frame.write((), tmp_path / "t.csv") == 0
