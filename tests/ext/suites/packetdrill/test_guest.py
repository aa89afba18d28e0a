"""Scripts run in guests: each event at its microsecond, the same bytes beside a busy machine, mistakes side by side."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import lab.machine.kernel
from lab.base import cache as caches
from lab.base.building import Silent
from lab.ext.suites.packetdrill import builder
from lab.ext.suites.packetdrill.api import packetdrill
from lab.ext.suites.packetdrill.builder import PacketdrillBuildFailed
from lab.ext.suites.packetdrill.running import ScriptRuns
from lab.machine.kernel import UmlKernel
from lab.machine.packetdrill import Packetdrill, find
from lab.machine.userland import cache as userlands
from lab.record.store import Store

pytestmark = pytest.mark.guest

ROOT = Path(__file__).parents[4]
SOURCE = ROOT.parent / "shared" / "third-party" / "packetdrill.tar.xz"
PATCH = Path(__file__).parent / "rto-min-190-ms.patch"

LISTEN = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
"""
DEFAULTS = "#!/bin/sh\nsysctl -q net.ipv4.tcp_rmem='4096 540000 15728640' net.ipv4.tcp_timestamps=1\n"
EXACT = f"// An acknowledgement of two segments comes at once.\n`./defaults.sh`\n{LISTEN}"
EXACT += "+.1 < P. 1:2001(2000) ack 1 win 257\n+0 > . 1:1(0) ack 2001\n"
TIMEOUT = "// The first retransmission comes after 200 ms and more.\n--ip_version=ipv4\n`./defaults.sh`\n"
TIMEOUT += LISTEN.replace("+.1 < . ", "+.01 < . ")  # to 100 ms of round trip it adds 200, whatever the minimum
TIMEOUT += "+.1 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.2~+.4 > P. 1:1001(1000) ack 1\n"
LOOSE = EXACT.replace("+0 > S.", "+.002 > S.")
WRONG = EXACT.replace("ack 2001\n", "ack 1001\n")


@pytest.fixture(scope="module")
def program() -> Packetdrill:
    """packetdrill, of the source that is here."""
    if not SOURCE.exists():
        pytest.skip(f"needs packetdrill's source, {SOURCE}")
    return builder.build(SOURCE, Silent())


@pytest.fixture
def run(program: Packetdrill, kernel: UmlKernel, tmp_path: Path) -> Callable[..., ScriptRuns]:
    """Runs scripts by name and text, in a store of their own."""

    def perform(store: str = "results", **scripts: str) -> ScriptRuns:
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "defaults.sh").write_text(DEFAULTS)
        for name, text in scripts.items():
            (folder / f"{name}.pkt").write_text(text)
        assert find() == program
        words = [str(folder / f"{name}.pkt") for name in scripts]
        return packetdrill(*words, kernel=kernel.id, results=tmp_path / store)

    return perform


def test_the_same_source_makes_the_same_program(
    program: Packetdrill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = program.path
    for kept in userlands.folder().parent.glob("*"):
        if kept.name != "packetdrill":
            (tmp_path / "replab").mkdir(exist_ok=True)
            (tmp_path / "replab" / kept.name).symlink_to(kept)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    again = builder.build(SOURCE, Silent())
    assert again == program
    assert again.path != first
    assert again.path.read_bytes() == first.read_bytes()
    assert sorted(file.name for file in again.path.parents[1].iterdir()) == [program.id, "lock"]


def test_a_source_that_the_patches_do_not_fit_leaves_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("packetdrill.c", "run.c", "Makefile.Linux", "Makefile.common"):
        (other / name).write_text("all:\n")
    with pytest.raises(PacketdrillBuildFailed, match=r"0001-sleep-until-an-event\.patch does not apply"):
        builder.build(other, Silent())
    assert not list(caches.folder("packetdrill").glob(".build*"))


def test_every_event_comes_at_its_microsecond(run: Callable[..., ScriptRuns]) -> None:
    found = run(exact=EXACT, timeout=TIMEOUT)
    assert found.exit_code == 0
    exact, timeout = found.scripts
    assert exact.exact
    assert [each.run.version for each in exact.runs] == ["ipv4", "ipv6", "ipv4-mapped-ipv6"]
    assert {moment.off for each in exact.runs for moment in each.run.moments} == {0}
    (ipv4,) = timeout.runs
    assert ipv4.passed


def test_a_script_that_fails_shows_both_packets(run: Callable[..., ScriptRuns]) -> None:
    found = run(wrong=WRONG)
    assert found.exit_code == 1
    for each in found.scripts[0].runs:
        assert each.complaint is not None
        assert each.complaint.line == WRONG.splitlines().index("+0 > . 1:1(0) ack 1001") + 1
        assert "ack 1001" in each.complaint.expected
        assert "ack 2001" in each.complaint.seen
    (case,) = found.cases()
    assert case.outcome == "failed"
    assert [part.outcome for part in case.parts] == ["failed"] * 3


def test_a_loose_script_passes_by_its_own_tolerance_alone(run: Callable[..., ScriptRuns]) -> None:
    (judged,) = run(loose=LOOSE).scripts
    assert judged.passed
    assert not judged.exact
    worst = judged.runs[0].run.worst
    assert worst is not None
    assert worst.off == -2000


def test_the_same_bytes_on_a_busy_machine(
    run: Callable[..., ScriptRuns], busy: Callable[[], AbstractContextManager[None]], tmp_path: Path, times: int
) -> None:
    """As often as --times says: 20 for the figures in docs/packetdrill.md."""
    kept: dict[str, set[str]] = {}
    for number in range(times):
        if number % 2:
            with busy():
                run(store=str(number), exact=EXACT, timeout=TIMEOUT, wrong=WRONG)
        else:
            run(store=str(number), exact=EXACT, timeout=TIMEOUT, wrong=WRONG)
        for record in Store(tmp_path / str(number)):
            for name, output in record.outputs.items():
                kept.setdefault(f"{record.trial.claim} {name}", set()).add(output.sha256)
    assert len(kept) == 3 * 3 + 2 * (3 + 1 + 3)
    assert [name for name, contents in kept.items() if len(contents) > 1] == []


@pytest.mark.kernels
def test_a_wrong_timeout_is_found(run: Callable[..., ScriptRuns], kernel: UmlKernel, tmp_path: Path) -> None:
    """10 ms of 200 ms are less than packetdrill's own tolerance, 12.5 %: a comparison sees them."""
    planted = lab.machine.kernel.build(f"{kernel.name}-rto-min-190-ms", [PATCH])
    run(timeout=TIMEOUT)
    script = str(tmp_path / "mine" / "timeout.pkt")
    found = packetdrill(script, kernel=planted.id, base=kernel.id, results=tmp_path / "results")
    assert found.scripts[0].passed
    (shift,) = found.shifts
    assert shift.line == TIMEOUT.count("\n")
    assert found.exit_code == 1
