"""Hosts with kernels of their own: the same bytes every time, and the same moments as in one kernel."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.errors import InputError, MachineError
from lab.ext.mixed import mixed
from lab.machine.kernel import Budget, GuestCrash, UmlKernel
from lab.machine.kernel.peers import SHARED
from lab.machine.kernel.uml import builder

guest = pytest.mark.guest
Busy = Callable[[], AbstractContextManager[None]]

PING = "sender: ping -4 -c 3 receiver"
SERVE = "receiver: nc -l 5001 > /dev/null"
SEND = "sender: head -c 2M /dev/zero > /dev/tcp/10.0.1.2/5001"


@pytest.fixture(scope="module")
def series(kernel: UmlKernel) -> str:
    """The newest kernel, built so that it can share its clock."""
    builder.variant(kernel.name, SHARED, Silent())
    return kernel.name


def run(out: Path, *commands: str, topology: str = "symmetric-1g", kernels: tuple[str, ...] = ()) -> mixed.MixedRun:
    """What `lab mixed` does."""
    budget = Budget(wall=300)
    return mixed.run(topology, commands, kernels, out, lasts="3 s", budget=budget, progress=Silent())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that a run left."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def frames(capture: Path) -> list[tuple[int, int, int, int]]:
    """(moment, length, flags, window) of each frame of TCP over IPv4: what chance does not decide."""
    data, found, at = capture.read_bytes(), [], 24
    while at < len(data):
        seconds, ns, kept, length = struct.unpack_from("<IIII", data, at)
        frame = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        if frame[12:14] == b"\x08\x00" and frame[23] == 6:
            flags, window = struct.unpack_from(">BH", frame, 47)
            found.append((seconds * 10**9 + ns, length, flags, window))
    return found


@guest
def test_a_ping_between_two_kernels_takes_the_wires_time(series: str, tmp_path: Path) -> None:
    own = (f"sender={series}", f"receiver={series}")
    found = run(tmp_path, PING, topology="two-hosts", kernels=own)
    assert found.outcome.statuses == (0,)
    assert (tmp_path / "0.sender.txt").read_text().count("time=2.00 ms") == 3
    assert set(found.outcome.kernels) == {"hub", "sender", "receiver"}
    assert found.outcome.cost.turns > 0


@guest
def test_the_same_bytes_idle_and_loaded(series: str, tmp_path: Path, busy: Busy) -> None:
    own = (f"sender={series}", f"receiver={series}")
    run(tmp_path / "idle", SERVE, SEND, kernels=own)
    with busy():
        run(tmp_path / "loaded", SERVE, SEND, kernels=own)
    assert contents(tmp_path / "idle") == contents(tmp_path / "loaded")


@guest
def test_kernels_of_their_own_keep_the_moments_of_one(series: str, tmp_path: Path) -> None:
    run(tmp_path / "one", SERVE, SEND)
    run(tmp_path / "two", SERVE, SEND, kernels=(f"receiver={series}",))
    run(tmp_path / "three", SERVE, SEND, kernels=(f"sender={series}", f"receiver={series}"))
    for host in ("sender", "receiver"):
        name = f"capture.{host}.eth0.pcap"
        one = frames(tmp_path / "one" / name)
        assert len(one) > 1500
        assert frames(tmp_path / "two" / name) == one
        assert frames(tmp_path / "three" / name) == one


@guest
def test_super_packets_keep_their_segments(series: str, tmp_path: Path) -> None:
    """Where segmentation is left to the interface, super-packets cross to the hub, and its wires cut them.

    Not to the same moments as in one kernel: segments that were cut there count for other memory at the receiver.
    """
    topology = tmp_path / "large.yaml"
    topology.write_text(
        "about: Two hosts whose interfaces segment.\n\n"
        "hosts: {sender: {offloads: {tso: true, gso: true}}, receiver: {}}\n"
        "links: {path: {ends: [sender, receiver], rate: 1 Gbit/s}}\n"
    )
    serve = "receiver: nc -l 5001 | wc -c"
    found = run(tmp_path / "out", serve, SEND, topology=str(topology), kernels=(f"sender={series}",))
    assert found.outcome.statuses == (0, 0)
    assert int((tmp_path / "out" / "0.receiver.txt").read_text()) == 2 << 20
    for host, large in (("sender", True), ("receiver", False)):
        there = frames(tmp_path / "out" / f"capture.{host}.eth0.pcap")
        assert (max(length for _, length, _, _ in there) > 1514) == large


@guest
def test_a_kernel_that_dies_ends_the_run(series: str, tmp_path: Path) -> None:
    dies = "receiver: python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'"
    with pytest.raises(GuestCrash, match="the guest ended before its command did"):
        run(tmp_path, PING, dies, topology="two-hosts", kernels=(f"receiver={series}",))
    assert (tmp_path / "receiver.console.log").stat().st_size


@guest
def test_a_command_that_fails_or_never_ends_is_told(series: str, tmp_path: Path) -> None:
    commands = ("receiver: exit 3", "sender: sleep 100", "receiver: trap '' TERM; while :; do sleep 1; done")
    found = run(tmp_path, *commands, topology="two-hosts", kernels=(f"receiver={series}",))
    assert found.outcome.statuses == (3, None, None)
    assert found.exit_code == 1
    assert [each["status"] for each in found.plain()["commands"]] == [3, None, None]


@pytest.mark.parametrize(
    ("commands", "kernels", "message"),
    [
        ((), (), "there is no command; name one with --run 'HOST: COMMAND'"),
        (("ping receiver",), (), "--run 'ping receiver' has a wrong form; use 'HOST: COMMAND'"),
        (("sendr: true",), (), "--run: two-hosts has no host 'sendr'; did you mean 'sender'?"),
        ((PING,), ("receiver",), "--kernel 'receiver' has a wrong form; use HOST=KERNEL, such as receiver=6.12"),
        ((PING,), ("router=7.2",), "--kernel: two-hosts has no host 'router'; use sender, receiver"),
        ((PING,) * 31, (), "--for 3 s is too short; the last command begins after 3 s"),
    ],
)
def test_mistakes_are_one_line(
    commands: tuple[str, ...], kernels: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        run(tmp_path, *commands, topology="two-hosts", kernels=kernels)
    assert str(error.value) == message


def test_what_the_host_itself_shapes_is_refused(tmp_path: Path) -> None:
    topology = tmp_path / "nic.yaml"
    topology.write_text(
        "about: A network card that shapes.\nhosts: [sender, receiver]\n"
        "links:\n  path:\n    ends: [sender, receiver]\n    rate: 1 Gbit/s\n    shaper: nic\n"
    )
    with pytest.raises(InputError, match="link path: shaper nic is in sender, but must be in the hub's kernel"):
        run(tmp_path, PING, topology=str(topology), kernels=("sender=7.2",))


def test_a_kernel_that_cannot_share_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = find_plain()
    monkeypatch.setattr(mixed, "find", lambda _name=None: plain)
    with pytest.raises(MachineError, match=r"7\.9 cannot share its clock yet: --build builds a kernel that can"):
        run(tmp_path, PING, topology="two-hosts", kernels=("sender=7.9",))


def find_plain() -> UmlKernel:
    """A kernel of which no variant was built."""
    return UmlKernel("7.9", "7.9.1-1", "0" * 16, 1000, (), Path("/nowhere/kernels/0/linux"), 0, True)
