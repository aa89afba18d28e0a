"""Run one guest's part of a network whose hosts have their own kernels: `python -m lab.guest.part FOLDER`.

FOLDER holds part.json. The part writes FOLDER/out and finally FOLDER/result.json: a `PartResult`, or `{"error":
message, "exit_code": n}`. One guest, the hub, has all wires and every node without its own kernel. In the hub, the
interface of a host with its own kernel only passes frames to and from that host's guest.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from lab.errors import LabError
from lab.guest.alarm import Alarm
from lab.guest.fabric import addresses, build, device, offload
from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.netlink import Netlink, attribute
from lab.guest.fabric.spaces import Spaces
from lab.guest.interactive import name_everyone
from lab.guest.network import Interface, Network, Node
from lab.guest.playing import playing
from lab.guest.probe import Capture
from lab.guest.testbed import Testbed
from lab.units import Size, from_plain, to_plain

BUILD_NS = 1_500_000_000  # since boot: by then the kernel has noticed its links
START_NS = 5_000_000_000  # the first command
APART_NS = 100_000_000  # between one command's start and the next one's
AFTER_NS = 5_000_000_000  # the hub stays this much longer than the others
CARRIER_SECONDS = 3.0
STOP_SECONDS = 5.0
SNAP = Size(128)  # of each frame: its headers
RNDRESEEDCRNG = 0x5207  # linux/random.h
_IFINFO = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a bash command to run on a host."""

    host: str
    line: str


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the part of one guest. The `Part` objects of a run differ only in `host`."""

    network: Network
    own: tuple[str, ...]  # the hosts that have a kernel of their own
    commands: tuple[Command, ...]
    lasts_ns: int  # after the start of the first command; commands that still run are then ended
    seed: int
    host: str = ""  # "": the hub

    def links(self) -> tuple[Interface, ...]:
        """Return the interface of each link between the hub and another guest, in link order."""
        return tuple(end for host in self.own for end in self.network.interfaces(host))

    def here(self) -> tuple[str, ...]:
        """Return the nodes of this guest."""
        if self.host:
            return (self.host,)
        return tuple(node.name for node in self.network.nodes if node.name not in self.own)


class PartResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the exit statuses of one guest's commands."""

    kernel: str  # as uname reports it
    statuses: tuple[tuple[int, int | None], ...]  # each is a command's number and its status; None: it was ended


def main(folder: Path) -> int:
    """Run the part, and return 0 or the exit code of the error."""
    status = 0
    try:
        part = from_plain(json.loads((folder / "part.json").read_text()), Part)
        (folder / "out").mkdir()
        result: Any = to_plain(_perform(part, folder / "out"))
    except (LabError, OSError) as error:
        status = error.exit_code if isinstance(error, LabError) else 1
        result = {"error": str(error), "exit_code": status}
    except Exception as error:  # noqa: BLE001  # the user gets the reason, and the console log gets the traceback
        import traceback

        traceback.print_exc()
        status = 1
        result = {"error": f"{type(error).__name__}: {error}", "exit_code": status}
    (folder / "result.json").write_text(json.dumps(result))
    return status


def _perform(part: Part, out: Path) -> PartResult:
    with Alarm() as alarm, ExitStack() as undo:
        alarm.wait(BUILD_NS)
        _draw_afresh()
        name_everyone(part.network)
        if part.host:
            namespace = undo.enter_context(_own_host(part))
            spaces: Mapping[str, Namespace] = {part.host: namespace}
        else:
            fabric = undo.enter_context(Fabric(part.network, seed=str(part.seed)))
            if wrong := fabric.differences():
                raise LabError(f"the network is not the one asked for: {wrong[0]}")
            _join_all(part, fabric.spaces)
            spaces = {name: fabric.namespace(name) for name in part.here()}
        testbed = Testbed(spaces, {}, out, undo)
        with ExitStack() as standing:
            for host in part.here():
                if any(command.host == host for command in part.commands):
                    for end in part.network.interfaces(host):
                        standing.enter_context(Capture(node=host, interface=end.name, snap=SNAP).watch(testbed))
            alarm.wait(START_NS)
            if not part.host:
                standing.enter_context(playing(fabric, out / "timeline.jsonl"))
            statuses = _run(part, testbed, alarm)
        if not part.host:
            (out / "qdiscs.json").write_text(json.dumps(to_plain(fabric.qdiscs()), indent=1, sort_keys=True) + "\n")
            alarm.wait(START_NS + part.lasts_ns + AFTER_NS)
    system = os.uname()
    return PartResult(f"{system.sysname} {system.release} {system.version}", statuses)


def _draw_afresh() -> None:
    """Make the kernel switch to the next key of its random number generator.

    The key does not depend on earlier draws.
    """
    with open("/dev/urandom", "rb") as random:
        fcntl.ioctl(random, RNDRESEEDCRNG)


def _run(part: Part, testbed: Testbed, alarm: Alarm) -> tuple[tuple[int, int | None], ...]:
    """Start each command of this guest at its time, and end commands that run for too long."""
    running: dict[int, subprocess.Popen[bytes]] = {}
    for number, command in enumerate(part.commands):
        if command.host in part.here():
            alarm.wait(START_NS + number * APART_NS)
            argv = ["bash", "-c", command.line]
            running[number] = testbed.start(command.host, argv, f"{number}.{command.host}.txt")
    alarm.wait(START_NS + part.lasts_ns)
    return tuple((number, _status(process)) for number, process in running.items())


def _status(process: subprocess.Popen[bytes]) -> int | None:
    status = process.poll()
    if status is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    return status


def _join_all(part: Part, spaces: Spaces) -> None:
    """Let the interfaces of hosts with their own kernel forward frames, but send no frames of their own."""
    for number, end in enumerate(part.links()):
        name = f"link{number}a"
        with spaces.inside(end.node):
            for each in ("all", "default"):
                build.write_sysctl(f"net.ipv6.conf.{each}.disable_ipv6", "1")
        _move(name, name, spaces.of(end.node), end)
        with spaces.inside(end.node) as netlink:
            device.up(netlink, name)
            device.redirect(netlink, name, end.name)
            device.redirect(netlink, end.name, name)


@contextmanager
def _own_host(part: Part) -> Iterator[Namespace]:
    """Set up this guest's host as the fabric sets up the other nodes, but without wires."""
    spaces = Spaces(part.network)
    node = part.network.node(part.host)
    namespace = Namespace.create(spaces.of(node.name).name)
    build.prepare(spaces, node)  # its sysctls are the defaults of later interfaces
    for number, end in enumerate(part.links()):
        if end.node == node.name:
            _move(f"link{number}b", end.name, namespace, end)
    ends = part.network.interfaces(node.name)
    with spaces.inside(node.name) as netlink:
        for end in ends:
            _configure(netlink, end, node)
    build.finish(spaces, node)
    with spaces.inside(node.name) as netlink:
        _wait_for_carriers(netlink, ends)
    yield namespace


def _configure(netlink: Netlink, end: Interface, node: Node) -> None:
    for name, value in node.sysctls.items():
        if name.split(".")[3:4] == [end.name]:  # for example net.ipv6.conf.eth0.accept_dad
            build.write_sysctl(name, value)
    offload.write(netlink, end.name, end.offloads)
    device.up(netlink, end.name)
    for address in end.addresses:
        addresses.add(netlink, end.name, address)


def _move(name: str, new: str, to: Namespace, end: Interface) -> None:
    """Move a link of this kernel to a namespace, with a new name and the MTU of the interface that it represents."""
    handle = os.open(to.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with Netlink() as netlink:
            body = _IFINFO.pack(0, 0, device.index(netlink, name), 0, 0)
            body += attribute(device.IFLA_NET_NS_FD, handle) + attribute(device.IFLA_IFNAME, new)
            body += attribute(device.IFLA_MTU, end.mtu.bytes)
            body += attribute(device.IFLA_ADDRESS, bytes.fromhex(end.mac.replace(":", "")))
            if end.gso_max_segs is not None:
                body += attribute(device.IFLA_GSO_MAX_SEGS, end.gso_max_segs)
            netlink.do(f"moving {name} to {to.name}", device.RTM_NEWLINK, body)
    finally:
        os.close(handle)


def _wait_for_carriers(netlink: Netlink, ends: tuple[Interface, ...]) -> None:
    deadline = time.monotonic() + CARRIER_SECONDS
    while not all(device.links(netlink)[end.name].running for end in ends):
        if time.monotonic() > deadline:
            raise LabError(f"no carrier after {CARRIER_SECONDS:g} s: the hub does not answer")
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
