"""Commands on spoilt files: each kind of file that the lab reads, and what is typed once it is spoilt."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import zstandard

from lab.errors import LabError
from lab.ext.cluster import campaign, sharing
from lab.ext.cluster.shared import SharedFolder, named
from lab.ext.course import exercises as course
from lab.ext.course.submission import handed_in
from lab.ext.upkeep.packing import SUFFIXES
from lab.record import packed
from lab.record.record import RecordError
from lab.record.store import Store
from lab.spec import find, shipped
from tests.campaign.bundles import bundle
from tests.campaign.isolated import Attempt, Broken, attempt, typed
from tests.campaign.mutator import spoilt
from tests.runner.killing import LAB

__all__ = ["KINDS", "ground", "spoil"]

CLAIMS = ("asymmetric-mtu/mss-advertised", "ack-rate/quickack-interactive", "tcp-timestamps/flent-upload")
SMALL = 100_000  # bytes: larger records are left out, each case copies all
EVERYTHING = find.experiments()
TOPOLOGIES = {name: path for name, path in find.topologies().items() if path.suffix == ".yaml"}
GOES = (CLAIMS[:1], ("--older-than", "1"), ("--kernel", "7.2"), ("--unplanned",))  # what may go: nothing does
SHELL = '''"""A claim of the tests."""

from lab import Arm, Bulk, Experiment, Reported, Size, Within, metric

EXPERIMENT = Experiment(
    topology="given.yaml",
    workload=Bulk(size=Size.of("1 MB")),
    metric=metric.bulk_goodput(),
    arms=(Arm("one", Reported("94 Mbit/s", "it says so")),),
    tolerance=Within(0.9, because="it is a test"),
)
'''


def ground(folder: Path) -> None:
    """Run some claims for the records that are spoilt, and share these."""
    ran = subprocess.run([LAB, "run", *CLAIMS, "--results", folder / "results"], capture_output=True, text=True)
    if ran.returncode not in (0, 1):
        raise Broken(f"the records to spoil cannot be made: {ran.stderr}")
    store = Store(folder / "results")
    for record in list(store):
        if sum(output.bytes for output in record.outputs.values()) > SMALL:
            store.remove(record.address)
    sharing.push(store.root, folder / "shared")
    shutil.copytree(store.root, folder / "other")


def topology(chance: random.Random) -> None:
    """A topology, shipped or a pack's, with what it names beside it."""
    source = TOPOLOGIES[chance.choice(sorted(TOPOLOGIES))]
    shutil.copytree(source.parent, "topologies")
    _spoil(Path("topologies", source.name), chance)
    _check_topology(source.name)


def trace(chance: random.Random) -> None:
    """A link's trace."""
    source = TOPOLOGIES["varying-rate"]
    shutil.copytree(source.parent, "topologies")
    if chance.random() < 0.5:
        shutil.copy(source.parent / "varying-rate.csv", "topologies/varying-rate.csv")
    else:
        mahimahi = "\n".join(str(chance.randrange(1000)) for _ in range(50))
        Path("topologies/varying-rate.up").write_text(mahimahi)
        text = source.read_text().replace("varying-rate.csv", "varying-rate.up")
        Path("topologies", source.name).write_text(text)
    _spoil(chance.choice(sorted(Path("topologies").glob("varying-rate.[cu]*"))), chance)
    _check_topology(source.name)


def _check_topology(name: str) -> None:
    file = Path("topologies", name)
    if typed("check", file) == 0 and typed("graph", file, "--json") != 0:
        raise Broken(f"lab check takes {file}, and lab graph does not")
    Path("topologies/claim.py").write_text(SHELL.replace("given.yaml", name))
    typed("plan", "topologies/claim.py", "--results", "results")


def experiment(chance: random.Random) -> None:
    """An experiment. Its Python is the user's own, and is run."""
    source = EVERYTHING[chance.choice(sorted(EVERYTHING))]
    folder = Path("experiments", source.parent.name)
    shutil.copytree(source.parent, folder)
    _spoil(folder / source.name, chance)
    checked = typed("check", folder / source.name)
    planned = typed("plan", folder / source.name, "--results", "results")
    if checked == 0 and planned not in (0, 2, 3):
        raise Broken(f"lab check takes {source.name}, and lab cluster plan ends with {planned}")


def article(chance: random.Random) -> None:
    """What stands beside experiments: the article's facts, its history."""
    source = EVERYTHING[chance.choice(sorted(EVERYTHING))]
    folder = Path("experiments", source.parent.name)
    shutil.copytree(source.parent, folder)
    beside = [path for path in sorted(folder.glob("*.yaml")) if path.name != "register.yaml"]
    _spoil(chance.choice(beside), chance)
    typed("check", *beside)
    typed("show", f"{source.parent.name}/{source.stem}", "--results", "results")


def record(chance: random.Random) -> None:
    """Any file of a record, packed or not. Damage that the hashes guard is found; nothing else in the store changes."""
    if chance.random() < 0.5:
        _pack(Path("results"))
    file = chance.choice([path for path in sorted(Path("results").glob("??/*/**/*")) if path.is_file()])
    folder = next(parent for parent in file.parents if len(parent.name) == 64)
    before = file.read_bytes()
    _spoil(file, chance)
    same = file.suffix == packed.SUFFIX and _unpacked(file.read_bytes()) == _unpacked(before)
    with _unchanged(Path("results")):
        found = typed("store", "fsck", "--results", "results")
        if found == 0 and (file.parent != folder or file.name == "trial.json") and not same:
            raise Broken(f"lab store fsck does not see that {file} was altered")
        _read(chance)
        _compare(chance)
        typed("merge", "results", "--results", "other")
    if typed("store", "fsck", "--results", "other") != 0:
        raise Broken(f"lab cluster merge takes the damage in {file}")


def output(chance: random.Random) -> None:
    """What a trial left, spoilt before it was recorded: its hashes are right, and what it says is wrong."""
    file = chance.choice([path for path in sorted(Path("results").glob("??/*/out/**/*")) if path.is_file()])
    folder = next(parent for parent in file.parents if len(parent.name) == 64)
    _spoil(file, chance)
    contents = json.loads((folder / "record.json").read_text())
    said = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "bytes": file.stat().st_size}
    contents["outputs"][file.relative_to(folder / "out").as_posix()] = said
    (folder / "record.json").write_text(json.dumps(contents))
    if chance.random() < 0.5:
        _pack(Path("results"))
    with _unchanged(Path("results")):
        if typed("store", "fsck", "--results", "results") != 0:
            raise Broken(f"lab store fsck refuses {folder}, whose hashes are right")
        for claim in CLAIMS:
            typed("show", claim, "--results", "results")
        _compare(chance)


def prediction(chance: random.Random) -> None:
    """What was predicted, and when."""
    _spoil(chance.choice(sorted(Path("results/predictions").glob("*/*.json"))), chance)
    _read(chance)
    typed("merge", "other", "--results", "results")


def kernel(chance: random.Random) -> None:
    """What a kernel in the cache says of itself."""
    _own_cache()
    kernels = Path(os.environ["XDG_CACHE_HOME"], "replab", "kernels")
    files = [path for path in sorted(kernels.glob("*/*")) if path.name in ("kernel.json", "config")]
    _spoil(chance.choice(files), chance)
    typed("kernel", "list", "--json")
    typed("plan", CLAIMS[0], "--userland", "host", "--results", "results")
    typed("show", CLAIMS[0], "--results", "results")


def archive(chance: random.Random) -> None:
    """An archive of a shared store: it is refused, or gives the record that it had."""
    store, other = Store(Path("results")), SharedFolder(Path("shared"))
    chosen = chance.choice(list(store))
    trial, before = chosen.trial, chosen.outputs
    _spoil(other.root / named(chosen.address), chance)
    store.remove(chosen.address)
    said: list[str] = []
    sharing.fetch([trial], other, store, said.append)
    found = store.get(trial.address)
    if found is None and not said:
        raise Broken("an archive is left out, and nobody is told")
    if found is not None:
        found.verify()
        if found.outputs != before:
            raise Broken("an archive that was altered is taken")


def plan(chance: random.Random) -> None:
    """What `lab cluster plan --json` wrote."""
    typed_plan = {"trials": [{"claim": "a/b", "arm": "c", "point": "", "seed": 1, "repeat": 0, "seconds": 2.5}] * 3}
    file = Path("plan.json")
    file.write_text(json.dumps(typed_plan))
    _spoil(file, chance)
    with contextlib.suppress(LabError):
        campaign.read_costs(file)


def submission(chance: random.Random) -> None:
    """A notebook that a student handed in."""
    solved = sorted((shipped.folder() / "notebooks" / "classroom" / "solved").glob("*.ipynb"))
    file = Path(shutil.copy(chance.choice(solved), "."))
    _spoil(file, chance)
    list(handed_in(file, course.exercises()))


def _spoil(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    file.unlink()  # it may be linked
    file.write_bytes(spoilt(data, chance, file.name))


def _pack(results: Path) -> None:
    """Pack what `lab store pack` would, however small it is."""
    for suffix in SUFFIXES:
        for file in sorted(results.glob(f"??/*/out/**/*{suffix}")):
            packed.pack(file, packed.form(file))
            file.unlink()


def _unpacked(data: bytes) -> bytes:
    """Return what a packed file holds; bits of its head, and its checksum, may be spoilt without harm."""
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError:
        return b""


def _read(chance: random.Random) -> None:
    """Type what reads a store."""
    typed("store", "du", "--results", "results")
    typed("store", "gc", *chance.choice(GOES), "--results", "results")
    typed("show", chance.choice(CLAIMS), "--results", "results", *chance.choice(([], ["--json"])))
    typed("plan", CLAIMS[0], "--results", "results")


def _compare(chance: random.Random) -> None:
    """Compare the store with what it was, now and then: that loads every claim there is."""
    if chance.random() < 0.25:
        typed("compare", "other", "results", "--json")


@contextlib.contextmanager
def _unchanged(store: Path) -> Iterator[None]:
    """Hold that what only reads changes no record."""
    before = _digests(store)
    yield
    if _digests(store) != before:
        raise Broken("a record was changed, or lost, by reading it")


def _digests(store: Path) -> dict[str, str]:
    files = (path for path in store.glob("??/**/*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _own_cache() -> None:
    """Give this process a cache with kernels of its own, that may be spoilt."""
    real = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "replab", "kernels")
    own = Path("cache").absolute()
    for folder in sorted(real.glob("[0-9a-f]*"))[:3]:
        (own / "replab" / "kernels" / folder.name).mkdir(parents=True)
        for path in folder.iterdir():
            if path.is_file():
                target = own / "replab" / "kernels" / folder.name / path.name
                target.symlink_to(path) if path.name == "linux" else shutil.copy(path, target)
    os.environ["XDG_CACHE_HOME"] = str(own)


KINDS: Mapping[str, Callable[[random.Random], None]] = {
    each.__name__: each
    for each in (
        topology,
        trace,
        experiment,
        article,
        record,
        output,
        prediction,
        kernel,
        archive,
        bundle,
        plan,
        submission,
    )
}


def spoil(case: str, seed: int, folder: Path) -> Attempt:
    """Do the case "KIND:NUMBER" in a copy of the `ground` at `folder`."""
    kind, _, number = case.partition(":")
    _warm(folder)
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
        return attempt(partial(_in, Path(scratch), KINDS[kind], random.Random(f"{seed}/{kind}/{number}")))


@cache
def _warm(folder: Path) -> None:
    """Import here what commands import when they need it: a case's own process then has it."""
    store = ("--results", folder / "results")
    typed("list")
    typed("graph", "lossy", "--json")
    typed("show", CLAIMS[0], *store)
    typed("plan", CLAIMS[0], *store)
    typed("compare", folder / "other", folder / "results")
    for command in ("du", "fsck", "gc"):
        typed("store", command, *store, *(["--unplanned"] if command == "gc" else []))


def _in(folder: Path, work: Callable[[random.Random], None], chance: random.Random) -> None:
    os.chdir(folder)
    tempfile.tempdir = str(folder)  # a fork that ends at once leaves what it unpacked
    with contextlib.suppress(RecordError) if work is archive else contextlib.nullcontext():
        work(chance)
