"""What an archive takes of this machine is bounded, whatever it holds."""

from __future__ import annotations

import hashlib
import io
import tarfile
from itertools import repeat
from pathlib import Path

import pytest
import zstandard

from lab.base.archive import ArchiveError, Bounds, unpack
from tests.campaign.archives import MAGIC
from tests.campaign.tars import END, Entry, header, pax
from tests.record.test_store import files


def archive(*pieces: bytes) -> io.BytesIO:
    """An archive of this tar, with the right digest."""
    compressed = zstandard.ZstdCompressor(level=1).compressobj()
    body = b"".join(compressed.compress(piece) for piece in (*pieces, END)) + compressed.flush()
    return io.BytesIO(MAGIC + hashlib.sha256(body).digest() + body)


SPARSE = b"".join(
    pax(key, value)
    for key, value in (
        ("GNU.sparse.major", "0"),
        ("GNU.sparse.minor", "1"),
        ("GNU.sparse.size", str(1 << 40)),
        ("GNU.sparse.map", "0,0"),
    )
)
WRONG = {
    "a sparse file of a terabyte": (Entry("a", pax=SPARSE).written(), "'GNU.sparse.major', which is unknown here"),
    "an old sparse file": (Entry("a", kind=b"S").written(), "a is neither a file, a folder nor a link"),
    "a header of 300 MB": (header("h", b"x", 300 << 20) + bytes(1 << 20), "a header of 314,572,800 bytes"),
    "a header of less than nothing": (header("h", b"x", -512), "a header of -512 bytes"),
    "a header about all": (Entry("g", pax(*"ab"), kind=b"g").written(), "neither a file"),
    "a long name": (Entry("L", b"x" * 1000, kind=b"L").written(), "neither a file"),
    "5,000 headers, one about the other": (Entry("a", pax=pax("path", "b"), chain=5000).written(), "neither a file"),
    "no date": (Entry("a", pax=pax("mtime", "nan")).written(), "'nan' as its mtime"),
    "a date beyond all": (Entry("a", mtime=1 << 62).written(), "invalid date"),
    "a file of less than nothing": (Entry("a", size=-512).written(), "is a file of -512 bytes"),
    "a folder with bytes": (Entry("a", kind=b"5", size=512).written() + bytes(512), "is a folder of 512 bytes"),
    "a line break": (Entry("a\nb").written(), "not a valid path in an archive"),
    "a deep path": (
        Entry("x/" * 49 + "x", pax=pax("path", "x/" * 300 + "x")).written(),
        "not a valid path in an archive",
    ),
    "a long name of a file": (Entry("a", pax=pax("path", "x" * 300)).written(), "cannot be created here"),
    "a file that is cut off": (header("a", b"0", 1 << 40), "it ends too early"),
    "a header that is none": (Entry("a", pax=b"999 path=x\n").written(), "an invalid header"),
}


@pytest.mark.parametrize(("tar", "said"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("sealed", [False, True])
def test_an_archive_that_asks_for_too_much_is_refused(tar: bytes, said: str, sealed: bool, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=said):
        unpack(archive(tar), tmp_path / "out", sealed=sealed)
    assert files(tmp_path) in ([], ["out/a"])


def test_a_small_archive_holds_no_more_bytes_than_its_size_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bounds, "of", lambda size: Bounds(10 * size, 100))
    nothing = header("a", tarfile.REGTYPE, 100 << 20)
    with pytest.raises(ArchiveError, match=r"it holds more than [\d,]+ bytes for its size"):
        unpack(archive(nothing, *repeat(bytes(1 << 20), 100)), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1 << 20


@pytest.mark.long
def test_a_small_archive_holds_no_more_files_than_its_size_allows(tmp_path: Path) -> None:
    crowd = b"".join(header(f"{number:x}", tarfile.DIRTYPE, 0) for number in range(25_000))
    with pytest.raises(ArchiveError, match=r"it holds more than 5,\d\d\d files"):
        unpack(archive(crowd), tmp_path)


def test_what_trials_leave_is_far_below_the_bounds() -> None:
    """Of 272 records the one with most bytes has 126 MB in an archive of 17 MB, and 15 files."""
    assert Bounds.of(17_195_661).bytes > 10 * 126_121_694
    assert Bounds.of(0) == Bounds(1 << 30, 5_000)
