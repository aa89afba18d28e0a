"""A commit that `lab bisect` found is named wherever the same difference appears again."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from lab.ext.comparison import commits
from lab.ext.comparison.compare import ClaimChange, compare
from lab.ext.comparison.display import Answer
from lab.ext.comparison.page import Changes
from lab.spec.loaded import Commit
from tests.ext.comparison.test_page import CLAIM, PCAP
from tests.kinds import Judge

FOUND = Commit("0123456789ab", "", "tcp: four <bytes> less", ("toy/claim",), "`lab bisect` found it.")


@pytest.fixture
def change(judge: Judge, syn: Callable[..., bytes]) -> Callable[[int], ClaimChange]:
    """What a kernel with that MSS changes."""

    def change(mss: int) -> ClaimChange:
        sides = [judge(CLAIM, {"only": [{PCAP: syn(mss=size)}]}, f"k{size}") for size in (1460, mss)]
        return compare([sides[0]], [sides[1]])[0]

    return change


def test_the_same_difference_has_the_commit(change: Callable[[int], ClaimChange], tmp_path: Path) -> None:
    commits.save(tmp_path, FOUND, change(1456))
    commits.save(tmp_path, FOUND, change(1456))
    found = commits.with_found([change(1456), change(1400)], tmp_path)
    assert [each.commits for each in found] == [(FOUND,), ()]
    shown = Changes(found[:1])
    for text in (shown.overview().text, shown.sections().text):
        assert "Commit <code>0123456789ab</code> <q>tcp: four &lt;bytes&gt; less</q>" in text
    assert found[0].plain()["commits"][0]["commit"] == "0123456789ab"


def test_the_terminal_names_the_commit_once(change: Callable[[int], ClaimChange], tmp_path: Path) -> None:
    commits.save(tmp_path, FOUND, change(1456))
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(Answer(commits.with_found([change(1456)], tmp_path)).render())
    said = console.export_text()
    assert said.count("commit 0123456789ab tcp: four <bytes> less: `lab bisect` found it.") == 1


@pytest.mark.parametrize("content", [b"", b"\0" * 9, b"{}", b"[" * 100_000, b'{"claim": 1}', b"x" * (1 << 21)])
def test_a_file_that_is_no_finding_is_ignored(
    change: Callable[[int], ClaimChange], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / commits.BISECTIONS).mkdir()
    (tmp_path / commits.BISECTIONS / "it.json").write_bytes(content)
    (tmp_path / commits.BISECTIONS / "folder").mkdir()
    assert commits.with_found([change(1456)], tmp_path)[0].commits == ()
