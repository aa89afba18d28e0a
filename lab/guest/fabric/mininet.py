"""Build the network with Mininet's nodes, command line and graph, but with the lab's wires and settings.

Mininet creates the hosts and switches. `lab.guest.fabric.build` then sets them up and reads them back, as in other
fabrics. Importing this module raises ImportError if Mininet is not installed.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from typing import Any

from lab.guest.fabric import build
from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.mininet import make_importable
from lab.guest.network import Interface, Kind, Network, Node

make_importable()

from mininet.cli import CLI  # noqa: E402
from mininet.link import Intf  # noqa: E402
from mininet.link import Link as MininetLink  # noqa: E402
from mininet.log import lg  # noqa: E402
from mininet.net import Mininet  # noqa: E402
from mininet.node import Host, Switch  # noqa: E402
from mininet.topo import Topo  # noqa: E402

# Otherwise Mininet's first network raises the machine's limits and buffers permanently (fixLimits). A trial sets its
# own.
Mininet.inited = True


class MininetFabric(Fabric):
    """Lets Mininet build the network. `net` is Mininet's object, for its command line."""

    def __init__(self, network: Network, prefix: str = "", seed: str = "", hurried: bool = False) -> None:
        super().__init__(network, prefix, seed, hurried)
        self.net = Mininet(topo=LabTopo(self.spaces), controller=None, build=False)

    def _build(self, undo: ExitStack) -> None:
        undo.callback(self.net.stop)
        self.net.start()


class LabTopo(Topo):  # type: ignore[misc]
    """Describes the network's graph.

    The topology names the classes of its nodes and links, so that any version of Mininet can build the network.
    """

    def build(self, spaces: Spaces) -> None:
        """Add all nodes and links. Mininet calls this method by its name."""
        site = Site(spaces)
        for number, node in enumerate(spaces.network.nodes, 1):
            if node.kind is Kind.SWITCH:
                self.addSwitch(node.name, cls=Bridge, site=site, dpid=f"{number:x}", inNamespace=True)
            else:
                self.addHost(node.name, cls=Station, site=site)
        for number, link in enumerate(spaces.network.links):
            self.addLink(*(end.node for end in link.ends), cls=Wire, site=site, number=number)


class Site:
    """Manages the namespaces of a network: one for each node, and one for the wires.

    The wires' namespace exists from the first node to the last.
    """

    def __init__(self, spaces: Spaces) -> None:
        self.spaces = spaces
        self._settled: set[str] = set()
        self._unfinished = {node.name for node in spaces.network.nodes if node.kind is not Kind.SWITCH}
        self._stations = len(self._unfinished)

    def settle(self, node: Node, process: int) -> None:
        """Use the namespace of Mininet's `process` for the node, and prepare it."""
        with ExitStack() as undo:
            if not self._settled:
                undo.callback(Namespace.create(self.spaces.of(WIRES).name).remove)
            undo.callback(Namespace.adopt(self.spaces.of(node.name).name, process).remove)
            build.prepare(self.spaces, node)
            undo.pop_all()
        self._settled.add(node.name)

    def finish(self, node: Node) -> None:
        """Finish a node after Mininet has created all links. After the last node, the network only has to settle."""
        if len(self._unfinished) == self._stations:
            build.carry(self.spaces)
        build.finish(self.spaces, node)
        self._unfinished.discard(node.name)
        if not self._unfinished:
            build.settle(self.spaces)

    def leave(self, node: Node) -> None:
        """Undo `settle`."""
        self._settled.discard(node.name)
        if not self._settled:
            self.spaces.of(WIRES).remove()
        self.spaces.of(node.name).remove()


class _Settled:
    """Sets up a host or a switch: a named namespace, with the lab's settings."""

    def __init__(self, name: str, *, site: Site, **params: Any) -> None:
        super().__init__(name, **params)  # type: ignore[call-arg]  # Mininet's node
        self.site = site
        self.lab = site.spaces.nodes[name]
        try:
            site.settle(self.lab, self.pid)  # type: ignore[attr-defined]
        except BaseException:
            super().terminate()  # type: ignore[misc]
            raise

    def config(self, **_: Any) -> dict[str, Any]:
        """Finish the node. Mininet calls this method for every host after it has created all links."""
        self.site.finish(self.lab)
        return {}

    def terminate(self) -> None:
        """Remove the namespace's name first. The namespace itself is removed with the shell."""
        if self.shell:  # type: ignore[attr-defined]
            self.site.leave(self.lab)
        super().terminate()  # type: ignore[misc]


class Station(_Settled, Host):  # type: ignore[misc]
    """Represents a host or a router."""


class Bridge(_Settled, Switch):  # type: ignore[misc]
    """Represents a switch: a Linux bridge in its own namespace, complete as soon as its links exist."""

    controlIntf = None  # noqa: N815  # Mininet's name

    def start(self, controllers: object) -> None:
        """Do nothing, because the bridge learns by itself."""

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803
        """Do nothing, because the bridge is removed with its namespace."""


class Wire(MininetLink):  # type: ignore[misc]
    """Represents a wire of the lab. Each direction has its own rate, delay and loss, exact to the frame."""

    def __init__(self, node1: Any, node2: Any, *, site: Site, number: int, **params: Any) -> None:
        link = site.spaces.network.links[number]
        with build.wiring(site.spaces) as wires:
            build.connect(site.spaces, wires, number, link)
        first, second = link.ends
        ends: dict[str, Any] = {
            "intfName1": first.name, "addr1": first.mac, "cls1": End, "params1": {"end": first},
            "intfName2": second.name, "addr2": second.mac, "cls2": End, "params2": {"end": second},
        }  # fmt: skip
        super().__init__(node1, node2, **{**params, **ends})

    @classmethod
    def makeIntfPair(cls, *_: object, **__: object) -> None:  # noqa: N802
        """Do nothing, because the interfaces already exist."""

    def stop(self) -> None:
        """Do nothing, because the ends are removed with the network's namespaces."""


class End(Intf):  # type: ignore[misc]
    """Represents one end of a wire."""

    def config(self, *, end: Interface, **_: Any) -> dict[str, Any]:
        """Change no settings, but record the IPv4 address, which Mininet's commands need."""
        ipv4 = next((address for address in end.addresses if ":" not in address), None)
        if ipv4:
            self.ip, self.prefixLen = ipv4.split("/")
        return {}


def command_line(net: Mininet, commands: str | None) -> None:
    """Run Mininet's command line for a person, or run `commands`, one per line. The output goes to standard output."""
    lg.ch.setStream(sys.stdout)
    if commands is None:
        CLI(net)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".mn") as script:
        script.write(commands + "\n")
        script.flush()
        CLI(net, script=script.name)
