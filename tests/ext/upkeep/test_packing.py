"""A packed output is the same output: each is there at every moment, in one form or both, and damage is named."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab.base.building import Silent
from lab.errors import InputError, LabError, MachineError
from lab.ext.upkeep import upkeep
from lab.ext.upkeep.packing import Form, Repacked
from lab.ext.upkeep.upkeep import Wanted
from lab.record import packed
from lab.record.record import Record, RecordError, digest
from lab.record.store import Store, StoreInUse
from tests.kinds import Type
from tests.trials import trial

CAPTURE, SAMPLES, SMALL = "capture.sender.eth0.pcap", "one/tcp_info.sender.bin", "capture.receiver.eth0.pcap"
BYTES = {CAPTURE: b"of a capture " * 10_000, SAMPLES: b"of tcp_info" * 10_000, SMALL: b"few", "x.txt": b"x" * 100_000}
ENDLESS = 5  # the exit code of who made fewer calls
CALLS = ("link", "replace", "unlink", "fsync", "mkdir", "open", "rmdir", "utime")


def kept(root: Path, names: Iterable[str] = tuple(BYTES), **changed: object) -> Record:
    with Store(root).stage(trial(**changed)) as stage:
        for name, data in ((name, BYTES[name]) for name in names):
            (stage.out / name).parent.mkdir(exist_ok=True)
            (stage.out / name).write_bytes(data)
        (stage.path / "console.log").write_text("booted\n")
        return stage.commit({"kernel": "Linux"}, host={"started": "2026-01-01T00:00:00+00:00"})


def sharing_one(root: Path, *names: str) -> tuple[Record, Record]:
    """Two records of one run, of two claims."""
    first = kept(root, names or tuple(BYTES))
    return first, Store(root).share(first, msgspec.structs.replace(first.trial, claim="article/other"))


def pack(root: Path, *claims: str, form: Form = "packed", older_than: timedelta | None = None) -> Repacked:
    return upkeep.repack(root, Wanted(claims, older_than), form, Silent())


def outputs(record: Record) -> dict[str, Path]:
    out = record.folder / "out"
    return {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}


def holds(root: Path) -> None:
    """Every record is whole, and every output reads as the trial left it."""
    assert upkeep.check(root).faults == ()
    for record in Store(root):
        assert {name: record.path(name).read_bytes() for name in record.outputs} == BYTES


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files; what this process unpacked there goes after the test."""
    folder = tmp_path.with_name(f"{tmp_path.name}-temporary")
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    packed._home.cache_clear()
    yield folder
    packed._home.cache_clear()


@given(st.binary(max_size=5000), st.integers(0, 400))
def test_any_bytes_that_are_packed_and_unpacked_are_the_same(data: bytes, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain, small, again = (Path(folder, name) for name in ("plain", "small", "again"))
        plain.write_bytes(data * times)
        packed.pack(plain, small)
        packed.check(small, digest(plain))
        packed.unpack(small, again, digest(plain))
        assert again.read_bytes() == data * times


def test_a_packed_record_is_the_same_record_and_takes_less(tmp_path: Path) -> None:
    record = kept(tmp_path)
    about, before = (record.folder / "record.json").read_bytes(), upkeep.usage(tmp_path).bytes
    dates = {name: path.stat().st_mtime_ns for name, path in outputs(record).items()}
    found = pack(tmp_path)
    assert (found.files, found.refused, found.elsewhere) == (2, (), 0)
    assert found.before - found.after == before - upkeep.usage(tmp_path).bytes > 100_000
    assert set(outputs(record)) == {f"{CAPTURE}.zst", f"{SAMPLES}.zst", SMALL, "x.txt"}
    assert (record.folder / "record.json").read_bytes() == about
    assert upkeep.usage(tmp_path).kinds["captures, packed"][0] == 1
    assert upkeep.usage(tmp_path).kinds["samples of tcp_info, packed"][0] == 1
    holds(tmp_path)
    assert pack(tmp_path).files == 0
    assert pack(tmp_path, form="plain").files == 2
    assert {name: path.stat().st_mtime_ns for name, path in outputs(record).items()} == dates
    assert upkeep.usage(tmp_path).bytes == before
    holds(tmp_path)
    assert list((tmp_path / ".staging").iterdir()) == []


def test_only_records_that_are_asked_for_are_packed(tmp_path: Path) -> None:
    mine, other = kept(tmp_path), kept(tmp_path, claim="article/other", seed=2)
    assert pack(tmp_path, older_than=timedelta(36500)).files == 0
    assert pack(tmp_path, "article/claim").files == 2
    assert f"{CAPTURE}.zst" in outputs(mine)
    assert CAPTURE in outputs(other)
    assert pack(tmp_path, older_than=timedelta(0)).files == 2
    with pytest.raises(InputError):
        pack(tmp_path, "no/such-claim")
    with pytest.raises(InputError, match="no such file"):
        pack(tmp_path / "none")


@pytest.mark.parametrize("form", ["packed", "plain"])
def test_what_records_share_they_share_in_either_form(tmp_path: Path, form: Form) -> None:
    both = sharing_one(tmp_path)
    assert pack(tmp_path, "article/other").files == 2, "in all records that have it: else it would free nothing"
    if form == "plain":
        assert pack(tmp_path, "article/claim", form=form).files == 2
    files = [outputs(record) for record in both]
    assert [len({found[name].stat().st_ino for found in files}) for name in files[0]] == [1] * 4
    holds(tmp_path)


def test_what_another_store_has_too_stays(tmp_path: Path) -> None:
    record = kept(tmp_path / "one")
    Store(tmp_path / "other").adopt(record)
    found = pack(tmp_path / "one")
    assert (found.files, found.elsewhere, found.exit_code) == (0, 2, 0)
    assert set(outputs(record)) == set(BYTES)


def test_an_output_that_has_the_name_of_a_packed_one_is_itself(tmp_path: Path) -> None:
    with Store(tmp_path).stage(trial()) as stage:
        (stage.out / CAPTURE).write_bytes(BYTES[CAPTURE])
        (stage.out / f"{CAPTURE}.zst").write_bytes(b"another")
        record = stage.commit({})
    assert pack(tmp_path).files == 0
    assert record.path(CAPTURE).read_bytes() == BYTES[CAPTURE]
    record.path(CAPTURE).unlink()
    assert [str(fault) for fault in record.faults()] == [f"out/{CAPTURE} is missing"]


def flipped(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def of_other_bytes(_: bytes) -> bytes:
    import zstandard

    return zstandard.compress(b"other")


def endless(_: bytes) -> bytes:
    import zstandard

    return zstandard.compress(bytes(1 << 24))


DAMAGES = [flipped, of_other_bytes, endless, lambda data: data[:-9], lambda data: data[: len(data) // 2], lambda _: b""]


@pytest.mark.parametrize("damage", [*DAMAGES, lambda data: data + b"more"])
def test_damage_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    record = kept(tmp_path)
    pack(tmp_path)
    file = outputs(record)[f"{CAPTURE}.zst"]
    file.write_bytes(damage(file.read_bytes()))
    ((_, fault),) = upkeep.check(tmp_path).faults
    assert fault.file == f"out/{CAPTURE}.zst"
    for read in (record.path, record.text):
        with pytest.raises(RecordError, match=rf"is damaged: out/{CAPTURE}.zst (was altered|cannot be read)"):
            read(CAPTURE)
    with pytest.raises(RecordError, match="is damaged"), record.unpacked():
        pass
    found = pack(tmp_path, form="plain")
    assert (found.files, found.exit_code) == (1, 1)
    assert found.refused[0].startswith(f"{file} ")
    assert file.exists()
    assert not list(packed._home(os.getpid()).iterdir()), "nothing of it is left"


def test_what_a_trial_did_not_leave_is_not_packed(tmp_path: Path) -> None:
    record = kept(tmp_path)
    outputs(record)[CAPTURE].write_bytes(bytes(100_000))
    found = pack(tmp_path)
    assert (found.files, found.refused) == (1, (f"{outputs(record)[CAPTURE]} was altered",))
    assert {str(fault) for _, fault in upkeep.check(tmp_path).faults} == {f"out/{CAPTURE} was altered"}


def test_both_forms_are_no_damage_and_are_tidied(tmp_path: Path) -> None:
    record = kept(tmp_path)
    packed.pack(outputs(record)[CAPTURE], record.folder / "out" / f"{CAPTURE}.zst")
    holds(tmp_path)
    assert record.path(CAPTURE) == record.folder / "out" / CAPTURE
    with record.unpacked() as folder:
        assert f"{CAPTURE}.zst" not in outputs(Record(folder))
    pack(tmp_path)
    assert CAPTURE not in outputs(record)
    (record.folder / "out" / CAPTURE).write_bytes(BYTES[CAPTURE])
    pack(tmp_path, form="plain")
    assert set(outputs(record)) == set(BYTES)


def in_a_fork(work: Callable[[], object]) -> int:
    """Do it in a process of its own; its exit code: 0, or 3 for an error that is a message, or -9."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except (LabError, OSError):
            os._exit(3)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def at_call(number: int, end: Callable[[], None]) -> Callable[[], bool]:
    """Let the call with that number, of those that change files, do `end` instead; return what tells whether it did."""
    left = number

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                end()
            return real(*args, **options)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    return lambda: left <= 0


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Callable[[], None]:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.long
@pytest.mark.parametrize("form", ["packed", "plain"])
@pytest.mark.parametrize("end", [kill, *map(failing, (errno.ENOSPC, errno.EIO))])
def test_nothing_is_lost_wherever_it_ends(tmp_path: Path, form: Form, end: Callable[[], None]) -> None:
    for number in range(1, 1000):
        root = tmp_path / "results"
        sharing_one(root, CAPTURE)
        if form == "plain":
            pack(root)

        def work(root: Path = root, number: int = number) -> None:
            ended = at_call(number, end)
            try:
                found = pack(root, form=form)
                assert not found.refused or ended()
            finally:
                if not ended():
                    os._exit(ENDLESS)

        code = in_a_fork(work)
        assert code in ({ENDLESS, -9} if end is kill else {ENDLESS, 0, 3}), number
        assert upkeep.check(root).faults == (), number
        assert [record.path(CAPTURE).read_bytes() == BYTES[CAPTURE] for record in Store(root)] == [True, True], number
        pack(root, form=form)
        names = {name for record in Store(root) for name in outputs(record)}
        assert [*names] == [f"{CAPTURE}.zst" if form == "packed" else CAPTURE], number
        files = {path.stat().st_ino for record in Store(root) for path in outputs(record).values()}
        assert len(files) == 1 or end is not kill, "links may fail where anything may: then it is copied"
        assert list((root / ".staging").iterdir()) == [], number
        shutil.rmtree(root)
        if code == ENDLESS:
            assert number > 10
            return
    raise AssertionError("it never ends by itself")


@pytest.mark.parametrize("form", ["packed", "plain"])
def test_a_full_disk_is_a_message(tmp_path: Path, form: Form) -> None:
    with Store(tmp_path).stage(trial()) as stage:
        (stage.out / CAPTURE).write_bytes(os.urandom(200_000))
        record = stage.commit({})
    if form == "plain":
        pack(tmp_path)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with pytest.raises(MachineError, match="is full; make room"):
            pack(tmp_path, form=form)

    assert in_a_fork(work) == 0
    assert upkeep.check(tmp_path).faults == ()
    assert len(outputs(record)) == 1
    assert list((tmp_path / ".staging").iterdir()) == []


def test_no_room_among_temporary_files_is_a_message(tmp_path: Path, temporary: Path) -> None:
    record = kept(tmp_path)
    pack(tmp_path)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        for read in (record.path, lambda _: record.unpacked().__enter__()):
            with pytest.raises(MachineError, match=r"no room to unpack .*File too large.*TMPDIR"):
                read(CAPTURE)
        assert not [path for path in temporary.rglob("*") if path.is_file()]
        shutil.rmtree(temporary)
        packed._home.cache_clear()
        with pytest.raises(MachineError, match="no room to unpack"):
            record.path(SAMPLES)

    assert in_a_fork(work) == 0


def test_a_store_in_use_stays_as_it_is(tmp_path: Path) -> None:
    record = kept(tmp_path)
    with Store(tmp_path).held(), pytest.raises(StoreInUse, match="nothing was changed"):
        pack(tmp_path)
    assert set(outputs(record)) == set(BYTES)


READS = """import os, signal, sys
from pathlib import Path
from lab import Record
record = Record(Path(sys.argv[1]))
for name in record.outputs:
    assert record.path(name).stat().st_size == record.outputs[name].bytes
assert record.path(sys.argv[2]) == record.path(sys.argv[2])
print(record.path(sys.argv[2]), flush=True)
if os.fork() == 0:
    sys.exit()  # a fork leaves its parent's files alone
os.wait()
assert record.path(sys.argv[2]).exists()
if sys.argv[3:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_unpacked_goes_with_the_process(tmp_path: Path, temporary: Path) -> None:
    record = kept(tmp_path)
    pack(tmp_path)
    argv = [sys.executable, "-c", READS, str(record.folder), CAPTURE]
    environment = os.environ | {"TMPDIR": str(temporary)}
    for more, code in (([], 0), (["killed"], -9)):
        done = subprocess.run([*argv, *more], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == code, done.stderr
        assert Path(done.stdout.strip()).name == CAPTURE
        assert Path(done.stdout.strip()).exists() == bool(more)
    assert len(packed.sweep()) == 1
    assert not list(temporary.iterdir())


def test_records_are_the_same_wherever_one_is_packed(tmp_path: Path) -> None:
    sharing = pytest.importorskip("lab.ext.cluster.sharing")
    plain, small = kept(tmp_path / "plain"), kept(tmp_path / "small")
    pack(tmp_path / "small")
    for results, others in (("plain", "small"), ("small", "plain")):
        added = sharing.merge([tmp_path / others], tmp_path / results)
        assert (added.present, added.refused) == (1, ())
        assert sharing.push(tmp_path / results, tmp_path / f"of {results}").added == 1
    archives = [(tmp_path / f"of {name}" / sharing.named(plain.address)).read_bytes() for name in ("plain", "small")]
    assert archives[0] == archives[1]
    with small.unpacked() as folder:
        assert sorted(outputs(Record(folder))) == sorted(BYTES)
        assert (Record(folder).address, Record(folder).faults()) == (plain.address, ())
    assert not folder.exists()
    assert sharing.merge([tmp_path / "small"], tmp_path / "new").added == 1
    holds(tmp_path / "new")
    found = pack(tmp_path / "new", form="plain")
    assert (found.files, found.refused) == (2, ()), "what is elsewhere, too, is unpacked"
    holds(tmp_path / "new")
    holds(tmp_path / "small")


def test_a_damaged_record_says_of_no_other_file_that_it_is_its_own(tmp_path: Path) -> None:
    """An output's hash is no path: what record.json says of it may be damaged."""
    record = kept(tmp_path)
    pack(tmp_path)
    contents = json.loads((record.folder / "record.json").read_text())
    contents["outputs"][CAPTURE]["sha256"] = "../../stolen"
    (record.folder / "record.json").write_text(json.dumps(contents))
    with pytest.raises(RecordError, match="was altered"):
        Record(record.folder).path(CAPTURE)


def test_the_command_line_and_python_pack_and_unpack(tmp_path: Path, type_here: Type) -> None:
    record = kept(tmp_path / "results")
    done = type_here("lab store pack --json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["form"], found["files"], found["elsewhere"], found["refused"]) == ("packed", 2, 0, [])
    assert found["after"] < found["before"]
    done = type_here("lab store unpack article/claim")
    assert (done.returncode, done.stdout[:18]) == (0, "2 files unpacked: "), done.stderr
    outputs(record)[CAPTURE].write_bytes(bytes(100_000))
    done = type_here("lab store pack --older-than 0")
    assert done.returncode == 1
    assert f"{CAPTURE} was altered: it stays unchanged" in done.stdout
    assert lab.unpack(results=tmp_path / "results").files == 1
    assert lab.pack("article", results=tmp_path / "results").files == 1


def test_a_store_that_cannot_be_written_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import lab.cli

    record = kept(tmp_path)

    def refuse(path: Any, *_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    monkeypatch.setattr(sys, "argv", ["lab", "store", "pack", "--results", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        lab.cli.main()
    assert ended.value.code == 3
    assert "Read-only file system" in capsys.readouterr().err
    assert set(outputs(record)) == set(BYTES)
