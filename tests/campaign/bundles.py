"""Bundles that are spoilt: as files, in what they are made from, and in the archive that they hold."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

from lab.base.building import Silent
from lab.ext.bundle import frames, seal, writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.part import KERNELS, RESULTS, Part
from lab.machine.kernel import installed
from lab.record.store import Store
from tests.campaign.isolated import Broken, typed
from tests.campaign.mutator import spoilt

__all__ = ["bundle"]

FILE = Path("claims.tar.zst")
CLAIM = "asymmetric-mtu/mss-advertised"


def bundle(chance: random.Random) -> None:
    """A bundle. One that is not as it was sealed is refused, and nothing of it is kept."""
    place, program = _parts(), _program()
    way = chance.choice((_as_a_file, _in_its_parts, _in_its_archive))
    way(place, program, chance)
    os.environ["XDG_CACHE_HOME"] = str(Path("cache").absolute())
    verified = typed("verify", FILE)
    ran = typed("run", CLAIM, "--from", FILE, "--userland", "host", "--results", "own")
    if way is not _as_a_file:
        return
    if 0 in (verified, ran):
        raise Broken(f"a bundle with other bytes is taken: {verified}, {ran}")
    if kept := [path.name for path in Path("cache").glob("replab/bundles/*/*")]:
        raise Broken(f"of a bundle with other bytes is kept: {kept}")


def _as_a_file(place: Path, program: Path, chance: random.Random) -> None:
    _write(place, program)
    FILE.write_bytes(spoilt(FILE.read_bytes(), chance, FILE.name))


def _in_its_parts(place: Path, program: Path, chance: random.Random) -> None:
    """Its hashes and its seal are right, and what it says is wrong."""
    file = chance.choice([path for path in sorted(place.rglob("*")) if path.is_file()])
    data = file.read_bytes()
    file.unlink()  # it may be linked
    file.write_bytes(spoilt(data, chance, file.name))
    _write(place, program)


def _in_its_archive(place: Path, program: Path, chance: random.Random) -> None:
    """Its seal is right, and the tar in it was changed by hand."""
    _write(place, program)
    with FILE.open("rb") as file, frames.reading(seal.Sealed(file)) as stream:
        tar = stream.read()
    with FILE.open("wb") as target, program.open("rb") as zipped, frames.writing(target, zipped) as into:
        into.write(spoilt(tar, chance, FILE.name))


def _parts() -> Path:
    """Return a folder with the case's records, predictions, and a kernel that does not start."""
    place = Path("parts")
    place.mkdir()
    Path("results").rename(place / RESULTS)
    kernel = next(each for each in installed() if each.id == next(iter(Store(place / RESULTS))).trial.kernel["id"])
    own = place / KERNELS / kernel.id
    own.mkdir(parents=True)
    for name in ("kernel.json", "config"):
        (own / name).write_bytes((kernel.path.parent / name).read_bytes())
    (own / "linux").write_bytes(b"\x7fELF, and nothing else\n")
    (own / "linux").chmod(0o755)
    return place


def _program() -> Path:
    """Return a program that is as short as the form of bundles allows."""
    program = Path("program.zip")
    with zipfile.ZipFile(program, "w") as zipped:
        zipped.writestr("__main__.py", "")
        zipped.comment = b"0" * seal.SEAL_BYTES
    return program


def _write(place: Path, program: Path) -> None:
    folders = [*place.glob(f"{KERNELS}/*"), *place.glob(f"{RESULTS}/??/*"), *place.glob(f"{RESULTS}/predictions/*")]
    parts = [Part(folder.relative_to(place).as_posix(), folder, "") for folder in sorted(folders)]
    writer.write(FILE, parts, About("", "", "2026-01-01", "0"), program, Silent())
