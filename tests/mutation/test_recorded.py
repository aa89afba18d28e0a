"""What a planted kernel sent, without building it: a capture of one arm of a shipped claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.guest import outputs
from lab.guest.trial import Trial
from lab.record.store import Store
from lab.spec import find
from lab.units import to_plain
from lab.verdict import Result
from lab.verdict.judged import judge_records
from lab.verdict.predictions import Predictions

RECORDED = Path(__file__).parents[1] / "data" / "mutation"
CLAIM, ARM = "ack-rate/quickack-interactive", "unread"


def judged(capture: Path, folder: Path) -> Result:
    """The arm's result by this capture, of a kernel that says of itself what the sound one does."""
    (claim,) = find.find([CLAIM])
    case = next(case for case in claim.cases() if case.arm == ARM)
    kernel = {"name": "7.2", "version": "7.2.13-1", "id": "7.2", "hz": 1000, "patches": []}
    trial = Trial(
        claim=case.claim,
        arm=case.arm,
        point=case.point,
        source_sha256=claim.source_sha256,
        network=to_plain(case.network),
        workload=to_plain(case.workload),
        probes=to_plain(list(case.probes)),
        middleboxes=[],
        kernel=kernel,
        on="uml",
        clock="virtual",
        seed=1,
        repeat=0,
        tools={},
    )
    with Store(folder).stage(trial) as stage:
        (stage.out / outputs.capture("receiver", "eth0")).write_bytes(capture.read_bytes())
        record = stage.commit({})
    return judge_records([case], [record], kernel, "virtual", Predictions(None, "", "")).results[0]


@pytest.mark.parametrize(("name", "measured"), [("7.2", 0.0405), ("delayed-ack-41-ms", 0.0415)])
def test_a_delayed_ack_of_another_kernel_is_caught(name: str, measured: float, tmp_path: Path) -> None:
    result = judged(RECORDED / f"unread.{name}.pcap", tmp_path)
    assert result.measured
    assert result.measured.number == pytest.approx(measured, rel=0.001)
    assert result.model_is_off is (name != "7.2")
