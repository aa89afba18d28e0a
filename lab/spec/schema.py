"""Generate the JSON schema of topology files, with a description of every key.

The descriptions are the docstrings under the keys in the modules that define them. This module reads the docstrings, so
that pydantic need not read them when it creates the classes. Reading the source would take a tenth of `lab`'s start-up
time, and only editors need the descriptions.
"""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from typing import Any

from lab.spec import direction, overlay, routes
from lab.spec import format as files

ID = "urn:uuid:2d1c0b6e-5a37-4f0e-9d7c-3f6f7d3b9a51"  # identifies this format in every copy of the schema


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a topology file, for editors."""
    schema = files.TopologyPart.model_json_schema()
    said = _sentences()
    for name, part in {files.TopologyPart.__name__: schema, **schema["$defs"]}.items():
        for key, about in part.get("properties", {}).items():
            about["description"] = said[name][key]
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": ID}
    return {**about, **schema, "title": "replab topology"}


def _sentences() -> dict[str, dict[str, str]]:
    """Return the docstring under each key, by class and key, including the keys of base classes."""
    found: dict[str, dict[str, str]] = {}
    modules = (direction, overlay, routes, files)  # a base class before its subclasses
    for part in (each for module in modules for each in ast.parse(inspect.getsource(module)).body):
        if isinstance(part, ast.ClassDef):
            said = found[part.name] = {}
            for base in part.bases:
                said |= found.get(ast.unparse(base).rpartition(".")[2], {})
            for key, text in pairwise(part.body):
                if isinstance(key, ast.AnnAssign) and isinstance(text, ast.Expr):
                    said[ast.unparse(key.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return found
