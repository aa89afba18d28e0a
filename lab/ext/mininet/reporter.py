"""Report the networks of a Mininet script to the recorder, from inside the script's own process.

Each Python of the guest runs this file when it starts, from `every_python.py`. Nothing that the script sees is
replaced. Python itself calls the functions here when some methods of Mininet return or start (PEP 669), so tracebacks
stay the same.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False  # like all imports that only a few processes need, typing would delay the start of every Python
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

PLACE = "/run/recorder"  # the recorder's socket
TOOL = 4  # of the six tools that may watch a Python, one that has no usual owner
NETWORK = "mininet.net"


class NetworkFinder:
    """Finds the module of Mininet's networks, and has its class watched."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG004
        """Return what the other finders find. The module is watched as soon as it is loaded."""
        if name != NETWORK:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(NetworkFinder)
        spec: Any = find_spec(name)
        if spec is not None:
            load = spec.loader.exec_module

            def execute(module: ModuleType) -> None:
                load(module)
                watch(module.Mininet)

            spec.loader.exec_module = execute
        return spec


class Reporter:
    """Reports the networks of one process."""

    def __init__(self) -> None:
        self.networks: dict[int, Any] = {}  # that are built and not stopped

    def report(self, moment: str, net: Any, **more: object) -> None:
        """Tell the recorder about a network, and wait until the recorder has noted it."""
        import json
        import socket

        links = [[[end.node.name, end.name] for end in (link.intf1, link.intf2)] for link in net.links]
        nodes = [described(node) for node in net.values()]
        plain = {"process": os.getpid(), "network": id(net), "moment": moment, "nodes": nodes, "links": links, **more}
        with socket.socket(socket.AF_UNIX) as recorder:
            recorder.connect(PLACE)
            recorder.sendall(json.dumps(plain).encode() + b"\n")
            recorder.recv(1)

    def built(self, net: Any) -> None:
        """Report a network that is built, or has a new link."""
        self.networks[id(net)] = net
        self.report("build", net)

    def stopping(self, net: Any) -> None:
        """Report a network that is about to be stopped."""
        if self.networks.pop(id(net), None):
            self.report("stop", net)

    def terminating(self, node: Any) -> None:
        """Report a node that is about to end."""
        for net in self.networks.values():
            self.report("terminate", net, node=node.name)

    def ending(self) -> None:
        """Report the networks that the script did not stop."""
        for net in self.networks.values():
            self.report("exit", net)


def described(node: Any) -> dict[str, Any]:
    """Return a node as plain data. Only a node with a network namespace of its own has a process ID."""
    from mininet.node import Controller, Switch

    return {
        "name": node.name,
        "kind": "switch" if isinstance(node, Switch) else "controller" if isinstance(node, Controller) else "host",
        "class": type(node).__name__,
        "pid": node.pid if node.inNamespace else None,
        "interfaces": [interface.name for interface in node.intfList() if interface.name != "lo"],
    }


def guarded(function: Callable[..., None], *arguments: Any) -> None:
    """Call a function, and log its failure instead of passing it to the script."""
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001  # the script must run as it does without the reporter
        with open(f"{PLACE}.log", "a") as log:
            log.write(f"{type(error).__name__}: {error}\n")


def watch(mininet: Any) -> None:
    """Report every network of Mininet's class from now on."""
    from mininet.node import Node

    reporter = Reporter()

    def returned(code: CodeType, *_: object) -> None:
        own = sys._getframe(1).f_locals["self"]  # noqa: SLF001  # importing inspect takes long
        if code is mininet.start.__code__:
            guarded(reporter.report, "start", own)
        elif code is mininet.build.__code__ or own.built:
            guarded(reporter.built, own)

    def begun(code: CodeType, _: int) -> None:
        own = sys._getframe(1).f_locals["self"]  # noqa: SLF001  # importing inspect takes long
        guarded(reporter.stopping if code is mininet.stop.__code__ else reporter.terminating, own)

    python: Any = sys.monitoring  # type: ignore[attr-defined]  # the guest's Python is newer
    python.use_tool_id(TOOL, "recorder")
    python.register_callback(TOOL, python.events.PY_RETURN, returned)
    python.register_callback(TOOL, python.events.PY_START, begun)
    for method in (mininet.build, mininet.addLink, mininet.start):
        python.set_local_events(TOOL, method.__code__, python.events.PY_RETURN)
    for method in (mininet.stop, Node.terminate):
        python.set_local_events(TOOL, method.__code__, python.events.PY_START)
    atexit.register(guarded, reporter.ending)


if os.access(PLACE, os.F_OK):  # a person at a prompt has no recorder
    sys.meta_path.insert(0, NetworkFinder)
