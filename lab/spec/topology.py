"""Read topology files, check them, apply an experiment's changes, and resolve them to networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.guest.network import Network
from lab.spec import document, kept, names, sysctls, wiring
from lab.spec.changes import Changes, UnknownName
from lab.spec.document import Document, Place
from lab.spec.errors import Problem, SpecError, display, file_bytes

if TYPE_CHECKING:
    from lab.spec.format import TopologyPart


@dataclass(frozen=True)
class Topology:
    """Holds a topology file that has been checked."""

    name: str
    about: str  # its sentence
    path: Path
    network: Network  # the network without changes
    reads: Callable[[], Document] = field(repr=False, compare=False)
    text: str | None = None  # of the file; None: it is not from a file of its own

    @cached_property
    def document(self) -> Document:
        """The file's data."""
        return self.reads()

    @cached_property
    def part(self) -> TopologyPart:
        """The file's checked data."""
        return _validate(self.document.data, self.path)

    def resolve(self, *changes: Changes, blame: Callable[[str], Problem] | None = None) -> Network:
        """Return the network with `changes` applied in order.

        Raises SpecError if the changes do not resolve. `blame` turns a message into a problem of the file that declares
        the changes. Without it, the problems are in this file.
        """
        changed = (repr((each.links, each.sysctls, each.hosts)) for each in changes)
        decided = (self.name, self.text, *changed) if self.text is not None else ()
        if decided and (found := kept.find(decided)):
            return found.network
        from lab.spec import resolve
        from lab.spec.parts import Mistakes

        data: dict[str, Any] = self.part.model_dump(exclude_unset=True)
        try:
            for change in changes:
                data = change.apply(data)
            network = resolve.network(self.name, _validate(data, self.path))
            if decided:
                kept.keep(decided, self.about, network)
            return network
        except UnknownName as error:
            mistakes: Iterable[tuple[Place, str]] = [((), str(error))]
        except Mistakes as error:
            mistakes = error.found
        if blame is not None:
            raise SpecError(blame(_at(place, message)) for place, message in mistakes)
        raise SpecError(self.document.problem(place, _at(place, message)) for place, message in mistakes)

    def problem(self, link: str, way: str, key: str, message: str) -> Problem:
        """Return a problem with a direction's setting, at the line of the setting."""
        both = ("links", link, key)
        place = both if both in self.document.lines else ("links", link, way, key)
        return self.document.problem(place, f"links.{link}.{way}.{key}: {message}")

    def unknown_controls(self) -> Iterator[Problem]:
        """Yield the congestion controls in this file that Linux does not have. A kernel of the user may have them."""
        for place, values in _sysctls(self.part):
            for message in names.unknown_control(values):
                where = (*place, names.SYSCTL)
                yield self.document.problem(where, _at(where, message))


def load(path: Path) -> Topology:
    """Return the topology in the file `path`. Raises SpecError with every mistake in the file."""
    try:
        text = file_bytes(path).decode()
    except (OSError, UnicodeDecodeError):
        return checked(document.read(path))
    decided = (path.stem, text)
    if found := kept.find(decided):
        return Topology(path.stem, found.about, path, found.network, lambda: document.read(path), text)
    topology = replace(checked(document.read(path)), text=text)
    kept.keep(decided, topology.about, topology.network)
    return topology


def parse(text: str, path: Path) -> Topology:
    """Return the topology in `text`. Errors name `path`. Raises SpecError with every mistake in the text."""
    return checked(document.parse(text, path))


def checked(read: Document) -> Topology:
    """Return the checked topology of a document. Raises SpecError with every mistake in the document."""
    from lab.spec import resolve
    from lab.spec.parts import Mistakes

    name = read.path.stem
    if isinstance(foreign := read.data.get("topology"), Mapping) and "nodes" in foreign:
        advice = f"a containerlab file; run `lab import {display(read.path)} -o NAME.yaml`"
        raise SpecError([read.problem(("topology",), advice)])
    try:
        part = _validate(read.data, read.path)
        network = resolve.network(name, part)
        if wrong := list(_unknown_sysctls(part, network)):
            raise Mistakes(wrong)
        return Topology(name, part.about, read.path, network, lambda: read)
    except Mistakes as error:
        raise SpecError(read.problem(place, _at(place, message)) for place, message in error.found) from None


def _validate(data: Mapping[str, Any], path: Path) -> TopologyPart:
    """Return the data's model. File names in the data are relative to `path`.

    Raises Mistakes with every mistake that is visible before addresses are assigned.
    """
    from pydantic import ValidationError

    from lab.spec.format import TopologyPart
    from lab.spec.mistakes import explain
    from lab.spec.parts import Mistakes

    mistakes = list(wiring.mistakes(data))
    try:
        part = TopologyPart.model_validate(data, context=path.parent)
    except ValidationError as error:
        raise Mistakes([*mistakes, *explain(error)]) from None
    if mistakes:
        raise Mistakes(mistakes)
    return part


def _unknown_sysctls(part: TopologyPart, network: Network) -> Iterator[tuple[Place, str]]:
    """Yield the sysctls that the default kernel does not have. A patched kernel's own sysctl belongs in the experiment
    that declares the kernel.
    """
    interfaces = [end.name for _, end in network.ends()]
    for place, values in _sysctls(part):
        yield from (((*place, name), message) for name, message in sysctls.mistakes(values, interfaces))


def _sysctls(part: TopologyPart) -> Iterator[tuple[Place, Mapping[str, str]]]:
    yield ("sysctls",), part.sysctls
    yield from (((kind, name, "sysctls"), node.sysctls) for kind, name, node in part.nodes())


def _at(place: Place, message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}" if place else message
