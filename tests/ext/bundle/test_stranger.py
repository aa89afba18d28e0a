"""`lab verify FILE` of a stranger's bundle, whose hashes are right, writes nothing where its records want it to."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.base.building import Silent
from lab.ext.bundle import writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.part import RESULTS, Part
from lab.ext.verify.api import verify
from lab.machine.kernel import GuestCrash
from lab.record.record import Record
from lab.record.store import Store
from tests.ext.cluster.test_campaign_parts import Stub
from tests.forged import forge
from tests.record.test_declared import flow_named, source_named
from tests.record.test_store import files, record

ABOUT = About("a record", "that wants to write", "2026-01-02", "0.1.0")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder, with a file that starts with each shell."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".bashrc").write_text("# mine\n")
    return tmp_path / "home"


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record can be repeated here, in a guest that dies."""

    def die(_: object, folder: Path, *__: object, **___: object) -> None:
        console = folder / "console.log"
        console.write_text("booting\n")
        raise GuestCrash("it died", console)

    monkeypatch.setattr("lab.runner.guest.Guest", die)
    monkeypatch.setattr("lab.runner.guest.sealed", lambda _: type("Root", (), {"python": "python3"}))
    monkeypatch.setattr("lab.ext.verify.repeat._check", lambda *_: None)
    monkeypatch.setattr("lab.ext.verify.repeat.installed_kernels", lambda: [Stub()])


def bundled(kept: Record, out: Path) -> Path:
    """A bundle with this record alone."""
    with zipfile.ZipFile(out.with_name("program.zip"), "w") as zipped:
        zipped.writestr("__main__.py", "")
        zipped.comment = b"0" * 64
    part = Part(f"{RESULTS}/{kept.address[:2]}/{kept.address}", kept.folder, "a record")
    writer.write(out, [part], ABOUT, out.with_name("program.zip"), Silent())
    return out


def arm_named(name: str) -> Change:
    return lambda plain: plain.update(arm=name)


WRITES: dict[str, Callable[[Path], Change]] = {
    "a source": lambda home: source_named(str(home / ".bashrc")),
    "a program": lambda home: flow_named(str(home / "bin")),
    "a console": lambda home: arm_named(f"x/../../../../../../../../../..{home}/evil"),
}


@pytest.mark.usefixtures("dying")
@pytest.mark.parametrize("change", WRITES.values(), ids=WRITES)
def test_a_strangers_bundle_writes_nothing_outside(
    tmp_path: Path, home: Path, change: Callable[[Path], Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = forge(record(Store(tmp_path / "theirs"), kernel=Stub().describe()), change(home))
    file = bundled(kept, tmp_path / "claims.tar.zst")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = verify(file, jobs=1)
    assert files(home) == [".bashrc"]
    assert (home / ".bashrc").read_text() == "# mine\n"
    assert [(each.outcome, found.exit_code) for each in found.checked] == [("damaged", 1)]
