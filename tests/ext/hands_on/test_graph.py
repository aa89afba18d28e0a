"""`lab graph`: what a person sees of a topology, in text and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import LabError
from lab.spec import find

SVG = "{http://www.w3.org/2000/svg}"
LAN = """
about: Three hosts on a switch, one of them slow.
hosts: [alice, bob-with-a-rather-long-name, carol]
switches: [lan]
links:
  a: {ends: [alice, lan], rate: 1 Gbit/s}
  b: {ends: [bob-with-a-rather-long-name, lan], rate: 1 Gbit/s}
  c: {ends: [carol, lan], forward: {rate: 1 Mbit/s, loss: 1 %}, back: {rate: 8 Mbit/s, delay: 3 ms}}
"""


def run(*args: str | Path) -> str:
    result = CliRunner().invoke(app, ["graph", *map(str, args)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def drawn(svg: Path) -> tuple[list[str], int, int]:
    """The texts of a picture, and its numbers of boxes and lines."""
    root = ElementTree.parse(svg).getroot()
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    links = [*root.iter(f"{SVG}line"), *root.iter(f"{SVG}path")]  # a second link between two nodes is bent
    boxes = [each for each in root.iter(f"{SVG}rect") if each.get("class") != "ground"]
    return texts, len(boxes), len(links)


@pytest.fixture
def lan(tmp_path: Path) -> Path:
    file = tmp_path / "lan.yaml"
    file.write_text(LAN)
    return file


def test_every_topology_is_drawn_in_80_columns_and_as_svg(tmp_path: Path) -> None:
    for name in find.topologies():
        network = find.topology(name).network
        text = run(name, "-o", tmp_path / "it.svg")
        texts, boxes, lines = drawn(tmp_path / "it.svg")
        assert all(len(line) <= 80 for line in text.splitlines()), name
        assert (boxes, lines) == (len(network.nodes), len(network.links) + len(network.overlays)), name
        nodes = {node.name for node in network.nodes}
        assert [each for each in nodes if each not in text or each not in texts] == [], name
        assert [link.name for link in network.links if link.name not in text] == [], name


def test_each_direction_says_what_it_does(lan: Path) -> None:
    said = run(lan)
    assert "↔ 1 Gbit/s" in said
    assert "← 1 Mbit/s, loss 1 %" in said, "seen from the switch, which is nearer to the first host"
    assert "→ 8 Mbit/s, delay 3 ms" in said
    assert said.count("alice") == 1, "a tree names each node once"


def test_the_json_is_the_network_that_a_trial_gets(lan: Path, tmp_path: Path) -> None:
    svg = tmp_path / "lan.svg"
    plain = json.loads(run(lan, "--json", "-o", svg))
    assert [node["name"] for node in plain["topology"]["nodes"]] == [
        "alice",
        "bob-with-a-rather-long-name",
        "carol",
        "lan",
    ]
    assert plain["svg"] == str(svg)
    assert plain["topology"]["links"][2]["back"]["delay"] == "3 ms"


def test_what_cannot_be_written_or_found_is_the_users_mistake(tmp_path: Path) -> None:
    for args, message in (
        (["lossy", "-o", tmp_path / "no" / "x.svg"], "there is no folder"),
        (["losy"], "did you mean 'lossy'"),
    ):
        with pytest.raises(LabError, match=message) as error:
            CliRunner().invoke(app, ["graph", *map(str, args)], catch_exceptions=False)
        assert error.value.exit_code == 2
