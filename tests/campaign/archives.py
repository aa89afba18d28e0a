"""Archives and bundles from a stranger: their hashes are right, and any member of them is wrong."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path

import zstandard

from lab.base.building import Silent
from lab.errors import LabError
from lab.ext.bundle import frames, manifest, reader, seal, writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.part import KERNELS, RESULTS, USERLANDS, Part
from lab.ext.cluster import sharing
from lab.ext.cluster.shared import SharedFolder, named
from lab.record.record import RecordError
from lab.record.store import Store
from tests.campaign.isolated import Attempt, Broken, attempt
from tests.campaign.mutator import spoilt_bytes
from tests.campaign.tars import END, Entry, drawn, entries, header, pax
from tests.record.test_store import record

__all__ = ["KINDS", "MAGIC", "archive", "disturb", "foreign", "ground", "holds", "sandbox"]

MEMORY = 500 << 20
BOMBS = ("space", "crowd", "header")
SPACE, CROWD, LINES = 3 << 30, 200_000, 300  # bytes of nothing, empty files, and megabytes of a header
FILE = "claims.tar.zst"
MAGIC = (0x184D2A50).to_bytes(4, "little") + (32).to_bytes(4, "little")
PREDICTION = '{"made": "2026-01-01", "figure": {"number": 1.0, "unit": "s", "low": null, "high": null}, "why_not": ""}'


def ground(folder: Path) -> None:
    """Write what cases begin with: a store, its archives, a bundle of it, and what is larger than it looks."""
    store = Store(folder / "theirs")
    record(store)
    file = store.predictions / ("ab" * 32) / "model.json"
    file.parent.mkdir(parents=True)
    file.write_text(PREDICTION)
    sharing.push(store.root, folder / "shared")
    _bundle(folder, store.root)
    nothing = bytes(1 << 20)
    lines = pax("comment", "x" * 1000) * 1000
    _bomb(folder / "space", chain([header("out/space", b"0", SPACE)], repeat(nothing, SPACE >> 20)))
    _bomb(folder / "crowd", (header(f"out/{number:x}", b"0", 0) for number in range(CROWD)))
    _bomb(folder / "header", chain([header("PaxHeader", b"x", LINES * len(lines))], repeat(lines, LINES)))


def _bomb(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a tar of these pieces, packed as long runs of the same pack well."""
    compressed = zstandard.ZstdCompressor(level=1).compressobj()
    with file.open("wb") as bomb:
        for piece in chain(pieces, [END]):
            bomb.write(compressed.compress(piece))
        bomb.write(compressed.flush())


def disturb(case: str, seed: int, folder: Path) -> Attempt:
    """Do the case "KIND:NUMBER" in a process of its own, on the `ground` at `folder`."""
    kind, _, _ = case.partition(":")
    return attempt(partial(KINDS[kind], random.Random(f"{seed}/archives/{case}"), folder))


def archive(chance: random.Random, folder: Path) -> None:
    """An archive of a shared store: it is refused with a message, or it gives a whole record."""
    theirs = next(iter(Store(folder / "theirs")))
    with sandbox() as (place, outside):
        target = place / "shared" / named(theirs.address)
        target.parent.mkdir(parents=True)
        target.write_bytes(foreign((folder / "shared" / named(theirs.address)).read_bytes(), chance, folder, outside))
        shared, ours, said = SharedFolder(place / "shared"), Store(place / "ours", durable=False), list[str]()
        with suppress(LabError):
            sharing.fetch([theirs.trial], shared, ours, said.append)
        holds(ours)


def bundle(chance: random.Random, folder: Path) -> None:
    """A bundle, whose manifest may fit to what is in it."""
    with sandbox() as (place, outside):
        whole = (folder / FILE).read_bytes()
        (place / FILE).write_bytes(whole)
        match chance.randrange(40):
            case 0 | 1 | 2 | 3:
                (place / FILE).write_bytes(spoilt_bytes(whole, chance))
            case 4:
                _sealed(place / FILE, folder, (folder / chance.choice(BOMBS)).read_bytes())
            case _:
                with (place / FILE).open("rb") as file, frames.reading(seal.Sealed(file)) as stream:
                    members = drawn(entries(stream.read()), chance, outside)
                if chance.random() < 0.7:
                    members[0] = _listing(members[1:])
                tar = b"".join(member.written() for member in members) + END
                if chance.random() < 0.2:
                    tar = spoilt_bytes(tar, chance)
                _sealed(place / FILE, folder, zstandard.compress(tar))
        with suppress(LabError):
            reader.identify(place / FILE)
        with suppress(LabError):
            reader.unpack(place / FILE, place / "ours", lambda _: True)


KINDS: Mapping[str, Callable[[random.Random, Path], None]] = {"archive": archive, "bundle": bundle}


def foreign(whole: bytes, chance: random.Random, folder: Path, outside: str) -> bytes:
    """Return an archive with something wrong; mostly its digest is right."""
    match chance.randrange(40):
        case 0 | 1 | 2 | 3:
            return spoilt_bytes(whole, chance)
        case 4:
            body = (folder / chance.choice(BOMBS)).read_bytes()
        case 5 | 6 | 7:
            body = spoilt_bytes(whole[40:], chance)
        case _:
            tar = zstandard.ZstdDecompressor().decompressobj().decompress(whole[40:])
            tar = b"".join(member.written() for member in drawn(entries(tar), chance, outside)) + END
            body = zstandard.compress(spoilt_bytes(tar, chance) if chance.random() < 0.2 else tar)
    return MAGIC + hashlib.sha256(body).digest() + body


@contextmanager
def sandbox() -> Iterator[tuple[Path, str]]:
    """Yield a folder to work in, and the path of one that nothing may touch. Raises Broken when something did."""
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        place, outside = Path(scratch, "in", "here"), Path(scratch, "outside")
        place.mkdir(parents=True)
        outside.mkdir()
        (outside / "canary").write_text("as it was")
        tempfile.tempdir = str(place)
        yield place, str(outside)
        found = sorted(str(path.relative_to(scratch)) for path in Path(scratch).glob("*/*"))
        if found != ["in/here", "outside/canary"] or (outside / "canary").read_text() != "as it was":
            raise Broken(f"outside of its folder was written: {found}")
        for path in place.rglob("*"):
            if path.is_symlink() and not Path(os.path.normpath(path.parent / path.readlink())).is_relative_to(place):
                raise Broken(f"{path} leads out, to {path.readlink()}")
        if (most := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) > MEMORY:
            raise Broken(f"it took {most >> 20} MiB of memory")


def holds(store: Store) -> None:
    """Check that each record of a store is whole, and that nothing else stays there. Raises Broken."""
    for kept in store:
        try:
            kept.verify()
        except RecordError as error:
            raise Broken(f"a damaged record is kept: {error}") from None
    if left := [path.name for path in (store.root / ".staging").glob("*")]:
        raise Broken(f"left behind: {left}")


def _bundle(folder: Path, store: Path) -> None:
    """Write an honest bundle with a record, a kernel that does not start, and a userland with a link."""
    kernel, userland = folder / "kernel", folder / "userland"
    kernel.mkdir()
    (kernel / "linux").write_bytes(b"\x7fELF, and nothing else\n")
    (kernel / "linux").chmod(0o755)
    (userland / "root" / "usr").mkdir(parents=True)
    (userland / "root" / "usr" / "libc.so").write_text("libc")
    (userland / "root" / "lib").symlink_to("usr")
    kept = next(iter(Store(store)))
    parts = [
        Part(f"{KERNELS}/1", kernel, "a kernel"),
        Part(f"{USERLANDS}/1", userland, "a userland", sealed=True),
        Part(f"{RESULTS}/{kept.address[:2]}/{kept.address}", kept.folder, "a record"),
    ]
    with zipfile.ZipFile(folder / "program.zip", "w") as zipped:
        zipped.writestr("__main__.py", "")
        zipped.comment = b"0" * seal.SEAL_BYTES
    writer.write(folder / FILE, parts, About("", "", "2026-01-01", "0"), folder / "program.zip", Silent())


def _listing(members: list[Entry]) -> Entry:
    """Return the manifest of these members."""
    lines = {each.name: hashlib.sha256(each.data).hexdigest() for each in members if each.kind == tarfile.REGTYPE}
    text = "".join(f"{digest}  {path}\n" for path, digest in lines.items())
    return Entry(manifest.FILE, text.encode("utf-8", "surrogateescape"))


def _sealed(file: Path, folder: Path, body: bytes) -> None:
    """Write a bundle of these frames of Zstandard, with its program and the right seal."""
    program = (folder / "program.zip").read_bytes()[: -seal.SEAL_BYTES]
    whole = body + frames.SKIPPABLE + (len(program) + seal.SEAL_BYTES).to_bytes(4, "little") + program
    file.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode())
