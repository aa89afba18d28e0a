"""The same trial gives the same bytes: idle or loaded, as root or not, wherever it runs. Another seed gives others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import get_args

import pytest

import lab
from lab.app import userlands
from lab.guest.middlebox import Middlebox
from lab.guest.probe import Probe
from lab.guest.workload import Packetdrill, Workload
from lab.machine.kernel import UmlKernel, guest
from lab.record.record import Record
from lab.record.store import Store
from tests.kinds import Perform
from tests.runner.samples import SAMPLES

pytestmark = pytest.mark.guest

Busy = Callable[[], AbstractContextManager[None]]
NOBODY = 65534
ROOT = Path(lab.__file__).parent.parent

EXPERIMENT = '''"""A lossy path carries less than its rate."""

from lab import Arm, Capture, Experiment, Reported, Within, metric
from lab.app import userlands
from lab import Bulk, Duration

EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("500 ms")),
    probes=(Capture(),),
    metric=metric.bulk_goodput(),
    few_samples="only the bytes matter here",
    arms=(Arm("only", Reported("10 Mbit/s", "it says so")),),
    tolerance=Within(0.99, because="only the bytes matter here"),
)
'''


def content(record: Record) -> bytes:
    """The record's text, which holds the hash of every output."""
    return (record.folder / "record.json").read_bytes()


ELSEWHERE = {Packetdrill}  # tests/ext/suites/packetdrill/test_guest.py: it needs a source that the lab does not have


def test_every_kind_has_a_sample() -> None:
    """So that whoever adds one shows that it leaves the same bytes again."""
    sampled = {
        type(each)
        for _, workload, probes, middleboxes in SAMPLES.values()
        for each in (workload, *probes, *middleboxes)
    }
    kinds = {kind for union in (Workload, Probe, Middlebox) for kind in get_args(union)}
    assert kinds - sampled == ELSEWHERE, "add a short one of each to SAMPLES"


@pytest.mark.parametrize("name", SAMPLES)
def test_neither_a_loaded_machine_nor_the_way_to_the_trial_changes_anything(
    perform: Perform, tmp_path: Path, busy: Busy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Without bytecode, Python looks at other files, and reads the clock another number of times."""
    topology, workload, probes, middleboxes = SAMPLES[name]
    usual = perform(topology, workload, probes, middleboxes=middleboxes)
    monkeypatch.setitem(guest.ENVIRONMENT, "PYTHONPYCACHEPREFIX", "/nowhere")
    with busy():
        other = perform(topology, workload, probes, middleboxes=middleboxes, into=tmp_path / "other")
    assert usual.address == other.address
    assert content(usual) == content(other)


@pytest.mark.parametrize("name", ["iperf3", "loss"])
def test_another_seed_gives_other_bytes(perform: Perform, name: str) -> None:
    one, two = (perform(*SAMPLES[name][:3], seed=seed) for seed in (1, 2))
    capture = next(each for each in one.outputs if each.endswith(".pcap"))
    assert one.outputs[capture] != two.outputs[capture]


@pytest.fixture
def public(kernel: UmlKernel) -> Iterator[Path]:
    """A folder that every user reaches, with a kernel in a cache and an experiment."""
    folder = Path(tempfile.mkdtemp(prefix="replab-test-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        shutil.copytree(kernel.path.parent, folder / "cache" / "replab" / "kernels" / kernel.path.parent.name)
        userland = userlands.chosen("sealed", "uml")
        assert userland is not None
        place = folder / "cache" / "replab" / "userlands" / userland.id
        shutil.copytree(userland.tree.parent, place, symlinks=True)
        (folder / "tests").mkdir()
        (folder / "tests" / "lossy.py").write_text(EXPERIMENT)
        yield folder
    finally:
        shutil.rmtree(folder)


def run_as(user: int, public: Path, name: str) -> dict[str, bytes]:
    """`lab run --seed 2` by that user in a folder of its own: every record.json that it left, by address.

    The project is shown to it in another place, since the user may not reach where it really is (below /root, say).
    """
    home, project = public / name, public / "project"
    home.mkdir()
    os.chown(home, user, user)
    project.mkdir(exist_ok=True)
    python = project / Path(sys.executable).relative_to(ROOT)
    start = f'mount --bind "{ROOT}" "{project}" && exec setpriv --reuid={user} --regid={user} --clear-groups "$@"'
    argv = [str(python), "-c", "from lab.cli import main; main()", "run", str(public / "tests" / "lossy.py")]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", start, "sh", *argv, "--seed", "2", "--results", str(home / "results")],
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CACHE_HOME": str(public / "cache"),
            "PYTHONPATH": str(project),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {record.address: content(record) for record in Store(home / "results")}


def may_become_another() -> bool:
    return os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_become_another(), reason="only root can run something as two users")
def test_root_and_an_ordinary_user_see_the_same(public: Path) -> None:
    assert run_as(0, public, "root") == run_as(NOBODY, public, "nobody") != {}


@pytest.mark.usefixtures("kernel")
def test_the_labs_folder_changes_nothing(tmp_path: Path) -> None:
    """A guest has a /tmp of its own, and makes folders there first, to see a lab below the host's."""
    deep = tmp_path / "a" / "longer" / "way"
    for folder in ("lab", "topologies"):
        shutil.copytree(ROOT / folder, deep / folder)
    (tmp_path / "lossy.py").write_text(EXPERIMENT)

    def run(project: Path, name: str) -> dict[str, bytes]:
        argv = [sys.executable, "-c", "from lab.cli import main; main()", "run", "lossy.py", "--results", name]
        environment = {**os.environ, "PYTHONPATH": str(project)}
        done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return {record.address: content(record) for record in Store(tmp_path / name)}

    assert run(deep, "there") == run(ROOT, "here") != {}
