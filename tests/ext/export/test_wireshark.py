"""tshark shows a capture with the profile's columns and colours."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.ext.export import api, wireshark
from tests.ext.export.conftest import DATA


@pytest.mark.needs("tshark")
def test_tshark_shows_the_columns_and_knows_the_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.export_wireshark(tmp_path) == tmp_path / "profiles" / "replab"
    monkeypatch.setenv("WIRESHARK_CONFIG_DIR", str(tmp_path))
    colours = " || ".join(f"({chosen})" for _, chosen, *_ in wireshark._COLOURS)
    wanted = f"tcp.len > 0 && (tcp || {colours})"
    shown = _tshark("-C", "replab", "-r", str(DATA / "lossy.pcap"), "-T", "tabs", "-Y", wanted)
    first = [each.strip() for each in shown.splitlines()[0].split("\t") if each.strip() != "\N{RIGHTWARDS ARROW}"]
    columns = dict(zip([title for title, _ in wireshark._COLUMNS], first, strict=True))
    assert columns["Flow"] == "0"
    assert columns["Source"] == "10.0.1.1"
    assert columns["Seq"] == "1", "relative numbers"
    assert columns["Len"] == "1448"
    assert columns["Header"] == "32"
    assert columns["In flight"] == "1448"
    assert "A" in columns["Flags"]


def test_every_colour_has_a_line_of_its_own(tmp_path: Path) -> None:
    assert not any("@" in name + chosen for name, chosen, *_ in wireshark._COLOURS), "it separates the fields"
    lines = (wireshark.write(tmp_path) / "colorfilters").read_text().splitlines()
    assert len(lines) == len(wireshark._COLOURS) + 1


def test_another_profile_stays(tmp_path: Path) -> None:
    other = tmp_path / "profiles" / "other" / "preferences"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    first = wireshark.write(tmp_path)
    assert other.read_text() == "mine"
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    assert {path.name: path.read_bytes() for path in wireshark.write(tmp_path).iterdir()} == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot write"):
        wireshark.write(tmp_path / "file")


def _tshark(*arguments: str) -> str:
    return subprocess.run(["tshark", "-n", *arguments], check=True, capture_output=True, text=True).stdout
