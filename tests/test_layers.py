"""Data flows one way, and only some rooms touch the system: held by parsing every import."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.app import language
from tests.trees import defined, nodes

ROOT = Path(__file__).parent.parent

# What each room may import besides itself. Every room stands to the right of those that it imports.
PLAIN = {"errors", "units"}
ROOMS = {
    "errors": set(),
    "units": set(),
    "base": {"errors"},
    "guest": PLAIN,
    "spec": PLAIN | {"base", "guest"},
    "machine": PLAIN | {"base", "guest", "spec"},
    "record": PLAIN | {"base", "guest"},
    "runner": PLAIN | {"base", "guest", "spec", "machine", "record"},
    "metric": PLAIN | {"base", "guest", "spec", "record"},
    "model": PLAIN | {"base", "guest", "spec"},
    "verdict": PLAIN | {"base", "guest", "spec", "record", "model"},
    "report": PLAIN | {"base", "guest", "spec", "record", "metric", "model", "verdict"},
}
ROOMS["app"] = {*ROOMS, "ext"}  # of ext, the list of extensions and what describes one
ROOMS["cli"] = ROOMS["lab"] = {*ROOMS} - {"ext"}
ROOMS["ext"] = {*ROOMS}
BUILDS_ON = {
    "atlas": {"comparison", "suites"},
    "bisect": {"comparison"},
    "bundle": {"comparison"},
    "course": {"explain"},
    "importing": {"mininet"},
    "mininet": {"hands_on"},
}  # of extensions: docs/layers.md names them
SHARED = {"Extension", "alone", "own_machine"}  # names of ext that belong to no extension
INTERFACE = {"lab/__init__.py"}  # Python's: `lab` itself
WORDS = {f"lab.{word}" for word in [*language.__all__, "metric", "model"]}  # of an experiment, all from `lab`
EXPERIMENT = {"metric", "model", "ext"}

# Of a room, what another may import: cases as they are judged, for instance, but nothing that loads or resolves them.
CASES = (
    "lab.spec.case",
    "lab.spec.errors",
    "lab.spec.loaded",
    "lab.spec.metric",
    "lab.spec.prediction",
    "lab.spec.shipped",
    "lab.spec.steady",
)
TASKS = ("lab.guest.network", "lab.guest.task", "lab.guest.trace", "lab.guest.share")
NARROWED = {
    ("app", "ext"): ("lab.ext.EXTENSIONS", "lab.ext.Extension"),
    ("metric", "spec"): ("lab.spec.delays", "lab.spec.metric", "lab.spec.steady"),
    ("model", "spec"): ("lab.spec.delays", "lab.spec.prediction"),
    ("model", "guest"): (*TASKS, "lab.guest.middlebox"),
    ("experiment", "ext"): ("lab.ext.course.exercise", "lab.ext.mptcp.model", "lab.ext.mptcp.share"),
    **{(room, "spec"): CASES for room in ("verdict", "report")},
}
# Within the guest's room, traffic and probes know no network but as it is resolved.
SEPARATE = {
    "lab/guest/workload/": ("lab.guest.fabric", "lab.guest.middlebox", "lab.guest.probe", "lab.guest.perform"),
    "lab/guest/probe/": ("lab.guest.fabric", "lab.guest.middlebox", "lab.guest.workload", "lab.guest.perform"),
    "lab/guest/fabric/": ("lab.guest.middlebox", "lab.guest.probe", "lab.guest.workload", "lab.guest.perform"),
    "lab/guest/middlebox/": ("lab.guest.probe", "lab.guest.workload", "lab.guest.perform"),
}

SYSTEM_MODULES = {"asyncio", "ctypes", "fcntl", "mininet", "multiprocessing", "pty", "pyroute2", "socket", "subprocess"}
SYSTEM_CALLS = ("exec", "fork", "popen", "posix_spawn", "spawn", "system")  # of os, by how their names start
TOUCHES_SYSTEM = {"base", "guest", "machine", "runner", "ext"}


def imports(source: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything imported at any depth, or taken from `lab` itself."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parts = [*base, *(node.module.split(".") if node.module else [])]
            yield from ((node.lineno, ".".join([*parts, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lab":
            yield node.lineno, f"lab.{node.attr}"


def system_calls(source: str) -> Iterator[tuple[int, str]]:
    """(line, name) of everything in `os` that makes a process."""
    for node in nodes(source):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(SYSTEM_CALLS):
                yield node.lineno, f"os.{name}"


def narrowed(room: str, target: str) -> tuple[str, ...]:
    """The modules of `target` that `room` may import."""
    return NARROWED.get((room, target), ("lab",))


def foreign(extension: str, target: list[str]) -> set[str]:
    """Of the extensions that one imports, those that it does not build on."""
    return {*target} - SHARED - {extension} - BUILDS_ON.get(extension, set())


def violations(path: str, source: str) -> list[str]:
    """What the module at `path` (from the repository's root) does against the table."""
    parts = list(Path(path).with_suffix("").parts)
    room = "experiment" if parts[0] != "lab" else "lab" if path in INTERFACE else parts[1]
    if room not in ROOMS and room != "experiment":
        return [f"{path}: lab/{room} is no room: add it to the table, and to docs/layers.md"]
    allowed = EXPERIMENT if room == "experiment" else ROOMS[room] | {room}
    apart = next((others for folder, others in SEPARATE.items() if path.startswith(folder)), ())
    found = []
    for line, name in imports(source, parts[:-1]):
        top, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if name == "lab" and room not in ("cli", "lab"):
            found.append(f"{path}:{line}: {room} may not import the whole lab (its folder is lab.spec.shipped.PACKAGE)")
        elif room == "experiment" and name in WORDS:
            continue
        elif top == "lab" and (target not in allowed or name.startswith(apart or ("-",))):
            found.append(f"{path}:{line}: {room} may not import {name}")
        elif top == "lab" and not f"{name}.".startswith(tuple(f"{only}." for only in narrowed(room, target))):
            found.append(f"{path}:{line}: of {target}, {room} may only import {' and '.join(narrowed(room, target))}")
        elif room == target == "ext" and foreign(parts[2], rest.split(".")[1:2]):
            found.append(f"{path}:{line}: the extension {parts[2]} may not import {name}: docs/layers.md")
        elif top in SYSTEM_MODULES and room not in TOUCHES_SYSTEM:
            found.append(f"{path}:{line}: {room} touches the system by {name}")
    if room not in TOUCHES_SYSTEM:
        found += [f"{path}:{line}: {room} touches the system by {name}" for line, name in system_calls(source)]
    return found


def sources() -> list[str]:
    """All modules. Names of what experiments bring for their guests begin with _: it is none of the lab's."""
    own = (ROOT / "lab").rglob("*.py")
    declared = (
        file
        for top in ("experiments", "packs", "notebooks", "bench/experiments")
        for file in (ROOT / top).rglob("[!_]*.py")
    )
    return sorted(str(file.relative_to(ROOT)) for file in (*own, *declared))


def test_each_module_keeps_to_its_room() -> None:
    assert [wrong for path in sources() for wrong in violations(path, (ROOT / path).read_text())] == []


NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("packs/*/notebooks/*.ipynb")])


def test_notebooks_import_the_lab_alone() -> None:
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        names = [name for cell in cells for _, name in imports("".join(cell["source"]), [])]
        assert [name for name in names if name.split(".")[0] != "lab"] == [], path


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lab/metric/goodput.py", "import lab.runner"),
        ("lab/metric/goodput.py", "from lab.guest import perform\nfrom lab import runner"),
        ("lab/metric/goodput.py", "from ..spec import load"),
        ("lab/metric/goodput.py", "def f():\n    from lab.machine.kernel.uml.cache import UmlKernel"),
        ("lab/metric/goodput.py", "import lab"),
        ("lab/metric/goodput.py", "import subprocess"),
        ("lab/metric/goodput.py", "import os\nos.execvp('tshark', [])"),
        ("lab/report/page.py", "from socket import socket"),
        ("lab/model/tcp.py", "from lab.record.record import Record"),
        ("lab/units.py", "import lab.guest.network"),
        ("lab/guest/workload/bulk.py", "from lab.spec.topology import load"),
        ("lab/guest/workload/bulk.py", "from lab.guest.fabric import build"),
        ("lab/cli/run.py", "from lab.ext.bundle import api"),
        ("lab/ext/course/lesson.py", "from lab.ext.comparison.page import Changes"),
        ("lab/app/run.py", "from lab.ext.bundle import unbundling"),
        ("lab/model/tcp.py", "from lab.spec.experiment import Experiment"),
        ("lab/model/tcp.py", "from lab.guest.workload import Bulk"),
        ("lab/guest/trial.py", "from lab.spec.loaded import LoadedExperiment"),
        ("lab/report/claim.py", "from lab.spec.load import load"),
        ("lab/somewhere/new.py", ""),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab.runner import run"),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab.guest.workload import Bulk"),
        ("experiments/tcp-bottleneck/baseline-1g.py", "import subprocess"),
    ],
)
def test_what_goes_against_the_layers_is_caught(path: str, source: str) -> None:
    assert len(violations(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "lab/metric/goodput.py",
            "from lab.record.store import Store\nfrom . import columns\nimport os\nos.path.join('')",
        ),
        ("lab/guest/workload/bulk.py", "import socket\nfrom lab.guest.network import Network"),
        ("lab/verdict/judged.py", "from lab.spec.case import Case\nfrom lab.spec.loaded import LoadedExperiment"),
        ("lab/cli/run.py", "from lab.report import text"),
        ("lab/ext/atlas/atlas.py", "from lab.ext.comparison.page import Changes"),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab import Experiment, metric"),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab.model.window import scaling_ratio"),
    ],
)
def test_what_keeps_to_the_layers_passes(path: str, source: str) -> None:
    assert violations(path, source) == []


def arrows() -> dict[str, set[str]]:
    """Room -> the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "lab").rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        room = "lab" if len(parts) == 2 and parts[1] == "__init__" else parts[1]
        names = [name.split(".") for _, name in imports(file.read_text(), list(parts[:-1]))]
        found.setdefault(room, set()).update(name[1] for name in names if name[0] == "lab" and len(name) > 1)
    return {room: {other for other in others if other in ROOMS} - {room} for room, others in found.items()}


def test_arrows_between_few_rooms_point_to_the_left() -> None:
    """`pytest -s` shows the arrows."""
    drawn, order = arrows(), list(ROOMS)
    lines = [f"{room:<11} {' '.join(sorted(drawn[room]))}" for room in ROOMS]
    sys.stdout.write("\n".join(["", *lines, f"{len(drawn) - 1} rooms, {sum(map(len, drawn.values()))} arrows", ""]))
    assert len(drawn) - 1 <= 16
    every = [(room, other) for room, others in drawn.items() for other in others]
    assert {(room, other) for room, other in every if order.index(other) > order.index(room)} <= {("app", "ext")}


# Names of two types or more, each in another room, and why: elsewhere a name is one type's.
TWINS = {
    **dict.fromkeys(
        ("Capture", "Changes", "Claim", "Flow", "Middlebox", "Packetdrill", "Probe", "Program", "Workload"),
        "a word of experiments, and what the lab makes of it",
    ),
    **dict.fromkeys(
        ("Call", "Change", "Count", "End", "Entry", "Kind", "Line", "Name", "Part", "Place", "Size", "Wire"),
        "one is code of guests, or decides how kernels are compiled: a new name would be a new address",
    ),
    **dict.fromkeys(
        ("Answer", "Commit", "Connection", "Moment", "Outcome", "Packet", "Shift"),
        "one is an extension's, which its users import from there",
    ),
    **dict.fromkeys(
        ("Article", "Case", "Claims", "Progress", "Samples"), "the same thing, as declared or asked and as shown"
    ),
}


def types(source: str) -> Iterator[str]:
    """The public classes of a module, and other names for types."""
    return (name for _, name in defined(source) if name[0].isupper() and not name.isupper())


def test_a_name_is_one_types() -> None:
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "lab").rglob("*.py")):
        for name in types(file.read_text()):
            found.setdefault(name, []).append(str(file.relative_to(ROOT)))
    twins = {name: files for name, files in found.items() if len(files) > 1}
    assert {name: files for name, files in twins.items() if name not in TWINS} == {}, "give one of them another name"
    assert set(TWINS) <= set(twins), "these are one type's by now: strike them"
