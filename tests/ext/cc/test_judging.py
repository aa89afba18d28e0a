"""The judge in guests: two cases of a pack of their own, in the terminal, as JSON and as a page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lab.ext.cc import cases
from lab.spec import shipped
from tests.kinds import Type

pytestmark = pytest.mark.guest

CASES = ("one-flow", "bufferbloat")


@pytest.fixture
def shorter(tmp_path: Path) -> None:
    """The current directory's own pack: each transfer takes a third of its time."""
    pack = tmp_path / "packs" / cases.PACK
    shutil.copytree(shipped.packs()[cases.PACK], pack)
    for name in CASES:
        file = pack / "experiments" / "rfc9743" / f"{name}.py"
        text = file.read_text()
        for was, now in (('"15 s"', '"5 s"'), ("4, 14", "2, 4"), ('"20 s"', '"6 s"'), ('"5 s", b', '"2 s", b')):
            text = text.replace(was, now)
        file.write_text(text.replace("5, 19", "2, 5"))


@pytest.mark.usefixtures("shorter")
def test_a_card_in_json_is_the_same_twice_and_knows_what_is_full(type_in: Type, tmp_path: Path) -> None:
    command = f"lab cc reno --quick --case {','.join(CASES)} --json -o card.html"
    first = type_in(command)
    assert first.returncode == 0, first.stderr
    page = (tmp_path / "card.html").read_bytes()
    again = type_in(f"{command} --results again")
    assert again.stdout == first.stdout
    assert (tmp_path / "card.html").read_bytes() == page
    assert b'<svg class="chart"' in page
    full, bloated = json.loads(first.stdout)["cases"]
    assert full["points"]["points"] > 90, "one flow fills a link whose buffer is a bandwidth-delay product"
    assert 0.02 < bloated["value"] < 0.21, "and its queue is shorter than the whole buffer of 205 ms"
