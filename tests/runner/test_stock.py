"""A distribution's kernel, unmodified, performs the same trials: in counted instructions, to the byte."""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import model
from lab.base.building import Silent
from lab.guest import outputs
from lab.guest.network import Network
from lab.guest.probe import Capture
from lab.guest.saturation import SATURATED
from lab.guest.trial import Trial, canonical
from lab.guest.workload import Bulk, Ping
from lab.machine.kernel import Budget, boot
from lab.machine.kernel.vm import qemu, stock
from lab.metric import bulk_goodput, window_plateau
from lab.model.mss import mss
from lab.record.identity import first_difference
from lab.record.record import Record
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import Duration, Size, from_plain, to_plain
from lab.verdict import fidelity
from tests.kinds import Perform

pytestmark = [
    pytest.mark.guest,
    pytest.mark.needs(qemu.PROGRAM, "cc", "ip", "ping", "tcpdump"),
]


@pytest.fixture(scope="module")
def shipped() -> stock.StockKernel:
    """The newest kernel that was fetched, else the newest that the mirror has."""
    return next(iter(stock.installed()), None) or stock.fetch(None, Silent())


@contextmanager
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """QEMU's main loop wakes again and again, as it does by chance on a busy host: somebody asks it how it is.

    Yields how often each run was asked.
    """
    plain, asked = qemu.command, [0]
    with tempfile.TemporaryDirectory() as folder:  # a socket's path is short
        place = f"{folder}/monitor"

        def command(*arguments: Any) -> tuple[str, ...]:
            return (*plain(*arguments), "-qmp", f"unix:{place},server=on,wait=off")

        def ask() -> None:
            while not Path(place).exists():
                if ended.wait(0.05):
                    return
            with socket.socket(socket.AF_UNIX) as monitor, suppress(OSError):
                monitor.connect(place)
                monitor.recv(4096)
                monitor.sendall(b'{"execute": "qmp_capabilities"}')
                while monitor.recv(4096) and not ended.wait(0.0002):
                    monitor.sendall(b'{"execute": "query-status"}')
                    asked[0] += 1

        ended = threading.Event()
        asking = threading.Thread(target=ask)
        monkeypatch.setattr(qemu, "command", command)
        asking.start()
        try:
            yield asked
        finally:
            ended.set()
            asking.join()
            monkeypatch.undo()


def test_a_transfer_is_the_networks_and_the_same_to_the_byte(
    perform: Perform, shipped: stock.StockKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever wakes QEMU meanwhile: without `turns`, each wake may move its time by some hundred ns."""

    def transfer(name: str) -> Record:
        return perform(
            "two-hosts",
            Bulk(duration=Duration.of("500 ms")),
            [Capture(node="sender")],
            links={"path": {"rate": "50 Mbit/s"}},
            on=shipped,
            clock="virtual",
            into=tmp_path / name,
        )

    first = transfer("first")
    with woken(monkeypatch) as asked:
        second = transfer("second")
    assert asked[0] > 200
    assert first.invalid == ()
    assert shipped.release in first.environment["kernel"]
    assert first.environment["cpu_busy"] < SATURATED
    assert bulk_goodput()(first).number == pytest.approx(50e6 * 1448 / 1538, rel=0.002)
    assert first_difference(first, second) == ""


@pytest.mark.nightly
def test_a_flow_faster_than_the_cpu_does_not_count(
    perform: Perform, shipped: stock.StockKernel, tmp_path: Path
) -> None:
    record = perform(
        "two-hosts",
        Bulk(duration=Duration.of("100 ms")),
        links={"path": {"rate": "40 Gbit/s", "delay": "0 ms"}},
        on=shipped,
        clock="virtual",
        into=tmp_path / "results",
    )
    assert any("CPU was busy" in reason for reason in record.invalid)


@pytest.mark.nightly
def test_the_window_is_that_of_its_configuration(perform: Perform, shipped: stock.StockKernel, tmp_path: Path) -> None:
    """A distribution's kernel leaves more room for headers than a user-mode one, so its packets cost more memory."""
    record = perform(
        "two-hosts",
        Bulk(duration=Duration.of("1 s")),
        [Capture(node="sender", snap=Size(96))],
        links={"path": {"rate": "100 Mbit/s", "delay": "10 ms"}},
        sysctls={"net.ipv4.tcp_rmem": "4096 131072 262144"},
        on=shipped,
        clock="virtual",
        into=tmp_path / "results",
    )
    trial = record.trial
    assert trial.kernel["max_header"] == shipped.max_header > 32
    network, kernel = from_plain(trial.network, Network), model.KernelTraits.of(trial.kernel)
    asked = model.Scenario.of(network, ("sender", "receiver"), kernel, Bulk())
    segment = mss(asked)  # as much as may lie queued when the window grows for the last time
    assert window_plateau()(record).number == pytest.approx(model.window_plateau(asked).number, abs=segment)
    small = replace(asked, kernel=replace(kernel, max_header=32))
    assert model.window_plateau(small).number > window_plateau()(record).number + 5 * segment


# As `lab run --on host` does it, but for the command line: a guest has no use for that.
ON_HOST = """
import sys
from pathlib import Path
from lab.machine.kernel import Budget, boot
from lab.machine.kernel.host import running

command = [sys.executable, "-m", "lab.guest.perform", "."]
ended = boot(running.find(), Path("trial"), command, clock="real", budget=Budget(wall=60.0))
sys.exit(ended.status)
"""


@pytest.mark.nightly
def test_its_own_namespaces_carry_trials(shipped: stock.StockKernel, tmp_path: Path) -> None:
    """--on host, where the running kernel is a distribution's: the doctor's probe, then a trial that is watched."""
    network = find.topology("two-hosts").resolve(Changes(links={"path": {"delay": "10 ms"}}))
    trial = Trial(
        claim="test/trial",
        arm="only",
        point="",
        source_sha256="",
        network=to_plain(network),
        workload=to_plain(Ping(count=10, interval=Duration.of("100 ms"))),  # fewer moments would show nothing
        probes=[],
        middleboxes=[],
        kernel={},
        on="host",
        clock="real",
        seed=1,
        repeat=0,
        tools={},
    )
    folder = tmp_path / "trial"
    folder.mkdir()
    (folder / "trial.json").write_bytes(canonical(trial))
    ended = boot(shipped, tmp_path, [sys.executable, "-c", ON_HOST], budget=Budget(wall=300.0))
    assert ended.status == 0, ended.console.read_text()
    result = json.loads((folder / "result.json").read_text())
    assert result["invalid"] == []
    assert shipped.release in result["environment"]["kernel"]
    assert fidelity.faults(json.loads((folder / "out" / outputs.FIDELITY).read_text())) == ()
    times = [
        float(line.split("time=")[1].split()[0])
        for line in (folder / "out/ping.txt").read_text().splitlines()
        if "time=" in line
    ]
    assert len(times) == 10
    assert sorted(times)[4] == pytest.approx(20, abs=0.2)
