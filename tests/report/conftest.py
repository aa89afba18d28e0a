"""A small article of our own, a store with records of it that nobody ran, and the directory that holds both."""

import json
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

import lab
from lab.base import child
from lab.guest.trial import Trial
from lab.metric.tcp_info import FIELDS
from lab.record.record import Record
from lab.record.store import Store
from lab.report import trials
from lab.report.article import Article
from lab.spec import find
from lab.spec.case import Case
from lab.spec.loaded import LoadedExperiment
from lab.units import to_plain
from lab.verdict.judged import judge_stored

DATA = Path(__file__).parents[1] / "data"
KERNEL = {"name": "7.2", "version": "7.2.13-1", "id": "k1", "hz": 1000, "patches": []}

HEAD = """
from lab import Arm, Bulk, Capture, Demonstrated, Duration, Exactly, Experiment, Iperf3, Point, Qperf, Reported, Sweep
from lab import TcpInfo, Within, metric, model

SHORT = Bulk(duration=Duration.of("50 ms"))
CAPTURE = (Capture(node="sender"),)
"""

EXPERIMENTS = {
    "header": '''"""A header has 32 bytes & <nothing> else.

`Page` one.
"""
EXPERIMENT = Experiment(
    topology="delay-100ms", workload=SHORT, probes=CAPTURE,
    metric=metric.header_length(), prediction=model.tcp_header_length,
    arms=(
        Arm("on", Reported("20 B", "it says so")),
        Arm("longer", Reported("32 B", "it says so"), Demonstrated("it was `another` header"),
            sysctls={"net.ipv4.tcp_rmem": "1 2 3"}),
    ),
    tolerance=Exactly(because="it has a length"), expect="not reproduced",
)
''',
    "rate": '''"""A tool says 9.4 Gbit/s."""
EXPERIMENT = Experiment(
    topology="symmetric-10g", workload=Qperf(), probes=(TcpInfo(node="sender"),), metric=metric.qperf_goodput(),
    prediction=model.goodput_line_rate,
    arms=(Arm("only", Reported("9.4 Gbit/s", "it says so")),),
    tolerance=Within(0.9, because="it is made up"),
)
''',
    "sweep": '''"""A limit of 2 frames is too small."""
EXPERIMENT = Experiment(
    topology="delay-100ms", workload=SHORT, metric=metric.any_drops(), prediction=model.any_drops, arms=(Arm("only"),),
    sweep=Sweep("limit, frames", (
        Point(2, Reported(1, "too small"), links={"path": {"forward": {"limit": 2}}}),
        Point(5000, Reported(0, "enough")),
    )),
    tolerance=Exactly(because="it drops or not"),
)
''',
    "unrun": '''"""Nobody has run this."""
EXPERIMENT = Experiment(
    topology="symmetric-1g", workload=Iperf3(), probes=CAPTURE, metric=metric.iperf3_goodput(),
    prediction=model.goodput_line_rate,
    arms=(Arm("only", Reported("1 Gbit/s", "it says so")),), tolerance=Within(0.1, because="so"),
)
''',
}

ARTICLE = "title: A toy & more\nauthor: Nobody\ndate: 1 May 2020\nurl: unknown\n"

Keep = Callable[..., list[Record]]


def write_trials(records: Iterable[Record], folder: Path, answers: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write the pages of these records to a folder, as a report does."""
    with child.pool() as workers:
        pages = trials.TrialPages(folder, workers)
        pages.add(records, answers)
        pages.finish()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the article `toy` in it."""
    declare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def declare(place: Path) -> None:
    """Write the article `toy`."""
    folder = place / "experiments" / "toy"
    folder.mkdir(parents=True)
    (folder / "article.yaml").write_text(ARTICLE)
    for name, text in EXPERIMENTS.items():
        claim, _, rest = text.partition("EXPERIMENT =")
        (folder / f"{name}.py").write_text(f"{claim}{HEAD}\nEXPERIMENT ={rest}")


def kept(place: Path, claim: str, text: str, changed: dict[str, object]) -> list[Record]:
    """Keep records of a claim in the store of this place, one for each case."""
    store = Store(place / "results")
    (loaded,) = find.find([claim if "/" in claim else str(place / "experiments" / "toy" / f"{claim}.py")])
    return [_keep(store, loaded, case, text, changed) for case in loaded.cases()]


@pytest.fixture
def keep(here: Path) -> Keep:
    """Keeps records of a claim, of the toy article unless it is another's, one for each case.

    `changed` are inputs of their trials.
    """

    def keep(claim: str, text: str = "", **changed: object) -> list[Record]:
        return kept(here, claim, text, changed)

    return keep


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the article's claims, all but one run. No test changes it: each has a copy."""
    place = tmp_path_factory.mktemp("toys")
    declare(place)
    for claim in ("header", "rate", "sweep"):
        kept(place, claim, "", {})
    store = Store(place / "results")
    judge_stored(find.find(map(str, place.glob("experiments/toy/*.py"))), store, store.predictions)  # predicts once
    return store.root


@pytest.fixture
def toy(here: Path, toys: Path) -> Callable[[], Article]:
    """The judged article, all claims but one run."""
    shutil.copytree(toys, here / "results", dirs_exist_ok=True)
    return lambda: lab.article("toy", "results")


@contextmanager
def beside(place: Path, toys: Path, more: str = "") -> Iterator[Path]:
    """Within a folder with the article and its store, return the store. `more` is added to article.yaml.

    What is read there can serve all tests of a file, as far as they change nothing.
    """
    declare(place)
    with (place / "experiments" / "toy" / "article.yaml").open("a") as about:
        about.write(more)
    with chdir(place):
        yield shutil.copytree(toys, place / "results")


def _keep(store: Store, loaded: LoadedExperiment, case: Case, text: str, changed: dict[str, object]) -> Record:
    inputs = {
        "claim": case.claim,
        "arm": case.arm,
        "point": case.point,
        "source_sha256": loaded.source_sha256,
        "network": to_plain(case.network),
        "workload": to_plain(case.workload),
        "probes": to_plain(list(case.probes)),
        "middleboxes": [],
        "kernel": KERNEL,
        "on": "uml",
        "clock": case.clock or "virtual",
        "seed": 1,
        "repeat": 0,
        "tools": {},
    }
    outputs = {
        "capture.sender.eth0.pcap": (DATA / "transfer.pcap").read_bytes(),
        "expert.sender.eth0.txt": b"\nNotes (2)\n=============\n   Frequency      Group           Protocol  Summary\n"
        b"           2   Sequence                TCP  This frame is a (suspected) retransmission\n",
        "notes.txt": text.encode(),
        "qdiscs.after.json": json.dumps(_queue(drops=7 if case.point == "2" else 0)).encode(),
        "qdiscs.before.json": json.dumps(_queue(drops=0)).encode(),
    }
    if loaded.id == "toy/header":
        outputs["capture.receiver.eth0.pcap"] = (DATA / "hole.pcap").read_bytes()
        outputs["early/program.out"] = b"one of several flows\n"
    if loaded.id == "toy/small":
        outputs["capture.sender.eth0.pcap"] = (DATA / "small_writes.pcap").read_bytes()
        outputs["small_writes.json"] = (DATA / "small_writes.json").read_bytes()
    if loaded.id == "toy/rate":
        del outputs["capture.sender.eth0.pcap"]
        outputs["qperf.txt"] = (DATA / "qperf.txt").read_bytes()
        outputs["tcp_info.sender.bin"] = b"".join(_sample(100 * index) for index in range(50))
    with store.stage(Trial(**inputs | changed)) as stage:
        for name, content in outputs.items():
            (stage.out / name).parent.mkdir(exist_ok=True)
            (stage.out / name).write_bytes(content)
        return stage.commit({})


def _queue(drops: int) -> list[dict[str, object]]:
    options = {"delay": "100 ms", "jitter": "0 ns", "loss": 0.0, "duplicate": 0.0, "reorder": 0.0, "limit": 5}
    wire = {"kind": "netem", "options": options | {"rate": "1 Gbit/s", "overhead": "24 B", "seed": "0x2a"}}
    ahead = {"node": "path", "interface": "w0b", "direction": "forward", "packets": 1234, "bytes": 56789}
    back = {"node": "path", "interface": "w0a", "direction": "back", "packets": 1, "bytes": 1}
    return [{**ahead, **wire, "drops": drops}, {**back, **wire, "drops": 0}]


def _sample(at: int) -> bytes:
    """A tcp_info of a connection that gets a byte through each microsecond, `at` x 100 us after its start."""
    info = bytearray(256)
    struct.pack_into("<Q", info, FIELDS["bytes_acked"][0], 100 * at)
    return struct.pack("<qII", 10**18 + 100_000 * at, 1 << 16 | 2, len(info)) + bytes(info)
