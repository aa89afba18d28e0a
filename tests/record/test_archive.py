"""An archive gives back the files that went in, or nothing: no byte of it can change without its being refused."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lab.base.archive import ArchiveError, pack, unpack
from lab.machine.userland.manifest import manifest
from lab.record.record import RecordError
from lab.record.store import Store
from tests.record.test_store import files, record

NAMES = st.text("abc", min_size=1, max_size=3)
TREES = st.dictionaries(st.tuples(NAMES, NAMES).map("/".join) | NAMES.map("x".__add__), st.binary(max_size=200))


def packed(folder: Path, *, sealed: bool = False, quick: bool = False) -> bytes:
    target = io.BytesIO()
    pack(folder, target, sealed=sealed, quick=quick)
    return target.getvalue()


def tree(folder: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@given(TREES, st.booleans())
def test_what_went_in_comes_out(content: dict[str, bytes], quick: bool) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        data = packed(tree(Path(one), content), quick=quick)
        hashes = unpack(io.BytesIO(data), Path(other))
        assert read(Path(other)) == content
        assert hashes == {name: hashlib.sha256(file).hexdigest() for name, file in content.items()}
        assert packed(Path(other), quick=quick) == data, "the same files make the same archive"


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


FOLDER = st.lists(NAMES, max_size=3).map("/".join)  # no file and no link has such a name
DATES = st.integers(0, 1 << 33)
FOLDERS = st.dictionaries(FOLDER.filter(bool), st.tuples(st.sampled_from([0o755, 0o700, 0o777]), DATES), max_size=4)
FILES = st.dictionaries(
    st.builds("{}/file-{}".format, FOLDER, NAMES),
    st.tuples(st.sampled_from([0o444, 0o555, 0o600, 0o750]), st.binary(max_size=99), DATES),
    max_size=4,
)
LINKS = st.dictionaries(st.builds("{}/link-{}".format, FOLDER, NAMES), st.tuples(FOLDER, DATES), max_size=4)


@given(FOLDERS, FILES, LINKS)
def test_of_a_sealed_folder_links_modes_dates_and_empty_folders_come_out(
    folders: dict[str, tuple[int, int]], written: dict[str, tuple[int, bytes, int]], links: dict[str, tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for name, (mode, content, date) in written.items():
            file = Path(f"{one}/{name}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(mode)
            os.utime(file, (date, date))
        for name, (to, date) in links.items():
            link = Path(f"{one}/{name}")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to("../" * (len(link.parent.parts) - len(Path(one).parts)) + to or "/proc/self/cwd")
            os.utime(link, (date, date), follow_symlinks=False)
        for name in folders:
            Path(one, name).mkdir(parents=True, exist_ok=True)
        for name, (mode, date) in sorted(folders.items(), reverse=True):
            Path(one, name).chmod(mode)
            os.utime(Path(one, name), (date, date))
        data = packed(Path(one), sealed=True)
        unpack(io.BytesIO(data), Path(other), sealed=True)
        assert manifest(Path(other)) == manifest(Path(one))
        assert packed(Path(other), sealed=True) == data, "the same folder makes the same archive"


def test_what_is_no_file_folder_or_link_is_not_packed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArchiveError, match="pipe is neither"):
        packed(tmp_path, sealed=True)


@pytest.mark.needs("zstd")
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
        [member("")],
        [member("twice"), member("twice/below")],
    ],
)
def test_nothing_leaves_the_folder(tmp_path: Path, wrong: list[tarfile.TarInfo]) -> None:
    with pytest.raises(ArchiveError):
        unpack(hostile(tmp_path, *wrong), tmp_path / "out" / "folder")
    assert [name for name in files(tmp_path) if name != "out/folder/twice"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        [member("../link", tarfile.SYMTYPE, "a")],
        [member("link", tarfile.SYMTYPE, "/etc")],
        [member("link", tarfile.SYMTYPE, "..")],
        [member("a/link", tarfile.SYMTYPE, "../..")],
        [member("a/link", tarfile.SYMTYPE, "b/../../..")],
        [member("link", tarfile.SYMTYPE, "b"), member("link/file")],
        [member("a", tarfile.LNKTYPE, "/etc/passwd")],
        [member("device", tarfile.CHRTYPE)],
    ],
)
def test_nothing_leaves_a_sealed_folder(tmp_path: Path, wrong: list[tarfile.TarInfo]) -> None:
    with pytest.raises(ArchiveError):
        unpack(hostile(tmp_path, *wrong), tmp_path / "out" / "folder", sealed=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_symlink()]
    assert [name for name in files(tmp_path) if not name.startswith("out/folder/")] == []


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
    with pytest.raises(RecordError, match=r"^there is refused: .*belongs to another trial"):
        ours.receive(sent.address, io.BytesIO(packed(other.folder)), "there")
    (sent.folder / "out" / "ping.txt").write_text("63 bytes\n")
    with pytest.raises(RecordError, match=r"^there is refused: .*ping.txt was altered"):
        ours.receive(sent.address, io.BytesIO(packed(sent.folder)), "there")
    (sent.folder / "record.json").unlink()
    with pytest.raises(RecordError, match=r"^there is refused: is damaged: record.json"):
        ours.receive(sent.address, io.BytesIO(packed(sent.folder)), "there")
    assert files(tmp_path / "ours") == []
