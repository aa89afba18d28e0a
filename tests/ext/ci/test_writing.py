"""`lab ci init` writes what a CI system takes, and refuses what it does not understand."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lab.errors import InputError
from lab.ext.ci import writing as ci
from tests.report.ci.test_in_ci import checkout, ran

__all__ = ["checkout"]  # a fixture


@pytest.mark.parametrize(
    ("system", "lab"), [("github", "someone/replab@v1"), ("gitlab", "https://example.org/lab/replab.git")]
)
def test_init_writes_a_file_that_is_yaml(
    system: str, lab: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ci.create(system, lab, "packetdrill run tcp_*")
    plain = YAML(typ="safe").load(file)
    job = plain["jobs"]["lab"] if system == "github" else plain["lab"]
    said = str(job)
    assert lab in said
    assert "packetdrill run tcp_*" in said
    with pytest.raises(InputError, match="already exists"):
        ci.create(system, lab, "run")


@pytest.mark.parametrize(
    ("system", "lab", "command", "said"),
    [
        ("jenkins", "x", "run", "use github or gitlab"),
        ("github", "https://example.org/x", "run", "OWNER/NAME@REF"),
        ("gitlab", "someone/replab@v1", "run", "URL"),
        ("github", "a/b@v1", "clean", "must start with"),
        ("gitlab", "https://example.org/x", "run; rm -r /", "must start with"),
        ("github", "a/b@v1", "run\n- run: x", "must start with"),
    ],
)
def test_what_is_not_understood_is_said(
    system: str, lab: str, command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        ci.create(system, lab, command)
    assert list(tmp_path.iterdir()) == []


def test_the_gitlab_jobs_last_line_is_the_script_of_the_lab(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = YAML(typ="safe").load(Path(ci.create("gitlab", "https://example.org/x", "run tcp-nodelay")))["lab"][
        "script"
    ]
    (checkout.parent / "replab").symlink_to(checkout)
    folder = checkout.parent / "project"
    folder.mkdir()
    status, notes = ran(checkout, "sh", "-c", f"cd project && {script[-1]}")
    assert (status, notes[-1]) == (0, "lab run tcp-nodelay --report junit=lab.xml")
