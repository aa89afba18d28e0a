"""`lab import`: what it prints, writes and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lab
from lab.errors import InputError
from tests.ext.importing.test_containerlab import ROUTED, TWO
from tests.kinds import Type


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "two.clab.yml").write_text(TWO)
    (tmp_path / "routed.clab.yml").write_text(ROUTED)
    return tmp_path


def test_what_is_written_passes_the_check(type_here: Type, folder: Path) -> None:
    done = type_here("lab import routed.clab.yml -o topologies/routed.yaml")
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "topologies/routed.yaml: 2 hosts, 3 routers, 1 switch, 5 links; left out: 8"
    checked = type_here("lab check topologies/routed.yaml")
    assert (checked.returncode, checked.stderr) == (0, "no mistakes found\n")
    assert type_here("lab graph routed").returncode == 0
    text = (folder / "topologies" / "routed.yaml").read_text()
    assert all(f"#   {line}" in text for line in done.stderr.splitlines()[:-1])


@pytest.mark.usefixtures("folder")
def test_strict(type_here: Type) -> None:
    assert type_here("lab import --strict two.clab.yml").returncode == 0
    assert type_here("lab import --strict routed.clab.yml").returncode == 2


@pytest.mark.usefixtures("folder")
def test_without_a_file_it_prints_the_topology(type_here: Type) -> None:
    done = type_here("lab import two.clab.yml")
    assert done.stdout.startswith(
        "# Imported from two.clab.yml with `lab import`.\nabout: two, imported from two.clab.yml.\n"
    )
    assert done.stderr == "topology: 2 hosts, 1 link; nothing was left out\n"


@pytest.mark.usefixtures("folder")
def test_json(type_here: Type) -> None:
    answer = json.loads(type_here("lab import routed.clab.yml --json").stdout)
    assert answer["topology"].startswith("# Imported from routed.clab.yml")
    assert answer["untaken"][0] == {
        "file": "routed.clab.yml",
        "line": 2,
        "message": "mgmt: the lab needs no management network",
    }
    assert answer["beside"] == {}


def test_traces_are_written_beside(type_here: Type, folder: Path) -> None:
    (folder / "a.txt").write_text("0 12\n1 6\n")
    assert type_here("lab import a.txt -o made/link.yaml").returncode == 0
    assert {path.name for path in (folder / "made").iterdir()} == {"link.yaml", "link-forward.csv"}
    assert type_here("lab check made/link.yaml").returncode == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("lab import absent.sh", "lab: absent.sh: cannot be read: no such file"),
        ("lab import .", "lab: .: this is no file"),
        ("lab import two.clab.yml -o two.clab.yml", "lab: -o two.clab.yml: this is the file to import"),
        ("lab import two.clab.yml routed.clab.yml", "lab: routed.clab.yml: after a network, give scripts"),
        ("lab import two.clab.yml --set X", "lab: --set X has no name and value; write it as NAME=VALUE"),
        ("lab import two.clab.yml -o two.clab.yml/x.yaml", "cannot write two.clab.yml/x.yaml"),
        (
            "lab import two.clab.yml --time-unit ms",
            "lab: --time-unit ms: two.clab.yml has no columns of times and rates; leave out --time-unit",
        ),
        ("lab import mahimahi --rate-unit kB/s -o x.yaml", "lab: --rate-unit kB/s: mahimahi has no columns of times"),
        ("lab import two.clab.yml --topo x", "lab: --topo x: two.clab.yml is not a Mininet script"),
        ("lab import two.clab.yml --set X=1", "lab: --set X: two.clab.yml is not a shell script; leave it out"),
        ("lab import up.sh --set RTAE=1", "lab: --set RTAE: the script reads no such variable; did you mean 'RATE'?"),
        ("lab import up.sh --set 1=1", "lab: --set 1: the script reads no such variable; use RATE"),
        ("lab import net.py --set X=1", "lab: --set X: net.py is not a shell script; a Mininet script has arguments"),
        ("lab import binary", "is not UTF-8 text"),
        ("lab import prose", "lab: prose:1: this file is not a containerlab file"),
        (
            "lab import units -o x.yaml",
            "lab: units:2: the rate '12mbit' should be a plain number; --rate-unit sets the unit of all rates",
        ),
        ("lab import later -o x.yaml", "lab: later:3: the time '2s' should be a plain number; --time-unit sets"),
        ("lab import empty.sh", "lab: empty.sh:1: describes no host with a link"),
    ],
)
def test_mistakes(type_here: Type, folder: Path, command: str, message: str) -> None:
    (folder / "binary").write_bytes(b"\x00\xff" * 100)
    (folder / "prose").write_text("Dear lab,\n")
    (folder / "units").write_text("# a trace\n0 12mbit\n1 3mbit\n")
    (folder / "later").write_text("0 12\n1 3\n2s 4\n")
    (folder / "mahimahi").write_text("1\n2\n3\n")
    (folder / "up.sh").write_text("tc qdisc add dev eth0 root netem rate ${RATE:-1mbit}\n")
    (folder / "net.py").write_text("from mininet.topo import Topo\n")
    (folder / "empty.sh").write_text("")
    done = type_here(command)
    assert done.returncode in (2, 3)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_function(folder: Path) -> None:
    found = lab.import_topology(folder / "two.clab.yml", out=folder / "two.yaml")
    assert found.untaken == ()
    assert (folder / "two.yaml").read_text() == found.text


def test_a_topology_that_exists_is_not_overwritten(folder: Path) -> None:
    kept = folder / "kept.yaml"
    kept.write_text("mine")
    with pytest.raises(InputError, match=r"kept\.yaml already exists; choose a different name"):
        lab.import_topology(folder / "two.clab.yml", out=kept)
    assert kept.read_text() == "mine"
