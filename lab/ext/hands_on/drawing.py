"""Draw a topology as text for the terminal, and as SVG for a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.errors import InputError
from lab.spec import find
from lab.spec.topology import Topology
from lab.units import to_plain

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Drawing:
    """Holds a topology, and the file of its picture, if requested."""

    topology: Topology
    file: Path | None
    exit_code = 0

    def plain(self) -> dict[str, Any]:
        """Return the resolved network for JSON, with every address and limit."""
        network = to_plain(self.topology.network)
        return {"topology": network, "about": self.topology.about, "svg": str(self.file) if self.file else None}

    def render(self) -> RenderableType:
        """Return the topology's description, then the tree of its links."""
        from rich.console import Group
        from rich.text import Text

        from lab.report.sketch import sketch

        title = Text.assemble((self.topology.name, "bold"), f": {self.topology.about}\n")
        return Group(title, sketch(to_plain(self.topology.network), self.topology.network.nodes[0].name))


def draw(name: str, file: Path | None) -> Drawing:
    """Return the drawing of a topology, and write it to `file` as SVG if given. Raises InputError and SpecError."""
    topology = find.topology(name)
    if file is not None:
        from lab.report.diagram import diagram

        if file.suffix != ".svg":
            raise InputError(f"{file} has another format; use a name that ends in .svg")
        try:
            file.write_text(
                diagram(to_plain(topology.network), topology.network.nodes[0].name) + "\n", encoding="utf-8"
            )
        except OSError as error:
            reason = error.strerror if file.parent.is_dir() else f"there is no folder {file.parent}; make it first"
            raise InputError(f"cannot write {file}: {reason}") from None
    return Drawing(topology, file)
