"""A store is kept in order: what may go is shown first and never goes under a run; every wrong file is named."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import lab
from lab.errors import InputError
from lab.ext.upkeep import upkeep
from lab.ext.upkeep.upkeep import Wanted
from lab.record import store as stores
from lab.record.date import now
from lab.record.record import Record
from lab.record.store import Store, StoreInUse
from lab.runner.plan import plan
from lab.spec.find import find
from tests.ext.cluster.test_campaign_parts import settings
from tests.kinds import Type
from tests.trials import NETWORK

CLAIM = "tcp-nodelay/piggyback"
TRIALS = [trial for each in plan(find([CLAIM]), settings()) for trial in each.trials]
PCAP = b"not a capture" * 100


def kept(store: Store, started: str = "", **changed: Any) -> Record:
    with store.stage(msgspec.structs.replace(TRIALS[0], **changed)) as stage:
        (stage.out / "capture.sender.eth0.pcap").write_bytes(PCAP)
        (stage.out / "program.out").write_text("said\n")
        (stage.path / "console.log").write_text("booted\n")
        return stage.commit({"kernel": "Linux"}, host={"started": started or now()})


def addresses(root: Path) -> set[str]:
    return {record.address for record in Store(root)}


def on_the_disk(*folders: Path) -> int:
    """What coreutils says that they take."""
    said = subprocess.run(["du", "-scB1", *map(str, folders)], capture_output=True, text=True, check=True).stdout
    return int(said.splitlines()[-1].split()[0])


def test_the_room_that_a_store_takes_is_what_du_says(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = kept(store, seed=0)
    for seed in range(1, 3):
        kept(store, seed=seed)
    kept(store, claim="article/other")
    store.share(first, msgspec.structs.replace(first.trial, arm="same-run"))
    store.predictions.mkdir()
    (store.predictions / "one.json").write_text("{}")
    (tmp_path / "stranger").write_text("?" * 5000)
    found = upkeep.usage(tmp_path)
    assert found.bytes == on_the_disk(tmp_path)
    files = {path.stat().st_ino for path in tmp_path.rglob("*") if path.is_file()}
    assert sum(count for kind, (count, _) in found.kinds.items() if kind != "folders") == len(files)
    assert found.kinds["captures"][0] == 4
    assert found.records == {CLAIM: 4, "article/other": 1}
    assert list(found.claims) == [CLAIM, "article/other"], "the most first"


def test_what_records_share_is_counted_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = kept(store)
    before = upkeep.usage(tmp_path)
    store.share(first, msgspec.structs.replace(first.trial, arm="same-run"))
    after = upkeep.usage(tmp_path)
    assert after.kinds["captures"] == before.kinds["captures"]
    assert sum(after.records.values()) == 2


def test_what_goes_frees_as_much_as_the_disk_gets_back(tmp_path: Path) -> None:
    """Two records share their files with one that stays, and two with each other."""
    store = Store(tmp_path / "store")
    stays, goes = kept(store, seed=1), kept(store, seed=2)
    doomed = {"claim": "article/doomed"}
    for record, arm in ((stays, "a"), (stays, "b"), (goes, "c")):
        store.share(record, msgspec.structs.replace(record.trial, arm=arm, **doomed))
    store.share(goes, msgspec.structs.replace(goes.trial, arm="d", **doomed))
    store.remove(goes.address)
    before = on_the_disk(*store.root.glob("??"))
    shown = upkeep.collect(store.root, Wanted(("article",)), remove=False)
    found = upkeep.collect(store.root, Wanted(("article",)), remove=True)
    assert len(found.doomed) == 4
    assert shown.bytes == found.bytes == before - on_the_disk(*store.root.glob("??"))


def test_what_another_store_has_too_is_not_freed(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "store"), Store(tmp_path / "other")
    record = kept(store)
    alone = upkeep.collect(store.root, Wanted((CLAIM,)), remove=False).bytes
    other.adopt(record)
    left = upkeep.collect(store.root, Wanted((CLAIM,)), remove=False).bytes
    assert left == on_the_disk(record.folder) - sum(
        path.stat().st_blocks * 512 for path in record.folder.rglob("*") if path.is_file()
    )
    assert left < alone


def test_nothing_goes_without_a_condition(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose the records to remove"):
        lab.collect(results=tmp_path)


def test_what_may_go_is_shown_and_stays_until_it_is_told_to_go(tmp_path: Path) -> None:
    store = Store(tmp_path)
    record, other = kept(store), kept(store, claim="article/other")
    found = upkeep.collect(tmp_path, Wanted(("article",)), remove=False)
    assert ([each.record.address for each in found.doomed], found.stay, found.removed) == ([other.address], 1, False)
    assert addresses(tmp_path) == {record.address, other.address}
    again = upkeep.collect(tmp_path, Wanted(("article",)), remove=True)
    assert (again.bytes, again.removed) == (found.bytes, True)
    assert addresses(tmp_path) == {record.address}
    assert list((tmp_path / ".staging").iterdir()) == []


def test_every_condition_must_fit(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old = kept(store, "2026-01-01T00:00:00.000000+00:00", seed=7)
    kept(store, "2026-01-01T00:00:00.000000+00:00", seed=8, kernel=TRIALS[0].kernel | {"name": "6.1", "version": "6.1"})
    kept(store, seed=9)
    kept(store, "some day", seed=10)  # which may be any: it stays
    wanted = Wanted((CLAIM,), timedelta(days=30), kernel="7.2")
    assert [each.record.address for each in upkeep.collect(tmp_path, wanted, remove=False).doomed] == [old.address]


def test_an_unknown_claim_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown"):
        upkeep.collect(tmp_path, Wanted(("tcp-nodelai",)), remove=True)


CHANGED: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"seed": 99}, None),
    ({"kernel": {"name": "6.1", "id": "1" * 16, "version": "6.1", "hz": 1000, "patches": []}}, None),
    ({"claim": "mine/that-is-elsewhere"}, None),
    ({"source_sha256": "0" * 64}, "its claim has changed"),
    ({"arm": "no-such-arm"}, "its claim has changed"),
    ({"network": NETWORK}, "its claim has changed"),
    ({"userland": "f" * 16}, "another userland"),
    ({"tools": TRIALS[0].tools | {"lab": "0" * 16}}, "the lab's code has changed"),
]


@pytest.mark.long
def test_unplanned_is_what_a_claim_would_not_make_again(tmp_path: Path) -> None:
    """One store holds all of them, because each look reads every claim that is shipped."""
    wanted = {kept(Store(tmp_path), **changed).address: because for changed, because in CHANGED}
    assert len(wanted) == len(CHANGED)
    found = upkeep.collect(tmp_path, Wanted(unplanned=True), remove=False)
    assert {each.record.address: each.because for each in found.doomed} == {
        address: because for address, because in wanted.items() if because
    }
    assert found.stay == sum(because is None for _, because in CHANGED)


@pytest.mark.long
def test_a_damaged_record_is_for_fsck(tmp_path: Path) -> None:
    record = kept(Store(tmp_path))
    (record.folder / "trial.json").write_text("{")
    found = upkeep.collect(tmp_path, Wanted(older_than=timedelta(0), unplanned=True), remove=True)
    assert (found.doomed, found.stay) == ((), 1)


def test_nothing_goes_under_a_run(tmp_path: Path) -> None:
    record = kept(Store(tmp_path))
    with Store(tmp_path).held(), pytest.raises(StoreInUse, match="in use"):
        upkeep.collect(tmp_path, Wanted((CLAIM,)), remove=True)
    with Store(tmp_path).stage(TRIALS[0]), pytest.raises(StoreInUse, match="in use"):
        upkeep.check(damaged(record).folder.parent.parent, remove=True)
    assert addresses(tmp_path) == {record.address}


def test_a_run_waits_until_what_goes_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []

    def run() -> None:
        with Store(tmp_path).held():
            order.append("run")

    running = threading.Thread(target=run)
    with Store(tmp_path).alone():
        running.start()
        time.sleep(0.3)
        order.append("removed")
    running.join()
    assert order == ["removed", "run"]
    monkeypatch.setattr(stores, "_WAIT_SECONDS", 0.2)
    with Store(tmp_path).alone(), pytest.raises(StoreInUse, match="removes or packs records"), Store(tmp_path).held():
        pass


REMOVES = "import lab, sys; lab.collect(sys.argv[2], remove=True, results=sys.argv[1])"


@pytest.mark.long
def test_a_killed_removal_leaves_only_whole_records(tmp_path: Path, times: int) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    for _ in range(3 * times):
        store = Store(tmp_path)
        for number in range(60):
            kept(store, seed=number)
        victim = subprocess.Popen([sys.executable, "-c", REMOVES, str(tmp_path), CLAIM])
        while not any((tmp_path / ".staging").glob("alone~*")) and victim.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.05))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        assert upkeep.check(tmp_path).faults == (), f"random.Random({seed})"
        assert list((tmp_path / ".staging").iterdir()) == []


@pytest.mark.long
def test_two_removals_at_once_are_right(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(100):
        kept(store, seed=number)
    stays = kept(store, claim="article/other")
    both = [
        subprocess.Popen([sys.executable, "-c", REMOVES, str(tmp_path), CLAIM], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [each.communicate()[1] for each in both]
    assert all(not text or "StoreInUse" in text for text in said), said
    upkeep.collect(tmp_path, Wanted((CLAIM,)), remove=True)
    assert addresses(tmp_path) == {stays.address}
    assert upkeep.check(tmp_path).faults == ()


def damaged(record: Record) -> Record:
    (record.folder / "out" / "program.out").write_text("other\n")
    return record


def unreadable_host(record: Record) -> None:
    (record.folder / "host.json").write_bytes(b"\xff")


def cut(record: Record) -> None:
    file = record.folder / "out" / "capture.sender.eth0.pcap"
    os.truncate(file, file.stat().st_size - 1)


def lost(record: Record) -> None:
    (record.folder / "record.json").unlink()


def moved(record: Record) -> None:
    record.folder.rename(record.folder.with_name("0" * 64))


@pytest.mark.parametrize(
    ("damage", "file", "what"),
    [
        (damaged, "out/program.out", "was altered"),
        (cut, "out/capture.sender.eth0.pcap", "was altered"),
        (lost, "record.json", "cannot be read: No such file or directory"),
        (moved, "trial.json", "belongs to another trial"),
        (unreadable_host, "host.json", "cannot be read"),
    ],
)
def test_each_wrong_file_is_named(tmp_path: Path, damage: Callable[[Record], object], file: str, what: str) -> None:
    whole = kept(Store(tmp_path))
    damage(kept(Store(tmp_path), seed=2))
    found = upkeep.check(tmp_path)
    assert (found.records, found.exit_code) == (2, 1)
    assert file in {fault.file for _, fault in found.faults}
    assert any(fault.what.startswith(what) for _, fault in found.faults)
    assert not any(whole.address in folder for folder, _ in found.faults)


def test_what_is_no_record_is_named(tmp_path: Path) -> None:
    record = kept(Store(tmp_path))
    (record.folder.parent / "notes.txt").write_text("mine")
    (found,) = upkeep.check(tmp_path).faults
    assert (found[0], str(found[1])) == (record.folder.parent.name, "notes.txt is not a record")


def test_damaged_records_go_so_that_they_run_again(tmp_path: Path) -> None:
    whole, broken = kept(Store(tmp_path)), damaged(kept(Store(tmp_path), seed=2))
    assert upkeep.check(tmp_path, remove=True).removed == (broken.address,)
    assert addresses(tmp_path) == {whole.address}
    assert upkeep.check(tmp_path).exit_code == 0


def test_the_command_line_shows_removes_and_checks(tmp_path: Path, type_here: Type) -> None:
    record = damaged(kept(Store(tmp_path / "results")))
    kept(Store(tmp_path / "results"), seed=2)
    used = type_here("lab store du --json")
    assert json.loads(used.stdout)["claims"][0] | {"bytes": 0} == {
        "claim": CLAIM,
        "records": 2,
        "files": 12,
        "bytes": 0,
    }
    checked = type_here("lab store fsck")
    assert checked.returncode == 1
    assert f"{record.address}: out/program.out was altered" in checked.stdout
    shown = json.loads(type_here(f"lab store gc {CLAIM} --json").stdout)
    assert (len(shown["records"]), shown["stay"], shown["removed"]) == (2, 0, False)
    assert type_here(f"lab store gc {CLAIM} --yes").returncode == 0
    assert addresses(tmp_path / "results") == set()
    missing = type_here("lab store du --results nowhere")
    assert (missing.returncode, missing.stderr) == (
        2,
        "lab: nowhere: no such file; give a folder that `lab run` wrote, such as results\n",
    )
    assert not (tmp_path / "nowhere").exists()
