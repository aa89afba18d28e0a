"""Stores put together, and shared: every byte is checked, and what is refused is named."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab.errors import InputError, MachineError
from lab.ext.cluster.shared import PREDICTIONS, named, shared_store
from lab.ext.cluster.sharing import fetch, merge, push
from lab.record.record import Record
from lab.record.store import Store
from tests.record.test_store import record
from tests.trials import trial


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A web server that knows nothing of the lab."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def predicted(store: Store, made: object, number: float = 1.0, **changed: Any) -> Path:
    file = store.predictions / ("ab" * 32) / f"{'cd' * 32}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure = {"number": number, "unit": "s", "low": None, "high": None}
    about = {"claim": "article/claim", "arm": "baseline", "point": ""}
    file.write_text(json.dumps({"made": made, "figure": figure, "why_not": ""} | about | changed))
    return file


def contents(found: Record | None) -> dict[str, bytes]:
    assert found is not None
    found.verify()
    return {
        str(path.relative_to(found.folder)): path.read_bytes() for path in found.folder.rglob("*") if path.is_file()
    }


def test_sixteen_shards_merged_are_one_store(tmp_path: Path) -> None:
    whole = Store(tmp_path / "whole")
    parts = [Store(tmp_path / str(number)) for number in range(16)]
    for seed in range(40):
        record(whole, seed=seed)
        record(parts[seed % 16], seed=seed)
    added = merge([part.root for part in parts], tmp_path / "merged")
    assert (added.added, added.present, added.refused, added.exit_code) == (40, 0, (), 0)
    merged = Store(tmp_path / "merged")
    assert [each.address for each in merged] == [each.address for each in whole]
    for each in whole:
        assert contents(merged.get(each.address)) == contents(each)
    assert merge([part.root for part in parts], tmp_path / "merged").present == 40


def test_a_merge_refuses_damage_and_contradiction_by_name(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    damaged, other = record(theirs), record(theirs, seed=2)
    (damaged.folder / "out" / "ping.txt").write_text("altered")
    with ours.stage(trial(seed=2)) as stage:
        (stage.out / "ping.txt").write_text("another answer")
        stage.commit({"kernel": "Linux"})
    before = contents(ours.get(other.address))
    added = merge([theirs.root], ours.root)
    assert (added.added, added.present, added.exit_code) == (0, 0, 1)
    said = sorted(added.refused, key=lambda each: "other bytes" in each)
    assert said[0] == f"{damaged.folder} is refused: is damaged: out/ping.txt was altered"
    assert said[1].startswith(f"{other.folder} is refused: ")
    assert "has different bytes of the same trial" in said[1]
    assert ours.get(damaged.address) is None
    assert contents(ours.get(other.address)) == before


def test_a_merge_keeps_the_older_date_of_a_prediction(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    record(ours)
    file = predicted(ours, "2026-02-01")
    predicted(theirs, "2026-01-01")
    merge([theirs.root], ours.root)
    assert json.loads(file.read_text())["made"] == "2026-01-01"
    predicted(theirs, "2025-01-01", number=2.0)
    merge([theirs.root], ours.root)
    assert json.loads(file.read_text())["made"] == "2026-01-01", "another figure was predicted then"


@pytest.mark.parametrize("over_http", [False, True])
def test_what_was_pushed_is_fetched(tmp_path: Path, over_http: bool) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    sent = [record(theirs, seed=seed) for seed in range(3)]
    predicted(theirs, "2026-01-01")
    record(theirs, clock="real")
    assert push(theirs.root, tmp_path / "shared").added == 3, "real time stays where it was"
    assert push(theirs.root, tmp_path / "shared").present == 3
    remarks: list[str] = []
    with served(tmp_path / "shared") as url:
        shared = shared_store(url if over_http else str(tmp_path / "shared"))
        wanted = [trial(seed=seed) for seed in range(5)] + [trial(clock="real")]
        fetch(wanted, shared, ours, remarks.append)
    assert remarks == []
    assert [each.address for each in ours] == sorted(each.address for each in sent)
    for each in sent:
        assert contents(ours.get(each.address)) == contents(each)
    assert json.loads((ours.predictions / ("ab" * 32) / f"{'cd' * 32}.json").read_text())["made"] == "2026-01-01"


@pytest.mark.parametrize("where", [0, 20, 100, -1])
def test_one_flipped_bit_over_http_is_refused_with_the_files_name(tmp_path: Path, where: int) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    sent, other = record(theirs), record(theirs, seed=2)
    push(theirs.root, tmp_path / "shared")
    file = tmp_path / "shared" / named(sent.address)
    damaged = bytearray(file.read_bytes())
    damaged[where] ^= 4
    file.write_bytes(bytes(damaged))
    remarks: list[str] = []
    with served(tmp_path / "shared") as url:
        fetch([sent.trial, other.trial], shared_store(url), ours, remarks.append)
        (said,) = remarks
        assert said.startswith(f"{url}/{named(sent.address)} is refused: ")
    assert [each.address for each in ours] == [other.address]


def test_another_trials_archive_is_refused(tmp_path: Path) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    sent, other = record(theirs), record(theirs, seed=2)
    push(theirs.root, tmp_path / "shared")
    (tmp_path / "shared" / named(other.address)).replace(tmp_path / "shared" / named(sent.address))
    remarks: list[str] = []
    fetch([sent.trial], shared_store(str(tmp_path / "shared")), ours, remarks.append)
    assert len(remarks) == 1
    assert "belongs to another trial" in remarks[0]
    assert list(ours) == []


def test_damaged_predictions_are_refused_by_name(tmp_path: Path) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    sent = record(theirs)
    push(theirs.root, tmp_path / "shared")
    (tmp_path / "shared" / PREDICTIONS).write_bytes(b"nonsense")
    remarks: list[str] = []
    fetch([sent.trial], shared_store(str(tmp_path / "shared")), ours, remarks.append)
    (said,) = remarks
    assert said.startswith(f"{tmp_path / 'shared' / PREDICTIONS} is refused: ")
    assert len(list(ours)) == 1


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        pass
    with pytest.raises(MachineError, match=r"\.tar\.zst cannot be read: .*refused"):
        fetch([trial()], shared_store(url), Store(tmp_path), print)


@pytest.mark.parametrize("where", ["ftp://host/x", "file:///etc", "nowhere/at/all"])
def test_what_is_no_shared_store_is_refused(where: str) -> None:
    with pytest.raises(InputError, match="--store"):
        shared_store(where)


def test_nothing_to_push_and_nothing_to_merge(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no records"):
        push(tmp_path, tmp_path / "shared")
    with pytest.raises(InputError, match="no such file"):
        merge([tmp_path / "none"], tmp_path)


@pytest.mark.parametrize(
    "changed",
    [{"claim": "article/other"}, {"arm": "other"}, {"point": "1 s"}, {"claim": ["article/claim"]}, {"x": "y" * 20_000}],
    ids=["claim", "arm", "point", "no text", "too long"],
)
def test_a_merge_takes_predictions_of_the_trials_alone(tmp_path: Path, changed: dict[str, Any]) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    record(theirs)
    predicted(theirs, "2026-02-01", **changed)
    merge([theirs.root], ours.root)
    assert not ours.predictions.exists()
    predicted(theirs, "2026-02-01")
    merge([theirs.root], ours.root)
    assert len(list(ours.predictions.glob("*/*"))) == 1


@pytest.mark.parametrize("made", ["0", "", "zzz", "<script>", "2001-01-01", "2999-01-01", "2026-13-01", 3])
def test_a_merge_takes_no_prediction_of_an_impossible_date(tmp_path: Path, made: object) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    record(theirs)
    predicted(theirs, made)
    merge([theirs.root], ours.root)
    assert not ours.predictions.exists()


def test_a_merge_takes_so_many_predictions_at_most(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    record(theirs)
    text = predicted(theirs, "2026-02-01").read_text()
    for number in range(300):
        place = theirs.predictions / f"{number:064x}"
        place.mkdir()
        (place / f"{number:064x}.json").write_text(text)
    merge([theirs.root], ours.root)
    assert len(list(ours.predictions.glob("*/*"))) == 256
