"""The plugin: how QEMU gets it, which trials it counts, and one real count."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import Program, SmallWrites
from lab.app.options import SuiteOptions
from lab.base.building import Silent
from lab.errors import InputError, MachineError
from lab.ext.cost import api, measuring, plugin, symbols
from lab.ext.cost.counts import read
from lab.ext.cost.kernel import CountedKernel
from lab.guest.probe import CpuTime
from lab.guest.workload import Workload
from lab.machine.kernel.base import Start
from lab.machine.kernel.vm import qemu, root, stock
from lab.record.record import Record
from lab.spec import find
from lab.spec.variant import ResolvedVariant
from tests.kinds import Perform


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedKernel:
    """A kernel that is not here, but can be planned for."""
    monkeypatch.setattr(root, "archive", lambda home: home / "root-0123456789abcdef.cpio")
    monkeypatch.setattr(qemu, "version", lambda: "7.2.22")
    shipped = stock.StockKernel("7.2", "7.2.13-1", "7.2.13+deb14-amd64", "k" * 16, 250, 176, "0" * 64, tmp_path / "k")
    return CountedKernel("7.2", shipped, tmp_path / "functions.txt")


@pytest.mark.needs("cc")
def test_the_plugin_is_compiled_once_and_told_what_to_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "check", lambda: None)
    option, given = plugin.arguments(tmp_path, Path("/a,b/functions.txt"))
    assert option == "-plugin"
    told = dict(each.split("=", 1) for each in given.replace(",,", "\0").split(","))
    assert told["symbols"] == "/a\0b/functions.txt"
    assert (told["mark"], told["from"]) == ("stat_open", "2")
    assert told["out"] == "out/instructions.txt"
    assert ctypes.c_int.in_dll(ctypes.CDLL(told["file"]), "qemu_plugin_version").value == 1
    assert plugin.arguments(tmp_path, Path("/a,b/functions.txt")) == (option, given)


def test_a_qemu_with_a_different_interface_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin.check.cache_clear()
    monkeypatch.setattr(qemu, "version", lambda: "10.0.2")
    with pytest.raises(MachineError, match=r"QEMU 10\.0\.2 has a different plugin interface"):
        plugin.check()


@pytest.mark.needs("true")
def test_a_qemu_without_plugins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin.check.cache_clear()
    monkeypatch.setattr(qemu, "version", lambda: "7.2.22")
    monkeypatch.setattr(qemu, "program", lambda: "true")
    with pytest.raises(MachineError, match="was built without plugins"):
        plugin.check()


def test_arms_that_differ_only_in_probes_are_one_case(counted: CountedKernel) -> None:
    (declared,) = find.find(["tcp-nodelay/cork"])
    planned = measuring._plan([declared], counted, (3, 4))
    groups = list(measuring._distinct(planned).values())
    assert [[each.case.arm for each in group] for group in groups] == [["packets", "cork-time"], ["nodelay-time"]]
    for each in planned:
        assert each.case.probes == (CpuTime(),)
        assert [(trial.seed, trial.repeat) for trial in each.trials] == [(3, 0), (4, 0)]
        for trial in each.trials:
            assert trial.probes == [{"kind": "cpu_time"}]
            assert (trial.clock, trial.on) == ("virtual", "vm"), "the claim asks for real time, which counts nothing"
            assert "tcpdump" not in trial.tools
            assert trial.kernel["files"] == "0123456789abcdef"
            assert trial.kernel["counter"] == plugin.digest()


def test_an_arm_of_a_variant_is_skipped_and_a_failed_trial_is_missing(
    counted: CountedKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = MachineError("the guest did not boot")
    monkeypatch.setattr(
        measuring, "_run", lambda _s, _k, trials, _o: dict.fromkeys((t.address for t in trials), failed)
    )
    other = replace(counted, name="6.1")
    options = SuiteOptions(results=tmp_path / "results")
    found = measuring.measure(find.find(["tcp-nodelay/nagle-stall"]), [other, counted], (1,), 1, options)
    assert [case.arms for case in found] == [("defaults",), ("timers-on-their-tick",), ("hz-250",)]
    assert [dict(case.missing) for case in found] == [dict.fromkeys(("6.1", "7.2"), str(failed)), {}, {}]
    assert [case.skipped.rpartition("variant with ")[2] for case in found] == [
        "",
        "patch timers-on-their-tick.patch: --on uml has",
        "HZ 250: --on uml has",
    ]


def test_a_distribution_kernel_has_no_variant(counted: CountedKernel) -> None:
    with pytest.raises(MachineError, match="has no variant"):
        counted.variant(ResolvedVariant(hz=100))
    assert not counted.lacks("fq")


def test_a_kernel_named_twice_is_refused(counted: CountedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "find", lambda _: counted.stock)
    with pytest.raises(InputError, match=r"--kernel 7\.2,7\.2\.13-1 names a kernel twice"):
        api.cost(["7.2", "7.2.13-1"], "tcp-nodelay/cork")
    other = replace(counted.stock, id="j" * 16)
    assert api._name(counted.stock, [counted.stock]) == "7.2"
    assert api._name(other, [counted.stock, other]) == "7.2 jjjjjj"
    with pytest.raises(InputError, match="--repeat 0 is too small"):
        api.cost(["7.2"], "tcp-nodelay/cork", repeat=0)


def test_a_function_that_a_kernel_does_not_have_is_refused_before_the_trials(
    counted: CountedKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted.symbols.write_text("ffffffff81000000 tcp_ack.isra.0\nffffffff82000000 veth:veth_xmit\n")
    monkeypatch.setattr(stock, "find", lambda _: counted.stock)
    monkeypatch.setattr(plugin, "check", lambda: None)
    monkeypatch.setattr(symbols, "table", lambda *_: counted.symbols)
    monkeypatch.setattr(measuring, "measure", lambda *_: pytest.fail("a trial ran"))
    with pytest.raises(InputError, match=r"--function tcp_akc: kernel 7\.2 has no such.*did you mean 'tcp_ack'"):
        api.cost(["7.2"], "tcp-nodelay/cork", function="tcp_akc")
    symbols.require("tcp_ack", counted.symbols, "7.2")


def test_a_folder_that_cannot_be_written_is_one_message(
    counted: CountedKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbols, "read", lambda _: "ffffffff82000000 t tcp_ack\n")
    counted.stock.folder.write_text("")
    with pytest.raises(MachineError, match=r"cannot write .*functions"):
        symbols.table(counted.stock, Silent())
    counted.stock.folder.unlink()
    made = symbols.table(counted.stock, Silent())
    assert made.read_text() == f"ffffffff82000000 tcp_ack\nffffffff82001000 {symbols.UNNAMED}\n"
    assert {path.name for path in made.parent.iterdir()} == {made.name, "lock"}
    monkeypatch.setattr(symbols, "read", lambda _: "")
    assert symbols.table(counted.stock, Silent()) == made
    made.unlink()
    with pytest.raises(MachineError, match="CONFIG_KALLSYMS"):
        symbols.table(counted.stock, Silent())


WORKLOAD = SmallWrites(client="host", server="host", messages=20, way="nodelay")


def _counted(
    perform: Perform, kernel: stock.StockKernel, into: Path, workload: Workload = WORKLOAD, **given: int
) -> Record:
    on = CountedKernel(kernel.name, kernel, symbols.table(kernel, Silent()))
    return perform("loopback", workload, [CpuTime()], on=on, clock="virtual", into=into, **given)


@pytest.fixture(scope="module")
def shipped() -> stock.StockKernel:
    """The newest kernel that was fetched, else the newest that the mirror has."""
    return next(iter(stock.installed()), None) or stock.fetch(None, Silent())


class Uncounted(CountedKernel):
    """The same trial, to the last byte of its inputs, in a QEMU without the plugin."""

    def start(self, *given: Any) -> Start:
        return self.stock.start(*given)


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.needs(qemu.PROGRAM, "cc", "ip", "cat", "sh")
def test_a_trial_is_counted_by_function(perform: Perform, shipped: stock.StockKernel, tmp_path: Path) -> None:
    found = read(_counted(perform, shipped, tmp_path / "results"))
    units = found.units(20)
    assert units["connection"] == 1
    assert 20 * 15 < units["segment"] < 20 * 40, "fifteen writes of a message are as many segments, and some are ACKs"
    assert units["system call"] > 20 * 17, "and as many calls"
    sends = found.functions["__x64_sys_sendto"]
    assert sends.calls >= 20 * 15
    assert found.functions["tcp_ack"].calls >= 20
    assert 100 < found.functions["tcp_v4_rcv"].instructions / found.functions["tcp_v4_rcv"].calls < 1000
    assert found.kernel / units["segment"] < 60_000


@pytest.mark.nightly
@pytest.mark.guest
@pytest.mark.needs(qemu.PROGRAM, "cc", "ip", "cat", "sh")
def test_a_program_of_the_trial_may_read_the_file_that_marks_the_count(
    perform: Perform, shipped: stock.StockKernel, tmp_path: Path
) -> None:
    reads = Program(argv=("sh", "-c", "cat /proc/stat /proc/stat >/dev/null"), client="host", server="host")
    found = read(_counted(perform, shipped, tmp_path / "results", reads))
    assert found.functions["stat_open"].calls == 1 + 2, "the first moment, and the program's; the last is the end"
    assert found.functions["__x64_sys_execve"].calls >= 2


@pytest.mark.emulated
@pytest.mark.guest
@pytest.mark.needs(qemu.PROGRAM, "cc", "ip", "cat", "sh")
def test_repeats_are_equal_to_the_last_instruction(
    perform: Perform, shipped: stock.StockKernel, tmp_path: Path
) -> None:
    record = _counted(perform, shipped, tmp_path / "first")
    first, second = read(record), read(_counted(perform, shipped, tmp_path / "second"))
    assert (first.user, first.functions) == (second.user, second.functions)
    other = read(_counted(perform, shipped, tmp_path / "other", seed=2))
    assert other.kernel != first.kernel, "a seed changes ports and hashes"
    assert other.kernel == pytest.approx(first.kernel, rel=0.1)
    uncounted = Uncounted(shipped.name, shipped, symbols.table(shipped, Silent()))
    plain = perform("loopback", WORKLOAD, [CpuTime()], on=uncounted, clock="virtual", into=tmp_path / "plain")
    assert plain.outputs == {name: each for name, each in record.outputs.items() if name != plugin.OUTPUT}
