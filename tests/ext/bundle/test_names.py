"""Records that belong to no claim, such as scripts', are packed by their names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import InputError
from lab.ext.bundle import api, bundling
from lab.record.record import Record
from lab.record.store import Store
from lab.spec import find
from tests.trials import trial

CLAIM = "tcp-timestamps/header-length"


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Tells what would be packed of a store with a claim's record and two scripts'."""
    for claim in (CLAIM, "mininet/one", "mininet/two"):
        with Store(tmp_path / "store").stage(trial(claim=claim)) as stage:
            stage.commit({})

    def bundle(
        experiments: Any, results: Path, report: None, out: Path, progress: Any, others: Iterable[Record]
    ) -> Any:
        del results, report, out, progress
        return sorted(experiments), sorted(record.trial.claim for record in others)

    def found(names: Iterable[str]) -> Any:
        if unknown := {*names} - {CLAIM}:
            raise InputError(f"unknown claim {unknown}")
        return [*names] or ["all claims"]

    monkeypatch.setattr(bundling, "bundle", bundle)
    monkeypatch.setattr(find, "find", found)
    return lambda *names: api.bundle(tmp_path / "out", *names, results=tmp_path / "store")


def test_a_script_is_named_like_a_claim(packed: Any) -> None:
    assert packed() == (["all claims"], ["mininet/one", "mininet/two"])
    assert packed("mininet/one") == ([], ["mininet/one"])
    assert packed("mininet") == ([], ["mininet/one", "mininet/two"])
    assert packed(CLAIM) == ([CLAIM], [])
    assert packed(CLAIM, "mininet/two") == ([CLAIM], ["mininet/two"])
    with pytest.raises(InputError, match="unknown claim"):
        packed("mininet/three")


@pytest.mark.parametrize("name", [CLAIM, "tcp-timestamps"])
def test_a_claim_in_the_place_of_the_file_is_a_mistake(name: str) -> None:
    with pytest.raises(InputError, match=f"names claims; name the file to write first, as in .* {name}`"):
        api.bundle(name)


def test_the_bundle_says_which_records_it_holds() -> None:
    record: Any = SimpleNamespace(trial=trial(claim="mininet/one"), started="2026-11-26T12:00:00Z")
    about = bundling._about([], [record])
    assert (about.name, about.date) == ("Records of mininet/one", "2026-11-26")
