"""A kept network is what its files and changes resolve to, and damage or a trace makes the lab resolve again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lab.spec import kept, topology
from lab.spec.changes import Changes

PLAIN = "about: Two hosts.\nhosts: [a, b]\nlinks:\n  wire:\n    ends: [a, b]\n    delay: 1 ms\n"
FASTER = Changes(links={"wire": {"rate": "10 Mbit/s"}})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a topology file, in a place with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "pair.yaml").write_text(PLAIN)
    return tmp_path / "pair.yaml"


def in_cache(file: Path) -> list[Path]:
    """Return the kept networks."""
    return sorted((file.parent / "cache" / "replab" / "networks").glob("*/*.json"))


def test_a_kept_network_is_the_resolved_one(file: Path) -> None:
    first = topology.load(file)
    changed = first.resolve(FASTER)
    assert len(in_cache(file)) == 2
    again = topology.load(file)
    assert again == first
    assert again.resolve(FASTER) == changed != again.network
    assert again.about == "Two hosts."
    assert again.document.line(("links", "wire", "delay")) == 6
    assert len(in_cache(file)) == 2


def test_other_text_is_another_network(file: Path) -> None:
    before = topology.load(file).network
    file.write_text(PLAIN.replace("1 ms", "2 ms"))
    assert topology.load(file).network != before


def test_damage_makes_the_lab_resolve_again(file: Path) -> None:
    before = topology.load(file)
    (found,) = in_cache(file)
    for damage in (b"", b"{}", b"\xff", b'{"about": "x", "network": 3}'):
        found.write_bytes(damage)
        assert topology.load(file) == before


def test_other_code_is_another_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology.load(file)
    monkeypatch.setattr(kept, "_code", lambda: "other")
    topology.load(file)
    assert len(in_cache(file)) == 2


def test_a_network_with_a_trace_is_not_kept(file: Path) -> None:
    (file.parent / "cell.trace").write_text("1\n2\n5\n")
    file.write_text(PLAIN + "    forward: {trace: cell.trace}\n")
    before = topology.load(file).network
    (file.parent / "cell.trace").write_text("1\n5\n")
    assert topology.load(file).network != before
    assert in_cache(file) == []


def test_the_folder_has_a_bound(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST", 2)
    loaded = topology.load(file)
    for ms in range(5):
        assert loaded.resolve(Changes(links={"wire": {"delay": f"{ms} ms"}})).links
    assert len(in_cache(file)) == 2


def test_what_other_code_kept_goes_after_a_month(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, now = file.parent / "cache/replab/networks", time.time()
    for code, days in (("first", 31), ("second", 29)):
        monkeypatch.setattr(kept, "_code", lambda code=code: code)
        before = set(place.iterdir()) if place.exists() else set()
        topology.load(file)
        (fresh,) = set(place.iterdir()) - before
        os.utime(fresh, (now, now - days * 86400))
    monkeypatch.setattr(kept, "_code", lambda: "third")
    topology.load(file)
    assert len(in_cache(file)) == 2
