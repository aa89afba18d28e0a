"""Write docs/reference.md, which lists everything that an experiment can name: `make reference` runs this."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from lab.spec import queue
from lab.spec.prediction import Prediction
from lab.spec.schema import json_schema

__all__ = ["page"]

_HEAD = """\
# Everything that an experiment can name

`make reference` generates this page from the code. `help()` in Python shows each name with its units and errors:
`help(lab.guest.workload.Bulk)`.
"""
_TASKS = {"Workloads": "lab.guest.workload", "Probes": "lab.guest.probe", "Middleboxes": "lab.guest.middlebox"}
_PARTS = {
    "LinkPart": "A link, and each of its directions",
    "NodePart": "A host or a router, with settings",
    "RoutePart": "One of `routes`",
    "MulticastPart": "One of `multicast`",
    "EndPart": "An end of a link",
    "OffloadsPart": "Offloads",
    "BurstLossPart": "`burst_loss`",
    "SlotPart": "`slot`",
    "ChangePart": "One of `changes`",
}


def page() -> str:
    """Return the page as Markdown."""
    tasks = (_tasks(title, import_module(name)) for title, name in _TASKS.items())
    names = (_metrics(import_module("lab.metric")), _predictions(import_module("lab.model")))
    return "\n".join([_HEAD, *tasks, *names, _queues(), _topology()])


def _table(title: str, head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    text = "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
    return f"## {title}\n{text}\n"


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def _first(value: object) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    return first.partition(". ")[0].rstrip(".")


def _fields(signature: inspect.Signature) -> str:
    return ", ".join(f"`{name}`" for name in signature.parameters) or "none"


def _tasks(title: str, module: ModuleType) -> str:
    found = ((name, getattr(module, name)) for name in module.__all__)
    classes = ((name, each) for name, each in found if inspect.isclass(each))
    rows = ((f"`{name}`", _first(each), _fields(inspect.signature(each))) for name, each in classes)
    return _table(f"{title}: `{module.__name__}`", ("name", "does", "fields"), rows)


def _metrics(module: ModuleType) -> str:
    found = ((name, getattr(module, name)) for name in module.__all__)
    functions = ((name, each, inspect.signature(each)) for name, each in found if inspect.isfunction(each))
    rows = (
        (f"`{name}`", _first(each), _fields(signature))
        for name, each, signature in functions
        if "Measure" in str(signature.return_annotation)
    )
    return _table("Metrics: `lab.metric`", ("name", "measures", "arguments"), rows)


def _predictions(module: ModuleType) -> str:
    found = sorted((name, each) for name, each in vars(module).items() if isinstance(each, Prediction))
    rows = ((f"`{name}`", each.kind, _first(each)) for name, each in found)
    return _table("Predictions: `lab.model`", ("name", "kind", "predicts"), rows)


def _queues() -> str:
    rows = ((f"`{kind}`", ", ".join(f"`{name}`" for name in known)) for kind, known in queue.KINDS.items())
    return _table("Queues of a link: `queue`", ("kind", "parameters"), rows)


def _topology() -> str:
    schema = json_schema()
    parts = [_table("Keys of a topology", ("key", "holds"), _keys(schema))]
    for name, title in _PARTS.items():
        parts.append(_table(title, ("key", "holds"), _keys(schema["$defs"][name])).replace("## ", "### ", 1))
    return "\n".join(parts)


def _keys(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, each in part["properties"].items():
        required = " (required)" if name in part.get("required", ()) else ""
        yield f"`{name}`", f"{each.get('description', '')}{required}"


if __name__ == "__main__":
    sys.stdout.write(page())
