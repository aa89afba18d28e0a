"""Claims judged by records that nobody ran: outputs in, what `lab compare` is given out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Raw
from scapy.utils import wrpcap

from lab.guest.clock import Clock
from lab.guest.trial import Trial
from lab.record.store import Store
from lab.spec import find
from lab.units import to_plain
from lab.verdict.judged import JudgedClaim, judge_stored
from tests.frames import ETHERNET
from tests.kinds import Judge

EMULATION: Mapping[str, object] = MappingProxyType({"processes": "seccomp", "changes": []})

HEAD = """
from lab import (
    Arm,
    Capture,
    Exactly,
    Experiment,
    Netcat,
    Reported,
    RequestResponse,
    Size,
    Untestable,
    Within,
    metric,
    model,
)
"""


@pytest.fixture(scope="session")
def syn(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """A capture of one SYN; or of one datagram, with that content."""
    path = tmp_path_factory.mktemp("captures") / "it"

    def syn(isn: int = 1, window: int = 8192, mss: int = 1460, datagram: bytes = b"") -> bytes:
        segment = TCP(dport=1234, seq=isn, flags="S", window=window, options=[("MSS", mss)])
        frame = ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2") / (UDP() / Raw(datagram) if datagram else segment)
        frame.time = 1
        wrpcap(str(path), [frame], linktype=1)
        return path.read_bytes()

    return syn


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges the experiment `declaration` by outputs (file name -> content) of each arm.

    Of several, each is another seed's, in real time another repeat's, all run in the batch of that name.
    """
    article = tmp_path / "experiments" / "toy"
    article.mkdir(parents=True)
    (article / "article.yaml").write_text("title: Toy\nauthor: nobody\ndate: 2026\nurl: unknown\n")
    monkeypatch.chdir(tmp_path)

    def judge(
        declaration: str,
        outputs: Mapping[str, Sequence[Mapping[str, bytes]]],
        kernel: str,
        clock: Clock | Mapping[str, Clock] = "virtual",
        batch: str = "one",
        version: str = "7.2.13-1",
        emulation: Mapping[str, object] | None = EMULATION,
        hz: int = 1000,
    ) -> JudgedClaim:
        (article / "claim.py").write_text(f'"""A claim."""\n{HEAD}\nEXPERIMENT = Experiment({declaration})\n')
        (loaded,) = find.find([str(article / "claim.py")])
        store = Store(tmp_path / kernel)
        described = {"name": kernel, "version": version, "id": kernel, "hz": hz, "patches": []}
        described |= {"emulation": dict(emulation)} if emulation else {}
        for case in loaded.cases():
            by = clock if isinstance(clock, str) else clock.get(case.arm, "virtual")
            for number, files in enumerate(outputs[case.arm]):
                trial = Trial(
                    claim=case.claim,
                    arm=case.arm,
                    point=case.point,
                    source_sha256=loaded.source_sha256,
                    network=to_plain(case.network),
                    workload=to_plain(case.workload),
                    probes=to_plain(list(case.probes)),
                    middleboxes=[],
                    kernel=described,
                    on="uml",
                    clock=by,
                    seed=1 + number if by == "virtual" else 1,
                    repeat=0 if by == "virtual" else number,
                    tools={},
                )
                with store.stage(trial) as stage:
                    for name, content in files.items():
                        (stage.out / name).write_bytes(content)
                    stage.commit({}, host={"batch": batch} if by == "real" else {})
        (judged,) = judge_stored((loaded,), store)
        return judged

    return judge
