"""Claims in one file, and what another machine makes of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from lab.base.building import Silent
from lab.ext.bundle import bundling, frames, reader
from lab.spec import find
from tests.packed import pack
from tests.waiting import has, until

CLAIM = "tcp-timestamps/header-length"
LAB = "import sys; sys.argv[0] = 'lab'; from lab.cli import main; main()"

pytestmark = pytest.mark.guest
Type = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module", autouse=True)
def _hurried() -> Iterator[None]:
    """Compress less: that is most of a bundle's time. tests/ext/cluster makes a bundle as people get it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "LEVEL", 1)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the records of one claim."""
    folder = tmp_path_factory.mktemp("ran") / "results"
    subprocess.run([sys.executable, "-c", LAB, "run", CLAIM, "--results", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pages, as `lab report` makes it."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "index.html").write_text("<title>All claims</title>")
    return folder


@pytest.fixture(scope="module")
def bundle(results: Path, pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The claim in one file."""
    out = tmp_path_factory.mktemp("bundle") / "claims.tar.zst"
    bundling.bundle(find.find([CLAIM]), results, pages, out, Silent())
    return out


@pytest.fixture
def elsewhere(tmp_path: Path) -> Type:
    """Runs `lab` in an empty folder, by who has nothing in the cache, no compiler and no network."""
    (tmp_path / "here").mkdir()
    nothing = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/nowhere", "LAB_MIRROR": "http://127.0.0.1:1"}

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LAB, *map(str, arguments)]
        environment = {**os.environ, **nothing}
        return subprocess.run(
            command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True, timeout=600
        )

    return run


def test_it_holds_what_it_takes_to_run_the_claim_again(bundle: Path, results: Path) -> None:
    files = set(reader.identify(bundle).files)
    (record, *_) = results.glob("??/*")
    trial = json.loads((record / "trial.json").read_text())
    assert {
        f"kernels/{trial['kernel']['id']}/linux",
        f"userlands/{trial['userland']}/manifest",
        "experiments/tcp-timestamps/header-length.py",
        "experiments/tcp-timestamps/article.yaml",
        "topologies/symmetric-10g.yaml",
        "notebooks/tcp-timestamps.ipynb",
        "notebooks/index.ipynb",
        "report/index.html",
        "ro-crate-metadata.json",
    } <= files
    kept = {f"results/{path.relative_to(results)}" for path in results.rglob("*") if path.is_file()}
    assert {path for path in files if path.startswith("results/")} == kept
    assert not [path for path in files if path.endswith("build.log")]


def test_a_packed_store_makes_the_same_bytes(bundle: Path, results: Path, pages: Path, tmp_path: Path) -> None:
    """So does bundling twice: nothing but the store's form differs between the two."""
    shutil.copytree(results, tmp_path / "store")
    pack(tmp_path / "store")
    bundling.bundle(find.find([CLAIM]), tmp_path / "store", pages, tmp_path / "again", Silent())
    assert (tmp_path / "again").read_bytes() == bundle.read_bytes()


def test_elsewhere_it_is_verified_and_run_without_building(bundle: Path, elsewhere: Type, tmp_path: Path) -> None:
    done = elsewhere("verify", bundle)
    assert (done.returncode, done.stdout) == (0, "all 2 trials identical\n"), done.stderr
    assert not list((tmp_path / "here").iterdir())
    cache = {path.relative_to(tmp_path / "cache/replab") for path in (tmp_path / "cache/replab").glob("*/*")}
    assert len([path for path in cache if path.parts[0] == "bundles"]) == 1, "nothing is left but what is kept"
    ran = elsewhere("run", "--from", bundle, CLAIM, "--json")
    assert ran.returncode == 0, ran.stderr
    (claim,) = json.loads(ran.stdout)["claims"]
    assert claim["verdict"] == "reproduced"
    trials = {address for result in claim["results"] for address in result["trials"]}
    assert trials == {path.split("/")[2] for path in reader.identify(bundle).files if path.endswith("/trial.json")}
    plain = elsewhere("run", CLAIM)
    assert plain.returncode == 3, "a kernel that came with a bundle serves that bundle alone"
    assert "no kernel is built here" in plain.stderr


def test_who_trusts_it_takes_its_kernel_as_if_built_here(bundle: Path, elsewhere: Type, tmp_path: Path) -> None:
    taken = elsewhere("kernel", "take", bundle, "--json")
    assert taken.returncode == 0, taken.stderr
    (kernel,) = json.loads(taken.stdout)["kernels"]
    there = {path.name for path in (tmp_path / "cache/replab/kernels").iterdir() if path.is_dir()}
    assert there == {kernel["id"]}
    assert elsewhere("kernel", "take", bundle).returncode == 0, "what is here already stays"
    ran = elsewhere("run", CLAIM, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["claims"][0]["verdict"] == "reproduced"


@pytest.mark.nightly
def test_a_record_that_says_other_bytes_differs(results: Path, pages: Path, elsewhere: Type, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "store")
    (record, *_) = sorted((tmp_path / "store").glob("??/*"))
    (file, *_) = sorted(path for path in (record / "out").iterdir() if path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    contents = json.loads((record / "record.json").read_text())
    contents["outputs"][file.name]["sha256"] = hashlib.sha256(data).hexdigest()
    (record / "record.json").write_text(json.dumps(contents))
    bundling.bundle(find.find([CLAIM]), tmp_path / "store", pages, tmp_path / "false", Silent())
    done = elsewhere("verify", tmp_path / "false")
    assert done.returncode == 1
    assert "1 of 2 identical" in done.stdout
    assert file.name in done.stdout


@pytest.mark.parametrize(
    "part", ["userlands", *(pytest.param(part, marks=pytest.mark.nightly) for part in ("kernels", "results"))]
)
def test_a_flipped_byte_is_refused_by_name(part: str, bundle: Path, elsewhere: Type, tmp_path: Path) -> None:
    start, end = where(bundle, part)
    with (tmp_path / "damaged").open("wb") as file:
        whole = bytearray(bundle.read_bytes())
        whole[(start + end) // 2] ^= 1
        file.write(whole)
    done = elsewhere("verify", tmp_path / "damaged")
    assert done.returncode == 1
    assert re.search(rf"lab: .*damaged: .*\b{part}/", done.stderr)
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "cache").glob("replab/*/*"))


def where(bundle: Path, part: str) -> tuple[int, int]:
    """(start, end) of the first frame of Zstandard that begins with such a part."""
    whole = bundle.read_bytes()
    at = 0
    while True:
        unpacking = zstandard.ZstdDecompressor().decompressobj()
        data = unpacking.decompress(whole[at:])
        end = len(whole) - len(unpacking.unused_data)
        if data.startswith((f"{part}/".encode(), part.encode() + b"\0")):
            return at, end
        at = end


def test_what_cannot_be_had_is_one_message(bundle: Path, elsewhere: Type, tmp_path: Path) -> None:
    for arguments, said in (
        (["verify", tmp_path / "none"], "none"),
        (["run", "--from", tmp_path / "none", CLAIM], "cannot be read: no such file"),
        (["kernel", "take", tmp_path / "none"], "no such file"),
        (["run", "--from", bundle, "--kernel", "6.12", CLAIM], "has no kernel 6.12; it has 7.2"),
        (["run", "--from", bundle, "--on", "host", CLAIM], "user-mode Linux"),
        (["bundle", tmp_path / "new", CLAIM], "no records of these claims"),
        (["bundle", tmp_path / "other", CLAIM, "--report", tmp_path / "none"], "not a folder of pages"),
    ):
        done = elsewhere(*arguments)
        assert done.returncode == 2, done
        assert said in done.stderr
        assert "Traceback" not in done.stderr


ENTER = """\
root=$1; shift
mount -t proc proc $root/proc && mount -t tmpfs dev $root/dev || exit 99
for name in null zero random urandom; do
    touch $root/dev/$name && mount --bind /dev/$name $root/dev/$name || exit 99
done
mkdir $root/dev/shm && chmod 1777 $root/dev/shm || exit 99
cd / && exec chroot --userspec=65534:65534 --groups= $root "$@"
"""


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another root")
@pytest.mark.needs("busybox")
def test_nobody_verifies_it_where_nothing_is_installed(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    python = bare(root)
    shutil.copyfile(bundle, root / "claims.tar.zst")
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "-", str(root)]

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*enter, python, "/claims.tar.zst", *arguments]
        return subprocess.run(command, env={}, capture_output=True, text=True, timeout=600)

    done = start("verify")
    assert (done.returncode, done.stdout) == (0, "all 2 trials identical\n"), done.stderr
    assert not list((root / "tmp").iterdir())
    done = start("run", CLAIM, "--json", "--results", "/tmp/results")
    assert json.loads(done.stdout)["claims"][0]["verdict"] == "reproduced", done.stderr
    done = start("report", "--results", "/tmp/results", "-o", "/tmp/report")
    assert done.returncode == 3, "it has no Jupyter"
    assert re.fullmatch(r"lab: \S+ needs the package nbformat for this\n", done.stderr)
    assert [path.name for path in (root / "tmp").iterdir()] == ["results"]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)])
def test_one_that_is_stopped_leaves_nothing(number: int, bundle: Path, tmp_path: Path) -> None:
    """It has no cache that it can write to, as nobody has none."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "file").touch()
    here = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "XDG_CACHE_HOME": str(tmp_path / "file")}
    for left in (
        "__main__.py",
        "userlands",
        "console.log",
    ):  # unpacks itself, then what guests need; has one
        command = [sys.executable, "-I", str(bundle), "verify"]
        with subprocess.Popen(command, env=here, start_new_session=True, stderr=subprocess.DEVNULL) as started:
            until(lambda left=left: has(tmp_path / "tmp", left))  # type: ignore[misc]
            os.killpg(started.pid, number) if number == signal.SIGINT else started.send_signal(number)
            assert started.wait(timeout=60) == 128 + number
        assert not list((tmp_path / "tmp").iterdir())


def bare(root: Path) -> str:
    """Make a root of busybox, libc, and this Python with its own library; return the Python's path there."""
    for name in ("bin", "dev", "proc", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    python, library = Path(os.path.realpath(sys.executable)), Path(sysconfig.get_path("stdlib"))
    shutil.copyfile(str(shutil.which("busybox")), root / "bin/busybox")
    (root / "bin/busybox").chmod(0o755)
    (root / "bin/sh").symlink_to("busybox")
    without = shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__", "config-*")
    shutil.copytree(library, root / library.relative_to("/"), symlinks=False, ignore=without)
    (root / python.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
    shutil.copy(python, root / python.relative_to("/"))
    for program in (root / "bin/busybox", root / python.relative_to("/"), *root.rglob("lib-dynload/*.so")):
        listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        for needed in re.findall(r"/\S+\.so\S*", listed):
            to = root / needed.lstrip("/")
            if not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(needed, to)
    return str(python)
