"""Bring up a network in a guest to work in: a shell in one of its hosts, or Mininet's command line.

It runs as `python -m lab.runner.interactive FOLDER`, where FOLDER holds hands-on.json, a `HandsOn` in plain form. Its
exit status is the command's. The output goes to the terminal or, where a command was given, to FOLDER/stdout and
FOLDER/stderr. When the network cannot be built, FOLDER/error.json says why: `{"error": message, "exit_code": n}`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import msgspec

from lab.errors import LabError
from lab.fabric import choose
from lab.fabric.fabric import Fabric
from lab.runner.playing import playing
from lab.spec.clock import Clock
from lab.spec.network import Network
from lab.units import from_plain

HOSTS = Path("/etc/hosts")
MS_BIND = 4096


class HandsOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Say what to bring up, and who acts in it: a shell in `host`, or Mininet. Without a command a person does.

    A person types by the real clock; a command can run by the virtual one.
    """

    network: Network
    tool: Literal["shell", "mininet"]
    host: str
    command: str | None = None
    clock: Clock = "real"
    seed: int = 1

    @property
    def fabric(self) -> str:
        """Name what makes the network."""
        return "mininet" if self.tool == "mininet" else "netlink"


def main(folder: Path) -> int:
    """Bring the network up, hand it over, and take it down; return the command's exit status, or the error's."""
    wanted = from_plain(json.loads((folder / "hands-on.json").read_text()), HandsOn)
    try:
        with ExitStack() as undo:
            fabric = undo.enter_context(choose(wanted.fabric)(wanted.network, seed=str(wanted.seed)))
            undo.enter_context(playing(fabric, Path(os.devnull)))
            name_everyone(wanted.network)
            os.chdir("/tmp")
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
    # Ctrl-C is for what runs in the shell. Not SIG_IGN: children would inherit that.
    signal.signal(signal.SIGINT, lambda *_: None)
    others = [node.name for node in wanted.network.nodes if node.name != wanted.host]
    argv = ["bash", "-c", wanted.command] if wanted.command is not None else ["bash", "--norc", "--noprofile", "-i"]
    if wanted.command is None:
        sys.stdout.write(f"{wanted.network.name} is up, in real time, and you are root of {wanted.host}.\n")
        if others:
            sys.stdout.write(
                f"There are also {', '.join(others)}: ping {others[0]}, ip netns exec {others[0]} COMMAND.\n"
            )
        sys.stdout.write("Ctrl-D ends it all.\n")
        sys.stdout.flush()
    environment = {**os.environ, "PS1": rf"{wanted.host}:\w# "}
    ended = subprocess.run(argv, env=environment, preexec_fn=fabric.namespace(wanted.host).join, check=False)
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode


def _mininet(fabric: Fabric, wanted: HandsOn) -> int:
    from lab.fabric.mininet import MininetFabric, command_line

    assert isinstance(fabric, MininetFabric)
    command_line(fabric.net, wanted.command)
    return 0


def name_everyone(network: Network) -> None:
    """Write every node's addresses to /etc/hosts: only the guest's, whose root is read-only."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for node in network.nodes:
        addresses = [text.split("/")[0] for end in network.interfaces(node.name) for text in end.addresses]
        lines += [f"{address} {node.name}" for address in addresses]
    own = Path("/run/hosts")
    own.write_text("\n".join(lines) + "\n")
    libc = ctypes.CDLL(None, use_errno=True)
    if HOSTS.exists() and libc.mount(bytes(own), bytes(HOSTS), None, MS_BIND, None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(HOSTS))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
