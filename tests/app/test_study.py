"""A study of real guests: one trial gives all figures of its arm, and a page and a table show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kinds import Type

pytestmark = pytest.mark.guest

TOPOLOGY = """\
about: One link.
hosts: [sender, receiver]
links:
  path: {ends: [sender, receiver], rate: 10 Mbit/s, forward: {limit: 10000}}
"""
STUDY = '''\
"""How much of 10 Mbit/s does a transfer get, and how many bytes of each header are TCP's?"""

from lab import Arm, Bulk, Capture, Study, metric, model

EXPERIMENT = Study(
    topology="ten",
    workload=Bulk(duration="1 s"),
    probes=(Capture(node="sender"),),
    metrics={"goodput": metric.bulk_goodput(), "header": metric.header_length()},
    predictions={"goodput": model.goodput_bulk},
    arms=(Arm("timestamps"), Arm("none", sysctls={"net.ipv4.tcp_timestamps": 0})),
    samples=2,
)
'''


def test_a_study_runs_and_shows_its_figures(type_in: Type, tmp_path: Path) -> None:
    for name, text in {"topologies/ten.yaml": TOPOLOGY, "experiments/mine/ten.py": STUDY}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "experiments/mine/article.yaml").write_text('title: Mine\nauthor: me\ndate: ""\nurl: unknown\n')

    ran = type_in("lab run mine/ten --json")
    assert ran.returncode == 0, ran.stderr
    (claim,) = json.loads(ran.stdout)["claims"]
    figures = {(each["arm"], each["figure"]): each for each in claim["results"]}
    assert claim["verdict"] == "measured"
    assert [figures[arm, "header"]["measured"] for arm in ("timestamps", "none")] == [32, 20]
    # 1448 of 1538 bytes of a frame are the application's; in one second, the first round trip and the last frame count
    assert figures["timestamps", "goodput"]["measured"] == pytest.approx(1e7 * 1448 / 1538, rel=0.01)
    assert figures["timestamps", "goodput"]["why_not_predicted"] is None
    assert figures["timestamps", "goodput"]["model_error"] == pytest.approx(0, abs=0.005)
    assert figures["none", "goodput"]["trials"] == figures["none", "header"]["trials"]
    assert len({trial for each in claim["results"] for trial in each["trials"]}) == 4

    shown = type_in("lab show mine/ten")
    assert "Why" not in shown.stdout
    assert "header" in shown.stdout
    assert "measured" in shown.stdout

    assert type_in("lab report -o pages").returncode == 0
    page = (tmp_path / "pages" / "mine.html").read_text()
    assert "does a transfer get, and how many bytes" in page
    assert 'id="mine.ten.spread"' in page
