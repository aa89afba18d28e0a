"""Make a network of namespaces and veth pairs, with its wires in a namespace of their own.

A wire's two inner ends meet there: what arrives on one is redirected to the other, through its netem. Offloads are
off on all four ends unless the link says otherwise, so that frames enter the wire, not super-packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from lab.fabric import build, readback
from lab.fabric.namespace import Namespace
from lab.fabric.spaces import WIRES, Spaces
from lab.spec.network import Network

_T = TypeVar("_T")


class Fabric:
    """Keeps the network up while the context lasts. `prefix` keeps two fabrics on one kernel apart.

    `seed` decides what its wires lose, delay and duplicate where that is left to chance. `hurried`: it is there as soon
    as the kernel can be made to see it (`build.settle`).

    Raises NetlinkError, NamespaceError, FabricError or OSError when the kernel cannot build it; what was built is
    then undone, last in first out.
    """

    def __init__(self, network: Network, prefix: str = "", seed: str = "", hurried: bool = False) -> None:
        self.network = network
        self.spaces = Spaces(network, prefix, seed, hurried)
        self._undo = ExitStack()

    def namespace(self, node: str) -> Namespace:
        """Return the namespace of `node`."""
        return self.spaces.of(node)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._build(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _build(self, undo: ExitStack) -> None:
        """Make the whole network; how to take it down again goes to `undo`."""
        for name in (*self.spaces.nodes, WIRES):
            undo.callback(Namespace.create(self.spaces.of(name).name).remove)
        for node in _by_hundreds(self.network.nodes):
            build.prepare(self.spaces, node)
        with build.wiring(self.spaces) as wires:
            for number, link in _by_hundreds([*enumerate(self.network.links)]):
                build.connect(self.spaces, wires, number, link)
        for node in self.network.nodes:
            build.finish(self.spaces, node)
        build.settle(self.spaces)

    def qdiscs(self) -> list[dict[str, Any]]:
        """Return every qdisc that shapes, with its counters (see `readback.qdiscs`)."""
        return readback.qdiscs(self.spaces)

    def queue(self, link: str, way: str) -> dict[str, Any]:
        """Return what one direction's queue says of itself, or its wire where it has none. Raises FabricError."""
        return readback.queue(self.spaces, link, way)

    def differences(self) -> list[str]:
        """Return what the kernel does differently from what the network asks for; empty when the fabric is exact."""
        return readback.differences(self.spaces)


def _by_hundreds(parts: Iterable[_T]) -> Iterator[_T]:
    """Yield parts of a network. After each hundred, let the kernel forget the names in /proc that it has looked up.

    A sysctl has the same name in every namespace: the kernel keeps them in one chain of a hash table, and each look
    goes through all of them. Where the kernel is the host's, that is not ours to say, and refused.
    """
    for number, part in enumerate(parts, start=1):
        yield part
        if number % 100 == 0:
            with suppress(OSError):
                Path("/proc/sys/vm/drop_caches").write_text("2")
