"""An archive gives back the files that went in, or nothing: no byte of it can change without its being refused."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lab.archive import ArchiveError, pack, unpack
from lab.record.record import RecordError
from lab.record.store import Store
from tests.record.test_store import files, record

NAMES = st.text("abc", min_size=1, max_size=3)
TREES = st.dictionaries(st.tuples(NAMES, NAMES).map("/".join) | NAMES.map("x".__add__), st.binary(max_size=200))


def packed(folder: Path) -> bytes:
    target = io.BytesIO()
    pack(folder, target)
    return target.getvalue()


def tree(folder: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@given(TREES)
def test_what_went_in_comes_out(content: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        data = packed(tree(Path(one), content))
        unpack(io.BytesIO(data), Path(other))
        assert read(Path(other)) == content
        assert packed(Path(other)) == data, "the same files make the same archive"


@given(st.data())
def test_no_bit_changes_unnoticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        whole = packed(tree(Path(one), {"a": b"a" * 300, "b/c": bytes(range(256))}))
        at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
        changed = bytearray(whole)
        changed[at] ^= 1 << bit
        for damaged in (bytes(changed), whole[:at], whole + b"x"):
            with pytest.raises(ArchiveError):
                unpack(io.BytesIO(damaged), Path(other))
            assert files(Path(other)) == []


def test_a_program_stays_one(tmp_path: Path) -> None:
    source = tree(tmp_path / "in", {"linux": b"x", "kernel.json": b"{}"})
    (source / "linux").chmod(0o755)
    unpack(io.BytesIO(packed(source)), tmp_path / "out")
    assert (tmp_path / "out" / "linux").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out" / "kernel.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(shutil.which("zstd") is None, reason="tar uses zstd")
def test_tar_reads_it_too(tmp_path: Path) -> None:
    (tmp_path / "a.tar.zst").write_bytes(packed(tree(tmp_path / "in", {"a/b": b"hello"})))
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "--zstd", "-xf", tmp_path / "a.tar.zst", "-C", tmp_path / "out"], check=True)
    assert read(tmp_path / "out") == {"a/b": b"hello"}


def hostile(tmp_path: Path, *members: tarfile.TarInfo) -> io.BytesIO:
    """An archive whose digest is right, made by somebody else."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    (tmp_path / "empty").mkdir()
    header = packed(tmp_path / "empty")[:8]
    body = zstandard.compress(plain.getvalue())
    return io.BytesIO(header + hashlib.sha256(body).digest() + body)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "wrong",
    [
        [member("../outside")],
        [member("/etc/outside")],
        [member("a/../../outside")],
        [member("link", tarfile.SYMTYPE, "/etc")],
        [member("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [member("device", tarfile.CHRTYPE)],
        [member("twice"), member("twice")],
    ],
)
def test_nothing_leaves_the_folder(tmp_path: Path, wrong: list[tarfile.TarInfo]) -> None:
    with pytest.raises(ArchiveError):
        unpack(hostile(tmp_path, *wrong), tmp_path / "out" / "folder")
    assert [name for name in files(tmp_path) if name != "out/folder/twice"] == []


def test_a_store_receives_a_record_whole(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    sent = record(theirs)
    data = packed(sent.folder)
    received = ours.receive(sent.address, io.BytesIO(data), "there")
    received.verify()
    assert read(received.folder) == read(sent.folder)
    assert ours.receive(sent.address, io.BytesIO(data), "there").folder == received.folder
    assert not any((tmp_path / "ours" / ".staging").iterdir())


def test_a_store_refuses_another_trial_and_an_altered_one(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    sent, other = record(theirs), record(theirs, seed=2)
    with pytest.raises(RecordError, match=r"^there is refused: .*another trial's"):
        ours.receive(sent.address, io.BytesIO(packed(other.folder)), "there")
    (sent.folder / "out" / "ping.txt").write_text("63 bytes\n")
    with pytest.raises(RecordError, match=r"^there is refused: .*ping.txt was altered"):
        ours.receive(sent.address, io.BytesIO(packed(sent.folder)), "there")
    (sent.folder / "record.json").unlink()
    with pytest.raises(RecordError, match=r"^there is refused: is damaged: record.json"):
        ours.receive(sent.address, io.BytesIO(packed(sent.folder)), "there")
    assert files(tmp_path / "ours") == []
