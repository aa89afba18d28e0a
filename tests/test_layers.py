"""Data flows one way, and only the layers left of the record touch the system: held by parsing every import."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SHARED = {"errors", "outputs", "moving"}  # leaves: errors, the names of the files that a trial leaves, how files move

# What each layer may import besides itself and those that all share.
LAYERS = {
    "units": set(),
    "errors": set(),
    "outputs": set(),
    "moving": set(),
    "version": set(),
    "viewer": set(),
    "owner": set(),
    "browser": set(),
    "cache": set(),
    "building": set(),
    "userland": {"cache", "building"},
    "shipped": set(),
    "archive": set(),
    "alarm": set(),
    "ci": set(),
    "packetdrill": {"cache", "building", "userland", "kernel"},
    "selftest": {"cache", "building", "userland", "kernel"},
    "meaning": {"cache"},
    "prediction": {"units"},
    "spec": {"units", "version", "meaning", "prediction", "shipped"},
    "testbed": {"alarm"},
    "kernel": {"units", "version", "spec", "owner", "cache", "building", "userland"},
    "fabric": {"units", "alarm", "spec"},
    "workload": {"units", "spec", "testbed"},
    "probe": {"units", "spec", "testbed"},
    "middlebox": {"units", "spec", "testbed", "fabric"},
    "record": {"units", "spec", "owner", "archive"},
    "runner": {
        "owner",
        "meaning",
        "alarm",
        "units",
        "spec",
        "testbed",
        "cache",
        "building",
        "userland",
        "kernel",
        "fabric",
        "workload",
        "probe",
        "middlebox",
        "record",
        "packetdrill",
    },
    "bundler": {"owner", "cache", "building", "archive"},
    "cluster": {"owner", "cache", "units", "meaning", "spec", "kernel", "userland", "record", "runner", "archive"},
    "metric": {"units", "record"},
    "model": {"units", "prediction", "version", "spec"},
    "verdict": {"units", "version", "meaning", "prediction", "spec", "record", "model"},
    "report": {"ci", "shipped", "units", "prediction", "spec", "record", "metric", "model", "verdict"},
    "comparison": {"units", "version", "prediction", "spec", "record", "metric", "model", "verdict", "report"},
}
INTERFACE = {"lab/__init__.py"}  # Python's: `lab` itself
LAYERS["usecases"] = set(LAYERS)
LAYERS["course"] = set(LAYERS)
LAYERS["api"] = set(LAYERS)
LAYERS["cli"] = LAYERS["lab"] = set(LAYERS)
EXPERIMENT = {"units", "prediction", "spec", "record", "workload", "probe", "middlebox", "metric", "model", "verdict"}

# Of spec, what these may import: a network as it is resolved, what tasks say of themselves, where and by which clock a
# trial runs, a case as it is judged, an experiment as it was read.
NARROWED = {
    **{(layer, "spec"): ("lab.spec.network", "lab.spec.task") for layer in ("workload", "probe", "middlebox", "model")},
    ("record", "spec"): ("lab.spec.clock", "lab.spec.key"),
    ("experiment", "record"): ("lab.record.record",),  # what a figure of its own is computed from
    **{(layer, "spec"): ("lab.spec.case", "lab.spec.clock", "lab.spec.loaded") for layer in ("verdict", "comparison")},
    ("report", "spec"): ("lab.spec.case", "lab.spec.clock", "lab.spec.loaded", "lab.spec.task"),
}

SYSTEM_MODULES = {"asyncio", "ctypes", "fcntl", "mininet", "multiprocessing", "pty", "pyroute2", "socket", "subprocess"}
SYSTEM_CALLS = ("exec", "fork", "popen", "posix_spawn", "spawn", "system")  # of os, by how their names start
TOUCHES_SYSTEM = {
    *(
        "browser",
        "viewer",
        "building",
        "alarm",
        "userland",
        "testbed",
        "kernel",
        "packetdrill",
        "selftest",
        "fabric",
        "workload",
        "probe",
        "middlebox",
        "runner",
        "cluster",
    ),
}
EXEMPT = {
    "lab/cli/doctor.py",  # asks the machine what it can do
    "lab/bundler/start.py",  # starts the lab that a bundle carries
}


def imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything imported at any depth, or taken from `lab` itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parts = [*base, *(node.module.split(".") if node.module else [])]
            yield from ((node.lineno, ".".join([*parts, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lab":
            yield node.lineno, f"lab.{node.attr}"


def system_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of everything in `os` that makes a process."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(SYSTEM_CALLS):
                yield node.lineno, f"os.{name}"


def narrowed(layer: str, target: str) -> tuple[str, ...]:
    """The modules of `target` that `layer` may import."""
    return NARROWED.get((layer, target), ("lab",))


def violations(path: str, source: str) -> list[str]:
    """What the module at `path` (from the repository's root) does against the table."""
    parts = list(Path(path).with_suffix("").parts)
    layer = "experiment" if parts[0] != "lab" else "lab" if path in INTERFACE else parts[1]
    if layer not in LAYERS and layer != "experiment":
        return [f"{path}: lab/{layer} is in no layer: add it to the table, and to the design"]
    allowed = EXPERIMENT if layer == "experiment" else LAYERS[layer] | {layer, *SHARED}
    tree = ast.parse(source, path)
    found = []
    for line, name in imports(tree, parts[:-1]):
        top, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if name in ("lab", "lab.__file__"):
            continue  # where the package is, not what is in it
        if top == "lab" and target not in allowed:
            found.append(f"{path}:{line}: {layer} may not import {name}")
        elif top == "lab" and not f"{name}.".startswith(tuple(f"{only}." for only in narrowed(layer, target))):
            found.append(f"{path}:{line}: of {target}, {layer} may only import {' and '.join(narrowed(layer, target))}")
        elif top in SYSTEM_MODULES and layer not in TOUCHES_SYSTEM and path not in EXEMPT:
            found.append(f"{path}:{line}: {layer} touches the system by {name}")
    if layer not in TOUCHES_SYSTEM and path not in EXEMPT:
        found += [f"{path}:{line}: {layer} touches the system by {name}" for line, name in system_calls(tree)]
    return found


def sources() -> list[str]:
    """Every module; what experiments bring along for their guests, whose names begin with _, is none of the lab's."""
    own = (ROOT / "lab").rglob("*.py")
    declared = (
        file
        for top in ("experiments", "packs", "notebooks", "bench/experiments")
        for file in (ROOT / top).rglob("[!_]*.py")
    )
    return sorted(str(file.relative_to(ROOT)) for file in (*own, *declared))


@pytest.mark.parametrize("path", sources())
def test_a_module_keeps_to_its_layer(path: str) -> None:
    assert violations(path, (ROOT / path).read_text()) == []


NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("packs/*/notebooks/*.ipynb")])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_imports_the_lab_alone(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    names = [name for cell in cells for _, name in imports(ast.parse("".join(cell["source"])), [])]
    assert [name for name in names if name.split(".")[0] != "lab"] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lab/metric/goodput.py", "import lab.runner"),
        ("lab/metric/goodput.py", "from lab import fabric"),
        ("lab/metric/goodput.py", "from ..spec import network"),
        ("lab/metric/goodput.py", "def f():\n    from lab.kernel.uml.cache import UmlKernel"),
        ("lab/metric/goodput.py", "import lab\nlab.run('tcp-bottleneck')"),
        ("lab/metric/goodput.py", "import subprocess"),
        ("lab/metric/goodput.py", "import os\nos.execvp('tshark', [])"),
        ("lab/report/page.py", "from socket import socket"),
        ("lab/model/tcp.py", "from lab.record.record import Record"),
        ("lab/units.py", "import lab.spec.network"),
        ("lab/workload/bulk.py", "from lab.spec.topology import load"),
        ("lab/model/tcp.py", "from lab.spec.experiment import Experiment"),
        ("lab/model/tcp.py", "from lab.workload import Bulk"),
        ("lab/record/trial.py", "from lab.spec.loaded import LoadedExperiment"),
        ("lab/report/claim.py", "from lab.spec.load import load"),
        ("lab/somewhere/new.py", ""),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab.runner import run"),
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
        ("lab/spec/find.py", "import lab\nlab.__file__"),
        ("lab/workload/bulk.py", "import socket\nfrom lab.spec.network import Network"),
        ("lab/verdict/judged.py", "from lab.spec.case import Case\nfrom lab.spec.loaded import LoadedExperiment"),
        ("lab/cli/run.py", "from lab.comparison import compare"),
        ("experiments/tcp-bottleneck/baseline-1g.py", "from lab.spec.experiment import Experiment"),
    ],
)
def test_what_keeps_to_the_layers_passes(path: str, source: str) -> None:
    assert violations(path, source) == []
