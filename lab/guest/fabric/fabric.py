"""Build a network from namespaces and veth pairs, with all wires in one separate namespace.

Both inner ends of a wire are in this namespace. A frame that arrives on one end is redirected to the other end, through
netem. Offloads are off on all four ends by default, so frames enter the wire, not super-packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from lab.guest.fabric import build, multicast, readback
from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.overlong import Witness
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS, Network

_T = TypeVar("_T")


class Fabric:
    """Keeps the network up within a context. `prefix` distinguishes two fabrics on one kernel.

    `seed` decides which frames the wires lose, delay and duplicate at random. With `hurried`, the fabric forces the
    kernel to notice the links at once (`build.settle`).

    Raises NetlinkError, NamespaceError, FabricError or OSError if the kernel cannot build it. The fabric then removes
    the finished parts in reverse order.
    """

    def __init__(self, network: Network, prefix: str = "", seed: str = "", hurried: bool = False) -> None:
        self.network = network
        self.spaces = Spaces(network, prefix, seed, hurried)
        self._undo = ExitStack()
        self._witness: Witness

    def namespace(self, node: str) -> Namespace:
        """Return the namespace of `node`."""
        return self.spaces.of(node)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._build(undo)
            undo.enter_context(multicast.forwarding(self.spaces))
            self._witness = undo.enter_context(Witness(self.spaces))
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _build(self, undo: ExitStack) -> None:
        """Build the whole network. `undo` collects the steps that remove it."""
        for name in (*self.spaces.nodes, WIRES):
            undo.callback(Namespace.create(self.spaces.of(name).name).remove)
        for node in _by_hundreds(self.network.nodes):
            build.prepare(self.spaces, node)
        with build.wiring(self.spaces) as wires:
            for number, link in _by_hundreds([*enumerate(self.network.links)]):
                build.connect(self.spaces, wires, number, link)
        build.carry(self.spaces)
        for node in self.network.nodes:
            build.finish(self.spaces, node)
        build.settle(self.spaces)

    def qdiscs(self) -> list[dict[str, Any]]:
        """Return every shaping qdisc, with its counters (see `readback.qdiscs`)."""
        return readback.qdiscs(self.spaces)

    def queue(self, link: str, way: str) -> dict[str, Any]:
        """Return the counters of one direction's queue, or of its wire if the direction has no queue. Raises
        FabricError.
        """
        return readback.queue(self.spaces, link, way)

    def entrance(self, link: str, way: str) -> tuple[Namespace, str]:
        """Return the wires' namespace, and the end at which this direction's frames enter the wire. Raises FabricError
        if there is no such direction.
        """
        for number, each in enumerate(self.network.links):
            if each.name == link and way in WAYS:
                return self.spaces.of(WIRES), build.wire_end(number, WAYS.index(way))
        raise build.FabricError(f"the network has no link {link}, {way}")

    def differences(self) -> list[str]:
        """Return the settings that differ between the kernel and the requested network; empty if the network is exact.

        The result also names super-packets that crossed a wire.
        """
        return [*readback.differences(self.spaces), *self._witness.reasons()]


def _by_hundreds(parts: Iterable[_T]) -> Iterator[_T]:
    """Yield parts of a network. After every hundred parts, make the kernel drop its cache of names in /proc.

    A sysctl has the same name in every namespace. The kernel stores these names in one chain of a hash table, and each
    lookup goes through the whole chain. The host's own kernel refuses this request, and the refusal is ignored.
    """
    for number, part in enumerate(parts, start=1):
        yield part
        if number % 100 == 0:
            with suppress(OSError):
                Path("/proc/sys/vm/drop_caches").write_text("2")
