"""Read other tools' files, and write the topology that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.base import foreign
from lab.base.writing import write
from lab.errors import InputError
from lab.ext.importing import containerlab, fitting, multicast, routes, script, traces, writing
from lab.ext.importing.draft import Draft, draft
from lab.ext.importing.following import Follower
from lab.ext.importing.found import FoundNetwork
from lab.ext.importing.where import Where
from lab.spec import document
from lab.spec import topology as topologies
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, display, instead, unreadable
from lab.spec.topology import Topology

MOST_BYTES = 4 << 20
ROOT = "the machine of the script"
KINDS = "a containerlab file (.clab.yml), a Mininet script (.py), a script of ip and tc commands (.sh), or a trace"


@dataclass(frozen=True)
class ImportOptions:
    """Holds the options that the files themselves do not contain."""

    variables: Mapping[str, str] = field(default_factory=dict)  # of shell scripts
    topo: str = ""  # of a Mininet file: NAME[,ARGUMENT...], as for `mn --topo`
    time_unit: str = "s"  # of a trace's first column
    rate_unit: str = "Mbit/s"  # of a trace's second column


@dataclass(frozen=True)
class ImportedTopology:
    """Holds a topology that was read from other tools' files."""

    topology: Topology
    text: str  # the topology file
    beside: Mapping[str, str]  # the files that the topology needs in its folder, by name
    untaken: tuple[Problem, ...]  # everything in the files that the topology leaves out, by line

    @property
    def sentence(self) -> str:
        """Return what the topology holds, in one line."""
        nodes = {"host": 0, "router": 0, "switch": 0}
        for node in self.topology.network.nodes:
            nodes[node.kind.value] += 1
        counts = {**nodes, "link": len(self.topology.network.links) + len(self.topology.network.overlays)}
        plurals = {"switch": "switches"}
        said = [
            f"{count} {name if count == 1 else plurals.get(name, f'{name}s')}"
            for name, count in counts.items()
            if count
        ]
        return ", ".join(said)

    def plain(self) -> dict[str, Any]:
        """Return the import as plain data for JSON."""
        return {
            "topology": self.text,
            "beside": dict(self.beside),
            "untaken": [each.plain() for each in self.untaken],
        }

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write the topology to the file `out`, and the files that it needs into the same folder. Return all paths.

        Raises MachineError if a file cannot be written.
        """
        files = {out: self.text, **{out.parent / name: text for name, text in self.beside.items()}}
        for path, text in files.items():
            write(text, path)
        return tuple(files)


def read(files: Sequence[Path], out: Path | None, options: ImportOptions) -> ImportedTopology:
    """Return the topology that the files describe together, as it would be in the file `out`.

    The first file decides the kind. Scripts after a network change it. A second trace applies to the reverse direction.
    Raises InputError for files that are not of these kinds, and SpecError for mistakes in them.
    """
    if not files:
        raise InputError(f"name a file: {KINDS}")
    target = out or Path("topology.yaml")
    if out is not None and any(out.absolute() == each.absolute() for each in files):
        raise InputError(f"-o {out}: this is the file to import; choose a different name")
    if out is not None and out.exists():
        raise InputError(f"-o {out} already exists; choose a different name, or remove that file")
    sources = [(path, _source(path)) for path in files]
    kinds = [_kind(path, text) for path, text in sources]
    _refuse_unused(sources, kinds, options)
    if kinds[0] == "trace":
        return _of_traces(sources, kinds, out, options)
    if "trace" in kinds or any(kind != "script" for kind in kinds[1:]):
        raise InputError(
            f"{display(files[kinds.index('trace') if 'trace' in kinds else 1])}: after a network, give scripts"
        )
    network = _network(sources[0], kinds[0], options)
    for path, text in sources[1:] if kinds[0] != "script" else sources:
        _follow(network, display(path), text, options)
    return _fitted(network, draft(network), target, files)


def _source(path: Path) -> str:
    try:
        return foreign.read(path.resolve(), MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except foreign.Unfit as error:
        raise InputError(f"{display(path)}: this is {error}; name {KINDS}") from None
    except UnicodeDecodeError:
        raise InputError(f"{display(path)}:1: this file is not UTF-8 text; name {KINDS}") from None
    except OSError as error:
        raise InputError(f"{display(path)}: {unreadable(path, error)}") from None


def _kind(path: Path, text: str) -> str:
    first = text.partition("\n")[0]
    if path.suffix == ".py" or (first.startswith("#!") and "python" in first):
        return "mininet"
    if path.suffix in (".yml", ".yaml"):
        return "containerlab"
    if path.suffix in (".sh", ".bash") or (first.startswith("#!") and first.rstrip().endswith("sh")):
        return "script"
    if traces.looks_like(text.splitlines()):
        return "trace"
    if any(line.split()[:1] in (["ip"], ["tc"], ["sudo"]) for line in text.splitlines()):
        return "script"
    rows = [row for row in enumerate(text.splitlines(), 1) if row[1].strip() and not row[1].startswith("#")]
    for number, row in rows[:2]:  # the first may name the columns
        if message := traces.unit_in_row(row):
            raise InputError(f"{display(path)}:{number}: {message}")
    raise InputError(f"{display(path)}:1: this file is not {KINDS}")


def _refuse_unused(sources: Sequence[tuple[Path, str]], kinds: Sequence[str], options: ImportOptions) -> None:
    """Raise InputError for an option that none of the files uses."""
    first = display(sources[0][0])
    if options.topo and kinds[0] != "mininet":
        raise InputError(f"--topo {options.topo}: {first} is not a Mininet script; leave out --topo")
    has_columns = any(
        kind == "trace" and traces.has_columns(text) for (_, text), kind in zip(sources, kinds, strict=True)
    )
    for option, given, default in (
        ("--time-unit", options.time_unit, ImportOptions.time_unit),
        ("--rate-unit", options.rate_unit, ImportOptions.rate_unit),
    ):
        if given != default and not has_columns:
            raise InputError(f"{option} {given}: {first} has no columns of times and rates; leave out {option}")
    scripts = [text for (_, text), kind in zip(sources, kinds, strict=True) if kind == "script"]
    for name in options.variables:
        if name.isdigit() and kinds[0] == "mininet":
            continue  # an argument of the script, which the script may ignore
        if not scripts:
            known = "a Mininet script has arguments, such as --set 1=VALUE" if kinds[0] == "mininet" else "leave it out"
            raise InputError(f"--set {name}: {first} is not a shell script; {known}")
        if not any(script.mentions(text, name) for text in scripts):
            known = instead(name, [each for text in scripts for each in script.variables(text)])
            raise InputError(f"--set {name}: the script reads no such variable{known}")


def _network(source: tuple[Path, str], kind: str, options: ImportOptions) -> FoundNetwork:
    path, text = source
    if kind == "containerlab":
        return containerlab.read(document.parse(text, path), display(path))
    if kind == "script":
        network = FoundNetwork(f"{path.stem}, imported from {path.name}.", root=ROOT)
        network.space(ROOT, Where(display(path), 1))
        return network
    from lab.ext.importing import mininet_script  # only this kind needs a kernel

    arguments = [value for name, value in sorted(options.variables.items()) if name.isdigit()]
    return mininet_script.read(path, options.topo, arguments)


def _follow(network: FoundNetwork, file: str, text: str, options: ImportOptions) -> None:
    """Apply the commands of a shell script, which starts in the network's root."""
    follower = Follower(network)

    def take(words: list[str], where: Where, output: str) -> None:
        follower.follow(words, where, network.root, output)

    script.read(text, Where(file, 1), take, network.leave, options.variables)


def _fitted(network: FoundNetwork, made: Draft, target: Path, files: Sequence[Path]) -> ImportedTopology:
    if not made.data["hosts"] and not made.data["routers"]:
        why = "\n".join(map(str, sorted(set(network.untaken))))
        raise InputError(f"{display(files[0])}:1: describes no host with a link" + (f"\n{why}" if why else ""))
    multicast.declare_groups(made, network)
    topology = fitting.fit(made, network, target.absolute())
    topology = routes.declare_routes(topology, made, network, target.absolute())
    routes.note_differences(topology, made, network)
    untaken = tuple(sorted(set(network.untaken)))
    text = writing.text(made, _heading(files), untaken)
    return ImportedTopology(topology, text, {}, untaken)


def _of_traces(
    sources: Sequence[tuple[Path, str]], kinds: Sequence[str], out: Path | None, options: ImportOptions
) -> ImportedTopology:
    """Return a link between two hosts with one trace, or with one for each direction."""
    if len(sources) > 2 or set(kinds) != {"trace"}:
        raise InputError("give one trace, or two: the forward and the reverse direction")
    if out is None:
        raise InputError("-o FILE: a trace becomes a file next to the topology, so name the topology")
    names = " and ".join(path.name for path, _ in sources)
    made = Draft(
        {"about": f"A link as it was measured, imported from {names}.", "hosts": {"sender": {}, "receiver": {}}}
    )
    link: dict[str, Any] = {"ends": {"sender": {}, "receiver": {}}}
    made.data["links"] = {"path": link}
    beside = {}
    with TemporaryDirectory() as folder:  # the topology's check reads the traces
        for way, (path, text) in zip(("forward", "back"), sources, strict=False):
            content, ending = text, "trace"
            if traces.has_columns(text):
                ending = "csv"
                content = traces.columns(text.splitlines(), display(path), options.time_unit, options.rate_unit)
            name = f"{out.stem}-{way}.{ending}"
            beside[name] = content
            link[way] = {"trace": name}
            (Path(folder) / name).write_text(content, encoding="utf-8")
            try:
                topology = topologies.checked(Document(Path(folder) / out.name, made.data, {}))
            except SpecError as error:
                said = error.problems[0].message.rpartition(f"{name}:")[2]
                raise InputError(f"{display(path)}:{said}") from None
    return ImportedTopology(topology, writing.text(made, _heading([path for path, _ in sources]), ()), beside, ())


def _heading(files: Sequence[Path]) -> str:
    return f"Imported from {', '.join(path.name for path in files)} with `lab import`."
