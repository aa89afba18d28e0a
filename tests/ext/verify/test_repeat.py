"""What keeps a recorded trial from running again is said, with what makes up for it, and is no difference of bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lab.errors import LabError, MachineError
from lab.ext.verify import verification
from lab.ext.verify.repeat import repeat
from lab.machine.kernel import Budget, GuestCrash, GuestHost, GuestTimeout
from lab.machine.userland import cache as userlands
from lab.machine.userland.cache import MANIFEST, TREE
from lab.machine.userland.lock import locked
from lab.machine.userland.manifest import manifest
from lab.record.store import Store
from lab.runner.guest import KEPT, TrialFailed
from tests.ext.cluster.test_campaign_parts import Stub
from tests.record.test_store import record


class Unwatched:
    """A progress that nobody looks at."""

    def started(self, *_: object) -> None: ...

    def ended(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("userland", "cure"),
    [
        (locked("guest").id, "run `lab userland build guest`, then retry"),
        ("f" * 16, "run the lab version that made these records"),
    ],
    ids=["that this lab locks", "of another lab"],
)
def test_a_userland_that_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, userland: str, cure: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernel = Stub()
    kept = record(Store(tmp_path / "results"), kernel=kernel.describe(), userland=userland)
    (said,) = repeat([kept], tmp_path / "again", 1, Budget(), Unwatched(), given=[kernel]).values()
    assert f"userland {userland} is not here; {cure}" in str(said)


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (MachineError("no room"), "not repeated", 3),
        (TrialFailed("the disk is full", 3), "not repeated", 3),
        (GuestHost("no memory", Path("console.log")), "not repeated", 3),
        (GuestTimeout("not within 900 s", Path("console.log")), "not repeated", 3),
        (TrialFailed("ping failed", 1), "differs", 1),
        (GuestCrash("it panicked", Path("console.log")), "differs", 1),
    ],
)
def test_only_what_the_trial_does_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: LabError, outcome: str, code: int
) -> None:
    kept = record(Store(tmp_path), userland="f" * 16, tools={"lab": "0" * 16})
    monkeypatch.setattr(verification, "repeat", lambda *_: {kept.address: error})
    found = verification.verify(tmp_path, 1, Budget())
    assert ([each.outcome for each in found.checked], found.exit_code) == ([outcome], code)
    assert str(error) in found.checked[0].detail


def test_a_console_that_is_not_kept_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in a scratch folder goes, and the consoles of failed trials with it; any other store keeps them."""

    def dying(_: object, folder: Path, *__: object, **___: object) -> None:
        console = folder / "console.log"
        console.write_text("booting\nits last line\n")
        raise GuestCrash("it died", console)

    monkeypatch.setattr("lab.runner.guest.Guest", dying)
    kernel, store = Stub(), Store(tmp_path / "results")
    monkeypatch.setattr("lab.ext.verify.repeat._check", lambda *_: None)
    kept = record(store, kernel=kernel.describe())
    with store.scratch() as scratch:
        (told,) = repeat([kept], scratch, 1, Budget(), Unwatched(), given=[kernel]).values()
    assert str(told) == "it died; its last line: its last line"
    (told,) = repeat([kept], tmp_path / "again", 1, Budget(), Unwatched(), given=[kernel]).values()
    (console,) = (tmp_path / "again" / KEPT).iterdir()
    assert str(told) == f"it died; its console is in {console}"


def test_no_trial_runs_in_a_userland_that_was_altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fresh = tmp_path / "fresh"
    (fresh / TREE / "usr/bin").mkdir(parents=True)
    (fresh / TREE / "usr/bin/ping").write_text("#!/bin/sh\n")
    (fresh / MANIFEST).write_text(manifest(fresh / TREE))
    ident = hashlib.sha256((fresh / MANIFEST).read_bytes()).hexdigest()[:16]
    userlands.folder().mkdir(parents=True)
    userlands.adopt(fresh, ident)
    kernel = Stub()
    kept = record(Store(tmp_path / "results"), kernel=kernel.describe(), userland=ident)
    monkeypatch.setattr("lab.runner.schedule.run_in_guest", lambda *_: TrialFailed("it ran", 1))

    def said() -> str:
        (told,) = repeat([kept], tmp_path / "again", 1, Budget(), Unwatched(), given=[kernel]).values()
        return str(told)

    assert said() == "it ran"
    with (userlands.folder() / ident / TREE / "usr/bin/ping").open("r+b") as file:
        file.write(b"#?")
    assert said().startswith(f"userland {ident} was altered (at least usr/bin/ping); remove ")
    monkeypatch.setattr(
        "lab.ext.verify.verification.repeat",
        lambda *asked: repeat(asked[0], asked[1], 1, Budget(), Unwatched(), [kernel]),
    )
    found = verification.verify(tmp_path / "results", 1, Budget())
    assert ([each.outcome for each in found.checked], found.exit_code) == (["not repeated"], 3)
