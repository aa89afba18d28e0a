"""A record is whole or absent, found by its inputs alone, and honest about damage."""

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab.errors import MachineError
from lab.guest.trial import Trial
from lab.record.record import Record, RecordError
from lab.record.store import Store
from tests.trials import trial


def test_a_fabric_is_an_input_where_it_is_not_the_usual_one() -> None:
    assert trial(fabric="netlink").address == trial().address, "records from before there was a choice keep theirs"
    assert trial(fabric="mininet").address != trial().address


def record(store: Store, **changed: object) -> Record:
    with store.stage(trial(**changed)) as stage:
        (stage.out / "ping.txt").write_text("64 bytes\n")
        (stage.out / "ping.json").write_text('{"rtt": 1}')
        (stage.path / "console.log").write_text("booted\n")
        return stage.commit({"kernel": "Linux"}, host={"wall": 1.5})


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def fail(store: Store, error: BaseException | None) -> None:
    with store.stage(trial()) as stage:
        (stage.out / "half").write_text("x")
        if error:
            raise error


def test_committed_record_is_found_by_its_trial(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.get(trial().address) is None
    record(store)
    found = store.get(trial().address)
    assert found is not None
    found.verify()
    assert (found.trial, found.environment, found.invalid) == (trial(), {"kernel": "Linux"}, ())
    assert found.text("ping.txt") == "64 bytes\n"
    assert found.json("ping.json") == {"rtt": 1}
    assert found.host == {"wall": 1.5}
    assert [each.address for each in store] == [trial().address]


def test_what_was_loaded_is_known_when_the_record_has_gone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = record(store)
    kept.load()
    store.remove(kept.address)
    assert (kept.trial, kept.environment, kept.host) == (trial(), {"kernel": "Linux"}, {"wall": 1.5})
    assert set(kept.outputs) == {"ping.txt", "ping.json"}


def test_identical_trials_leave_identical_bytes(tmp_path: Path) -> None:
    first, second = record(Store(tmp_path / "a")), record(Store(tmp_path / "b"))
    for name in ("record.json", "trial.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()


@given(st.sampled_from(Trial.__struct_fields__))
def test_every_input_decides_the_address(field: str) -> None:
    other = {str: "other", int: 7, dict: {"other": "x"}, list: [{"kind": "other"}]}
    closed = {"on": "vm", "clock": "real", "source_sha256": "11" * 32}
    changed = trial(**{field: closed.get(field, other[type(getattr(trial(), field))])})
    assert changed.address != trial().address


@pytest.mark.parametrize("wrong", [{"on": "moon"}, {"clock": "lunar"}])
def test_a_place_or_a_clock_that_there_is_not_is_no_trial(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value"):
        trial(**wrong)


def test_order_of_keys_does_not_decide_the_address() -> None:
    assert trial(workload={"a": 1, "b": 2}).address == trial(workload={"b": 2, "a": 1}).address


def test_uncommitted_or_failed_stage_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    fail(store, None)
    assert files(tmp_path) == []
    with pytest.raises(KeyboardInterrupt):
        fail(store, KeyboardInterrupt())
    assert files(tmp_path) == []
    assert list(store) == []


def test_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(MachineError, match="is full; make room") as caught:
        fail(store, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert caught.value.exit_code == 3
    assert files(tmp_path) == []


@pytest.mark.parametrize("root", [Path("/proc"), Path("/proc/self/store")])
def test_a_folder_that_takes_no_files_is_one_sentence(root: Path) -> None:
    said = f"cannot make a store in {root} .* name a folder that you can write to"
    with pytest.raises(MachineError, match=said), Store(root).stage(trial()):
        pass


def test_full_disk_while_committing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError):
        record(Store(tmp_path))
    assert files(tmp_path) == []


def test_a_store_that_is_read_once_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def waited(_: int) -> None:
        raise AssertionError("it waits")

    monkeypatch.setattr(os, "fsync", waited)
    store = Store(tmp_path, durable=False)
    record(store).verify()
    assert store.get(trial().address) is not None


def test_what_a_killed_process_left_goes_at_the_next_opening(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "import msgspec\n"
        "from lab.record.store import Store\n"
        "from lab.guest.trial import Trial\n"
        "with Store(Path(sys.argv[1])).stage(msgspec.json.decode(sys.argv[3], type=Trial)) as stage:\n"
        "    (stage.out / 'half').write_text('x'); os.kill(os.getpid(), 9)\n"
    )
    argv = [sys.executable, "-c", code, str(tmp_path), str(Path(lab.__file__).parents[1])]
    subprocess.run([*argv, msgspec.json.encode(trial()).decode()], check=False)
    assert files(tmp_path)
    Store(tmp_path)
    assert files(tmp_path) == []


def test_opening_leaves_live_stages_alone(tmp_path: Path) -> None:
    with Store(tmp_path).stage(trial()) as stage:
        Store(tmp_path)
        assert stage.out.is_dir()
        stage.commit({})


def test_same_trial_recorded_twice_at_once_keeps_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(lambda _: record(Store(tmp_path)), range(8)))
    assert len(list(Store(tmp_path))) == 1
    records[0].verify()
    assert not any((tmp_path / ".staging").iterdir())


def damage_missing(found: Record) -> None:
    (found.folder / "out" / "ping.txt").unlink()


def damage_altered(found: Record) -> None:
    (found.folder / "out" / "ping.txt").write_text("65 bytes\n")


def damage_added(found: Record) -> None:
    (found.folder / "out" / "new").write_text("")


def damage_json(found: Record) -> None:
    (found.folder / "record.json").write_text("{")


def damage_trial(found: Record) -> None:
    (found.folder / "trial.json").write_bytes(msgspec.json.encode(trial(seed=2)))


def damage_format(found: Record) -> None:
    path = found.folder / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


def damage_nesting(found: Record) -> None:
    file = found.folder / "record.json"
    file.write_text(file.read_text().replace('"Linux"', "[" * 100_000 + "]" * 100_000))


def damage_text(found: Record) -> None:
    """Bytes that are no UTF-8, in a name: the parser has no error of its own for them."""
    path = found.folder / "trial.json"
    path.write_bytes(path.read_bytes().replace(b'"claim"', b'"cl\xf4im"'))


def damage_name(found: Record) -> None:
    path = found.folder / "record.json"
    contents = json.loads(path.read_text())
    contents["outputs"]["../trial.json"] = contents["outputs"]["ping.txt"]
    path.write_text(json.dumps(contents))


def damage_length(found: Record) -> None:
    path = found.folder / "record.json"
    contents = json.loads(path.read_text())
    contents["outputs"]["x" * 5000] = contents["outputs"].pop("ping.txt")
    path.write_text(json.dumps(contents))


def damage_space(found: Record) -> None:
    path = found.folder / "trial.json"
    path.write_text(path.read_text().replace("\n ", "\n  ", 1))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_space, "trial.json was altered"),
        (damage_text, "trial.json cannot be read"),
        (damage_nesting, "record.json cannot be read: maximum recursion depth"),
        (damage_name, "record.json cannot be read: '../trial.json' is not an output's name"),
        (damage_length, "out/x+ cannot be read: File name too long"),
        (damage_missing, "out/ping.txt is missing"),
        (damage_altered, "out/ping.txt was altered"),
        (damage_added, "out/new does not belong"),
        (damage_json, "record.json"),
        (damage_trial, "belongs to another trial"),
        (damage_format, "format 99 of a record is unknown"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage, message: str) -> None:  # type: ignore[no-untyped-def]
    damage(record(Store(tmp_path)))
    (found,) = Store(tmp_path)
    with pytest.raises(RecordError, match=message):
        found.verify()


def test_another_trials_inputs_are_not_read_as_its_own(tmp_path: Path) -> None:
    damage_trial(record(Store(tmp_path)))
    (found,) = Store(tmp_path)
    with pytest.raises(RecordError, match=rf"^{found.folder} is damaged: trial.json belongs to another trial$"):
        _ = found.trial


def test_inputs_that_went_after_they_were_read_are_named(tmp_path: Path) -> None:
    kept = record(Store(tmp_path))
    kept.load()
    (kept.folder / "trial.json").unlink()
    with pytest.raises(RecordError, match=r"trial.json cannot be read: No such file or directory"):
        kept.verify()


def test_damaged_record_can_be_removed_and_run_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    damage_json(record(store))
    store.remove(trial().address)
    assert store.get(trial().address) is None
    record(store).verify()


def test_unknown_output_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no output 'x'; it has ping\.json, ping\.txt"):
        record(Store(tmp_path)).path("x")


def test_trials_that_differ_in_names_share_a_run(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = record(store)
    other = trial(claim="article/other", arm="witness", point="3", source_sha256="11" * 32)
    assert (other.run_address, other.address) == (first.trial.run_address, store.share(first, other).address)
    shared = store.get(other.address)
    assert shared is not None
    shared.verify()
    assert (shared.trial, shared.outputs, shared.environment) == (other, first.outputs, first.environment)
    assert shared.host == {"wall": 1.5, "run_of": first.address}
    assert (shared.folder / "console.log").read_text() == "booted\n"
    store.remove(first.address)
    shared.verify()


@pytest.mark.parametrize("changed", [{"seed": 2}, {"repeat": 1}, {"workload": {"kind": "pong"}}, {"userland": "x"}])
def test_a_run_is_not_shared_with_what_differs_in_more(tmp_path: Path, changed: dict[str, object]) -> None:
    store = Store(tmp_path)
    first, other = record(store), trial(arm="witness", **changed)
    with pytest.raises(ValueError, match="differs in more than names"):
        store.share(first, other)
    assert store.get(other.address) is None
    assert not list((tmp_path / ".staging").iterdir())
