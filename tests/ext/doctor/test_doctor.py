from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lab.ext.doctor import checks as doctor
from lab.ext.doctor.checks import Check
from lab.machine.kernel.vm import qemu
from lab.machine.userland import cache as userlands
from lab.runner import tools
from lab.units import Size
from tests.terminal import printed

pytestmark = pytest.mark.tries(*doctor.TOOLS, *tools.PROGRAMS.values(), qemu.PROGRAM, "cc")


@pytest.fixture(autouse=True)
def no_kernel(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.node.get_closest_marker("guest"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check(name: str, results: Path) -> Check:
    """Return one check of the report, without the checks that start other programs for a second of CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "TOOLS", {tool: asked for tool, asked in doctor.TOOLS.items() if tool == name})
        patch.setattr(doctor, "_host", lambda: Check("host", True, "left out"))
        patch.setattr(doctor, "_vm", list)
        if name != "mininet":
            patch.setattr(doctor, "_mininet", list)
        return next(check for check in doctor.report(results) if check.name == name)


def test_whatever_is_amiss_has_a_cure(tmp_path: Path) -> None:
    checks = doctor.report(tmp_path / "results")
    assert len({check.name for check in checks}) == len(checks)
    assert all(check.detail and bool(check.cure) == (check.ok is not True) for check in checks)


def test_a_missing_kernel_is_named_with_the_command_that_builds_it(tmp_path: Path) -> None:
    for name in ("kernel", "guest"):
        found = check(name, tmp_path)
        assert found.ok is False
        assert "lab kernel build" in found.cure


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = check("ping", tmp_path)
    assert found.ok is None  # guests have their own
    assert found.detail.startswith("ping is not installed: only --on host")
    assert "iputils-ping" in found.cure


def test_a_missing_mininet_does_not_send_the_reader_round_in_a_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = check("mininet", tmp_path)
    if found.ok is None:
        assert found.detail.startswith("mininet is not installed: only")
        assert "doctor" not in found.detail + found.cure


@pytest.mark.needs("ethtool")
def test_a_tool_outside_of_an_ordinary_users_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert check("ethtool", tmp_path).ok


def test_make_setup_host_installs_whatever_the_doctor_can_miss() -> None:
    provision = (Path(__file__).parents[3] / "tools/provision").read_text()
    (listed,) = re.findall(r'^host_packages="([^"]*)"', provision, re.MULTILINE)
    packages = set(listed.split())
    assert {package for _, package in doctor.TOOLS.values()} <= packages


def test_a_tool_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "qperf"
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(doctor, "SECONDS", 0.3)
    found = check("qperf", tmp_path)
    assert found.ok is None
    assert "0.3 s" in found.detail


def test_results_that_cannot_be_written_are_told_before_a_run() -> None:
    found = check("results", Path("/proc/results"))
    assert found.ok is False
    assert "--results" in found.cure


def test_the_table_fits_80_columns_and_loses_nothing() -> None:
    checks = [
        Check("guest", False, "x" * 200, "y" * 200),
        Check("KVM", None, "none", "buy one"),
        Check("CPUs", True, "2"),
    ]
    out = printed(doctor.render(checks))
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert (out.count("x"), out.count("y")) == (203, 203)  # some are in our own words
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["no", "-", "ok", "Fix"]


def test_a_missing_userland_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    found = check("userland", tmp_path)
    assert found.ok is False
    assert "lab userland build" in found.cure


@pytest.mark.guest
def test_an_altered_userland_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = userlands.find("guest")
    place = tmp_path / "replab" / "userlands" / found.id
    shutil.copytree(found.tree.parent, place, symlinks=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert check("userland", tmp_path).ok is True
    hosts = place / "root/etc/hosts"
    hosts.unlink()
    hosts.write_text("1.2.3.4 localhost\n")
    told = check("userland", tmp_path)
    assert told.ok is False
    assert "altered" in told.detail
    assert told.cure == f"remove {place}, then run `lab userland build`"


@pytest.mark.guest
def test_a_guest_is_really_booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("kernel", tmp_path).ok is True
    assert "boots" in check("guest", tmp_path).detail
    monkeypatch.setattr(doctor, "MEMORY", Size.of("4 MiB"))
    starved = check("guest", tmp_path)
    assert starved.ok is False
    assert "memory" in starved.detail  # the console's own words
