"""Bring up a network in a guest for a person or a command: a shell on one of the hosts, or Mininet's command line.

Run this module as `python -m lab.guest.interactive FOLDER`. FOLDER holds hands-on.json, a `HandsOn` in plain form. The
exit status is the command's exit status. The output is written to the terminal or, if there is a command, to
FOLDER/stdout and FOLDER/stderr. If the network cannot be built, FOLDER/error.json holds the reason: `{"error": message,
"exit_code": n}`.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

import msgspec

from lab.errors import LabError
from lab.guest.clock import Clock
from lab.guest.fabric import choose
from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.spaces import WIRES
from lab.guest.init import MS_BIND, MS_RDONLY, SHOWN, mount
from lab.guest.network import Network
from lab.guest.playing import playing
from lab.units import from_plain

ETC = Path("/etc")
OWN = Path("/run/etc")
# Programs use a name's IPv4 address first, because `lab graph` and every page show that one.
IPV4_FIRST = "precedence ::ffff:0:0/96 100\n"
PLACE = Path("/tmp")  # where a person or a command starts
PROGRAMS = Path("/run/bin")  # of hands-on guests, first in the PATH
# Mininet's `iperf` waits until the server has printed a rate for two connections. The first connection carries no data
# and only checks whether the server listens. iperf 2.1 and later print no rate for it, so Mininet waits forever, on any
# machine (mininet/mininet#1060). This wrapper runs iperf, and adds the line that earlier versions printed.
IPERF = r"""#!/bin/bash
[[ " $* " == *" -s "* ]] || exec {iperf} "$@"
RATE='[  *] 0.0000-0.0000 sec  0.00 Bytes  0.00 bits/sec'
exec -a iperf {iperf} "$@" > >(trap '' INT; exec sed -u "s|^(null)local .*|&\n$RATE|")
"""


class HandsOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the network to bring up, and what runs in it: a shell on `host`, or Mininet.

    Without a command, both are interactive. An interactive session needs the real clock; a command can also run on the
    virtual clock. `shown` is the name, below /tmp, of a host folder that the guest may read; "" means no folder.
    """

    network: Network
    tool: Literal["shell", "mininet"]
    host: str
    command: str | None = None
    clock: Clock = "real"
    seed: int = 1
    shown: str = ""

    @property
    def fabric(self) -> str:
        """Return the name of the fabric that builds the network."""
        return "mininet" if self.tool == "mininet" else "netlink"


def main(folder: Path) -> int:
    """Bring the network up, run the shell or the command, and take the network down.

    Return the exit status of the command or of the error.
    """
    wanted = from_plain(json.loads((folder / "hands-on.json").read_text()), HandsOn)
    try:
        with ExitStack() as undo:
            name_everyone(wanted.network)
            _provide(wanted)
            fabric = undo.enter_context(choose(wanted.fabric)(wanted.network, seed=str(wanted.seed)))
            undo.enter_context(playing(fabric, Path(os.devnull)))
            os.chdir(PLACE)
            if wanted.command is not None:
                for name, stream in (("stdout", 1), ("stderr", 2)):
                    os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), stream)
            return _mininet(fabric, wanted) if wanted.tool == "mininet" else _shell(fabric, wanted)
    except (LabError, OSError) as error:
        status = error.exit_code if isinstance(error, LabError) else 1
        (folder / "error.json").write_text(json.dumps({"error": str(error), "exit_code": status}))
        return status
    except KeyboardInterrupt:
        return 130


def _shell(fabric: Fabric, wanted: HandsOn) -> int:
    # Ctrl-C is for the programs in the shell. Not SIG_IGN, because children would inherit that.
    signal.signal(signal.SIGINT, lambda *_: None)
    others = [node.name for node in wanted.network.nodes if node.name != wanted.host]
    argv = ["bash", "-c", wanted.command] if wanted.command is not None else ["bash", "--norc", "--noprofile", "-i"]
    if wanted.command is None:
        sys.stdout.write(f"{wanted.network.name} is up, in real time, and you are root of {wanted.host}.\n")
        if others:
            sys.stdout.write(
                f"There are also {', '.join(others)}: ping {others[0]}, ip netns exec {others[0]} COMMAND.\n"
            )
        wires = fabric.spaces.of(WIRES).name
        sys.stdout.write(f"The links' queues are in the namespace {wires}: ip netns exec {wires} tc -s qdisc.\n")
        if wanted.shown:
            sys.stdout.write(f"Your folder is {PLACE / wanted.shown}, read-only.\n")
        sys.stdout.write("Ctrl-D ends it all.\n")
        sys.stdout.flush()
    environment = {**os.environ, "PS1": rf"{wanted.host}:\w# "}
    ended = subprocess.run(argv, env=environment, preexec_fn=fabric.namespace(wanted.host).join, check=False)
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode


def _mininet(fabric: Fabric, wanted: HandsOn) -> int:
    from lab.guest.fabric.mininet import MininetFabric, command_line

    assert isinstance(fabric, MininetFabric)
    for node in fabric.net.values():  # Mininet's mask has POLLOUT, which is always true, so its timeouts had no effect
        node.pollOut.modify(node.stdout, select.POLLIN)
    command_line(fabric.net, wanted.command)
    return 0


def _provide(wanted: HandsOn) -> None:
    """Make the shown folder and the lab's own programs available."""
    if wanted.shown:
        (PLACE / wanted.shown).mkdir()
        mount("lab", str(PLACE / wanted.shown), "hostfs", MS_RDONLY, f"{SHOWN}/.")
    if iperf := shutil.which("iperf"):
        PROGRAMS.mkdir()
        (PROGRAMS / "iperf").write_text(IPERF.format(iperf=iperf))
        (PROGRAMS / "iperf").chmod(0o755)
        os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"


def name_everyone(network: Network) -> None:
    """Write every node's addresses to /etc/hosts, and a preference for IPv4 to /etc/gai.conf, in the guest only.

    NODE.LINK names the addresses of one end. The names of a network that chooses an IP version have no other address.
    """
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for node in network.nodes:
        ends = [(name, end) for name, end in network.ends() if end.node == node.name]
        named = [(text.split("/")[0], name) for name, end in ends for text in end.addresses]
        lines += [
            f"{address} {node.name} {name}"
            for address, name in named
            if network.names != ("ipv4" if ":" in address else "ipv6")
        ]
    texts = {"hosts": "\n".join(lines) + "\n", "gai.conf": IPV4_FIRST}
    if not (ETC / "gai.conf").exists():  # the root is read-only, so no file can be added: replace the whole folder
        with suppress(OSError):  # a guest cannot read all of the host's files there
            shutil.copytree(ETC, OWN, symlinks=True, ignore=lambda *_: texts)
            for name, text in texts.items():
                (OWN / name).write_text(text)
            mount(str(OWN), str(ETC), "", MS_BIND, "")
            return
    OWN.mkdir(exist_ok=True)
    for name, text in texts.items():
        if (ETC / name).exists():
            (OWN / name).write_text(text)
            mount(str(OWN / name), str(ETC / name), "", MS_BIND, "")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
