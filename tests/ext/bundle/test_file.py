"""A bundle's file: what goes in comes out, the same bytes every time, and nothing that was changed is taken."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lab.base.building import Silent
from lab.errors import InputError, MachineError
from lab.ext.bundle import manifest, reader, writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.errors import BundleError
from lab.ext.bundle.frames import writing
from lab.ext.bundle.part import Part
from lab.ext.bundle.seal import SEAL_BYTES
from lab.machine.userland.manifest import manifest as tree_manifest

ABOUT = About("two claims", "what they say", "2026-01-02", "0.1.0")
ALL: Callable[[str], bool] = lambda _: True  # noqa: E731


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that says which file it is in, and with what it was started."""
    file = tmp_path_factory.mktemp("program") / "program.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("__main__.py", "import sys; print(*sys.argv)")
        zipped.comment = b"0" * SEAL_BYTES
    return file


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Part]:
    """A kernel, a userland with links, dates and an empty folder, and a file."""
    home = tmp_path_factory.mktemp("parts")
    kernel, userland = home / "kernel", home / "userland"
    kernel.mkdir()
    (kernel / "linux").write_bytes(os.urandom(3000) + bytes(20_000))
    (kernel / "linux").chmod(0o755)
    (kernel / "kernel.json").write_text("{}")
    (userland / "root" / "usr" / "lib").mkdir(parents=True)
    (userland / "root" / "proc").mkdir()
    (userland / "root" / "usr" / "lib" / "libc.so").write_text("libc")
    (userland / "root" / "usr" / "lib" / "libc.so").chmod(0o444)
    (userland / "root" / "lib").symlink_to("usr/lib")
    (userland / "root" / "usr" / "lib" / "loop").symlink_to("../../usr")
    for top, folders, files in os.walk(userland, topdown=False):
        for name in [*folders, *files]:
            os.utime(Path(top, name), (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    os.utime(userland, (1_700_000_000, 1_700_000_000))
    topology = home / "a.yaml"
    topology.write_text("about: nothing\n" + "é" * 200)
    return [
        Part("topologies/a.yaml", topology, "a topology"),
        Part("userlands/0123", userland, "a userland", sealed=True),
        Part("kernels/4567", kernel, "a kernel"),
    ]


@pytest.fixture(scope="module")
def bundle(parts: list[Part], program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of these."""
    out = tmp_path_factory.mktemp("bundle") / "some.tar.zst"
    writer.write(out, parts, ABOUT, program, Silent())
    return out


def test_what_goes_in_comes_out(bundle: Path, parts: list[Part], tmp_path: Path) -> None:
    contents = reader.unpack(bundle, tmp_path / "out", ALL)
    assert contents == reader.identify(bundle)
    for part in parts:
        if part.source.is_dir():
            for path, source in part.contents():
                assert (tmp_path / "out" / path).is_file() == source.is_file()
        for path, digest in part.digests().items():
            found = tmp_path / "out" / path
            assert hashlib.sha256(found.read_bytes()).hexdigest() == digest == contents.files[path]
    assert os.access(tmp_path / "out/kernels/4567/linux", os.X_OK)
    assert not os.access(tmp_path / "out/kernels/4567/kernel.json", os.X_OK)


def test_a_userland_keeps_links_permissions_and_dates(bundle: Path, parts: list[Part], tmp_path: Path) -> None:
    reader.unpack(bundle, tmp_path / "out", lambda path: path.startswith("userlands/"))
    (userland,) = (part.source for part in parts if part.sealed)
    assert tree_manifest(tmp_path / "out/userlands/0123") == tree_manifest(userland)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["userlands"]


def test_the_same_parts_make_the_same_bytes(
    bundle: Path, parts: list[Part], program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = []
    for part in reversed(parts):  # other places, other dates, another order, another number of CPUs
        to = tmp_path / part.path.replace("/", "-")
        if part.source.is_dir():
            shutil.copytree(part.source, to, symlinks=True)
        else:
            shutil.copyfile(part.source, to)
            to.chmod(0o600)
        moved.append(Part(part.path, to, part.about, part.sealed))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)))
    writer.write(tmp_path / "again", moved, ABOUT, program, Silent())
    assert (tmp_path / "again").read_bytes() == bundle.read_bytes()


@pytest.mark.needs("zstd")
def test_tar_unpacks_it_and_sha256sum_checks_it(bundle: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "--zstd", "-xf", bundle, "-C", tmp_path], check=True)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", manifest.FILE], cwd=tmp_path, check=True)
    assert (tmp_path / "userlands/0123/root/lib/libc.so").read_text() == "libc"


def test_python_runs_it(bundle: Path) -> None:
    done = subprocess.run([sys.executable, "-I", bundle, "verify"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(bundle), "verify"]


@given(data=st.data())
def test_a_flipped_bit_anywhere_is_refused(bundle: Path, data: st.DataObject) -> None:
    whole = bytearray(bundle.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    damaged = bundle.parent / f"damaged-{os.getpid()}"
    damaged.write_bytes(whole)
    try:
        with pytest.raises(BundleError, match=damaged.name):
            reader.unpack(damaged, bundle.parent / f"out-{os.getpid()}", lambda _: False)
    finally:
        damaged.unlink()
        shutil.rmtree(bundle.parent / f"out-{os.getpid()}", ignore_errors=True)


def frames(whole: bytes) -> list[tuple[int, int]]:
    """(start, end) of each frame of Zstandard, found by decompressing one after another."""
    found, at = [], 0
    while whole[at : at + 4] == (0xFD2FB528).to_bytes(4, "little"):
        unpacking = zstandard.ZstdDecompressor().decompressobj()
        unpacking.decompress(whole[at:])
        end = len(whole) - len(unpacking.unused_data)
        found.append((at, end))
        at = end
    return found


def test_the_damaged_part_is_named(bundle: Path, tmp_path: Path) -> None:
    whole = bundle.read_bytes()
    named = []
    for start, end in frames(whole):
        damaged = bytearray(whole)
        damaged[(start + end) // 2] ^= 0x10
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(BundleError) as error:
            reader.unpack(tmp_path / "damaged", tmp_path / f"out{start}", lambda _: False)
        named.append(str(error.value))
    expected = ["manifest-sha256.txt", "ro-crate", "kernels/4567", "topologies/a.yaml", "userlands/0123"]
    for part, said in zip(expected, named[:-1], strict=True):
        assert part in said
    assert "damaged" in named[-1], "the blocks of zeros that end a tar file have a frame of their own"


@pytest.mark.parametrize("left", [0, 1, 63, 64, 1000, -1, -64, -200])
def test_a_shortened_file_is_refused(bundle: Path, left: int, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(bundle.read_bytes()[:left])
    with pytest.raises(BundleError, match="short"):
        reader.unpack(tmp_path / "short", tmp_path / "out", ALL)


def test_no_bundle_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        reader.identify(tmp_path / "none")
    for text in ("x" * 1000, ""):
        (tmp_path / "text").write_text(text)
        with pytest.raises(BundleError, match=r"text: (not a bundle|damaged)"):
            reader.identify(tmp_path / "text")


def forged(file: Path, program: Path, members: list[tuple[tarfile.TarInfo, bytes]], listed: str | None = None) -> Path:
    """A sealed bundle of these members, with a manifest that fits unless another is given."""
    digests = {
        member.name: hashlib.sha256(data).hexdigest() for member, data in members if member.type == tarfile.REGTYPE
    }
    text = listed or "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    with file.open("wb") as out, program.open("rb") as zipped, writing(out, zipped) as into:
        tar = tarfile.TarFile(fileobj=into, mode="w")  # type: ignore[arg-type]
        for member, data in [(tarfile.TarInfo(manifest.FILE), text.encode()), *members]:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        tar.close()
    return file


def entry(path: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.linkname, member.mode = kind, to, 0o777
    return member


HOSTILE = {
    "up": [(entry("../out.txt"), b"x")],
    "up in the middle": [(entry("kernels/../../out.txt"), b"x")],
    "from the root": [(entry("/tmp/replab-out.txt"), b"x")],
    "a link that leads out": [(entry("userlands/1/a", tarfile.SYMTYPE, "../../../.."), b"")],
    "a link from the root": [(entry("userlands/1/a", tarfile.SYMTYPE, "/etc"), b"")],
    "a link that goes down and up": [(entry("userlands/1/a", tarfile.SYMTYPE, "b/../.."), b"")],
    "a link to the other userlands": [(entry("userlands/1/a", tarfile.SYMTYPE, ".."), b"")],
    "a link in place of a userland": [(entry("userlands/1", tarfile.SYMTYPE, "/etc"), b"")],
    "a link elsewhere": [(entry("results/a", tarfile.SYMTYPE, "b"), b"")],
    "a hard link": [(entry("userlands/1/a", tarfile.LNKTYPE, "/etc/passwd"), b"")],
    "a device": [(entry("userlands/1/a", tarfile.CHRTYPE), b"")],
    "a pipe": [(entry("kernels/1/a", tarfile.FIFOTYPE), b"")],
    "a file below a file": [(entry("kernels/1"), b"x"), (entry("kernels/1/a"), b"x")],
    "a file below a link": [
        (entry("userlands/1/a", tarfile.SYMTYPE, "b"), b""),
        (entry("userlands/1/a/c"), b"x"),
    ],
    "a folder where a file is": [(entry("kernels/1"), b"x"), (entry("kernels/1", tarfile.DIRTYPE), b"")],
    "twice": [(entry("kernels/1"), b"x"), (entry("kernels/1"), b"x")],
    "a line break": [(entry("kernels/a\nb"), b"x")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_bundle_is_refused(
    members: list[tuple[tarfile.TarInfo, bytes]], program: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file = forged(tmp_path / "hostile", program, members)
    with pytest.raises(BundleError, match="hostile"):
        reader.unpack(file, home / "out", ALL)
    assert [path.name for path in home.iterdir()] in ([], ["out"])
    assert not [path for path in (home / "out").rglob("*") if path.is_symlink()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "hostile"]


PIECES = st.lists(st.sampled_from(["..", ".", "a", "b", "", "c"]), min_size=1, max_size=6)


@given(links=st.lists(st.tuples(PIECES, PIECES), min_size=1, max_size=4))
def test_no_links_together_lead_out_of_a_userland(
    links: list[tuple[list[str], list[str]]], program: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("links")
    members = [(entry("/".join(["userlands", "1", *at]), tarfile.SYMTYPE, "/".join(to)), b"") for at, to in links]
    try:
        reader.unpack(forged(home / "file", program, members), home / "out", ALL)
    except BundleError:
        return
    root = home / "out" / "userlands" / "1"
    for path in root.rglob("*"):
        for inside in itertools.accumulate(["."] * 3, lambda at, _: f"{at}/a", initial="."):
            if not _endless(path / inside):
                assert (path / inside).resolve().is_relative_to(root)


def _endless(path: Path) -> bool:
    """Whether links lead in a circle, by the kernel: what Path.resolve makes of one depends on Python's version."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def test_what_the_manifest_lists_must_be_there(program: Path, tmp_path: Path) -> None:
    file = forged(tmp_path / "file", program, [], "0" * 64 + "  kernels/1/linux\n")
    with pytest.raises(BundleError, match="kernels/1/linux is missing"):
        reader.unpack(file, tmp_path / "out", ALL)


def test_what_the_manifest_does_not_list_must_not_be_there(program: Path, tmp_path: Path) -> None:
    file = forged(tmp_path / "file", program, [(entry("kernels/1/linux"), b"x")], "0" * 64 + "  a\n")
    with pytest.raises(BundleError, match="kernels/1/linux is not in the manifest"):
        reader.unpack(file, tmp_path / "out", ALL)


@given(st.text())
def test_a_manifest_is_read_or_refused(text: str) -> None:
    try:
        found = manifest.parse(text)
    except BundleError:
        return
    assert manifest.parse(found.render()) == found


PATHS = st.lists(st.text("ab.-_é", min_size=1).filter(lambda each: each not in (".", "..")), min_size=1).map("/".join)


@given(st.dictionaries(PATHS, st.binary(min_size=32, max_size=32).map(bytes.hex)))
def test_a_manifest_is_read_as_it_was_written(files: dict[str, str]) -> None:
    assert manifest.parse(manifest.Manifest(files).render()).files == files


def test_a_bundle_replaces_nothing(bundle: Path, parts: list[Part], program: Path) -> None:
    before = bundle.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        writer.write(bundle, parts, ABOUT, program, Silent())
    assert bundle.read_bytes() == before


class Stopping(Silent):
    """Ends it as Ctrl-C would, while the archive is written."""

    def step(self, done: int, total: int) -> None:
        if done == total - 1:
            self.left = getattr(self, "left", 2) - 1
            if not self.left:
                raise KeyboardInterrupt


def test_an_interrupted_bundle_leaves_nothing(parts: list[Part], program: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        writer.write(tmp_path / "bundle", parts, ABOUT, program, Stopping())
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from pathlib import Path
from lab.base.building import Silent
from lab.ext.bundle import writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.part import Part
class Killing(Silent):
    def step(self, done, total):
        os.kill(os.getpid(), signal.SIGKILL)
home = Path(sys.argv[1])
program = Path(sys.argv[2])
writer.write(home / "bundle", [Part("a", program, "a file")], About("", "", "", ""), program, Killing())
"""


def test_what_a_killed_one_left_goes_with_the_next(parts: list[Part], program: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, program], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    writer.write(tmp_path / "bundle", parts, ABOUT, program, Silent())
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_place_that_cannot_be_written_is_one_message(parts: list[Part], program: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file; name a bundle in an existing folder"):
        writer.write(tmp_path / "file" / "bundle", parts, ABOUT, program, Silent())
    with pytest.raises(MachineError, match="cannot be written"):
        writer.write(Path("/proc/bundle"), parts, ABOUT, program, Silent())


def test_a_tool_of_others_reads_the_crate(bundle: Path, parts: list[Part], tmp_path: Path) -> None:
    from rocrate.rocrate import ROCrate

    reader.unpack(bundle, tmp_path / "out", ALL)
    crate = ROCrate(tmp_path / "out")
    assert (crate.name, crate.description) == (ABOUT.name, ABOUT.description)
    assert str(crate.datePublished.date()) == ABOUT.date
    named = {entity.id: entity["name"] for entity in crate.data_entities}
    for part in parts:
        assert named[f"{part.path}/" if part.source.is_dir() else part.path] == part.about


def test_the_crate_describes_each_part(bundle: Path, parts: list[Part], tmp_path: Path) -> None:
    contents = reader.unpack(bundle, tmp_path / "out", ALL)
    graph = {
        entity["@id"]: entity for entity in json.loads((tmp_path / "out/ro-crate-metadata.json").read_text())["@graph"]
    }
    assert graph["./"]["name"] == "two claims"
    listed = {each["@id"] for each in graph["./"]["hasPart"]}
    assert listed == {"manifest-sha256.txt", "kernels/4567/", "userlands/0123/", "topologies/a.yaml"}
    lines = contents.render().splitlines(keepends=True)
    kernel = "".join(line for line in lines if line.split()[1].startswith("kernels/4567/"))
    assert graph["kernels/4567/"]["sha256"] == hashlib.sha256(kernel.encode()).hexdigest()
    assert graph["topologies/a.yaml"]["sha256"] == parts[0].digests()["topologies/a.yaml"]
