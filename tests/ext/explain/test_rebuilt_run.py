"""A rebuilt transfer runs, comes near the original, and shows what undoing its limit is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from lab.ext.explain import api, display, page
from lab.ext.explain.gains import sentence, transfer_of
from tests.ext.explain.captures import pcap, windows

pytestmark = pytest.mark.guest


def test_a_window_limited_transfer_is_rebuilt_and_a_larger_window_is_worth_most(tmp_path: Path) -> None:
    written, original, again, results = (tmp_path / name for name in ("written.pcap", "original", "again", "results"))
    written.write_bytes(pcap(windows(40, [45] * 12)))
    api.rebuild(written, original)
    (transfer,) = lab.run(original / "experiments" / "original" / "transfer.py", results=results, jobs=1)
    capture = next(each.record.path(each.capture) for each in transfer.tested if each.record)

    api.rebuild(capture, again)
    study = again / "experiments" / "again" / "gains.py"
    drawn = "    samples=10,  # seeds; each draws the losses, and a path a few per cent from the one found\n"
    text = study.read_text()
    assert drawn in text
    study.write_text(text.replace(drawn, "").replace("    drawn=Drawn(),\n", "").replace("Drawn, ", ""))
    for claim in lab.run(again, results=results, jobs=1):
        assert claim.passed, claim

    found, gains = api.explain(capture), api.gains(again, results=results)
    assert gains.verdict == "reproduced"
    assert gains.best is not None
    assert gains.best.change == "a receive buffer twice as large"
    assert "a receive buffer twice as large" in sentence(transfer_of(found, gains), gains)
    assert "a receive buffer twice as large" in page.render(found, gains)
    assert display.plain(found, gains)["gains"]["changes"]
