"""Reduce an executed notebook to the outputs to store with it, so that people can read the notebook without running it.

Stored outputs depend only on the records. Stored outputs contain no paths, times, progress or links into a store.
Pictures are PNG with few colours, which every notebook viewer shows. All other outputs are HTML and text.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterable
from html import unescape
from typing import Any

ANSWER = "application/vnd.replab.answer+json"  # the type of a student's answer in a cell's output
_MADE_OF = "replab"  # the key of a notebook's metadata with the digest of its outputs' inputs
_COLOURS = 48  # colours of a stored picture, for lines, labels and their smooth edges
_SAID = re.compile(r'(?:aria-label|alt)="([^"]*)"')  # a picture's alternative text
_MADE = re.compile(r"(after the fact), on 20\d\d-\d\d-\d\d")  # the date of a store's predictions
_LOCAL = re.compile(r'<a\b[^>]*href="(?!https?://|#|captures/)[^"]*"[^>]*>(.*?)</a>', re.DOTALL)


def reduced(notebook: Any, digest: str) -> Any:
    """Return the executed notebook with the outputs to store. `digest` identifies the inputs of the outputs."""
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        cell.metadata.pop("execution", None)
        cell.outputs = [_output(each, number) for each in cell.outputs if _stays(each)]
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata[_MADE_OF] = {"made_of": digest}
    return notebook


def made_of(notebook: Any) -> str:
    """Return the digest of the inputs for the stored outputs, or "" without stored outputs."""
    return str(notebook.metadata.get(_MADE_OF, {}).get("made_of", ""))


def digest(notebook: Any, sources: Iterable[str]) -> str:
    """Return the hash of the inputs for the outputs: the cells' code, and the `sources` of their claims."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps([code, sorted(sources)]).encode()).hexdigest()


def _stays(output: Any) -> bool:
    """Return whether an output is a result, not a remark or progress."""
    return output.output_type in ("execute_result", "display_data") and not output.metadata.get("progress")


def _output(output: Any, number: int) -> Any:
    data = output.data
    if "image/png" in data:
        said = _SAID.search(data.get("text/html", ""))
        text = unescape(said[1]) if said else data.get("text/plain", "a figure")
        kept = {"image/png": _small(data["image/png"]), "text/plain": text}
    else:
        kept = {kind: data[kind] for kind in ("text/plain", "text/html", ANSWER) if kind in data}
        if "text/html" in kept:
            kept["text/html"] = _MADE.sub(r"\1", _LOCAL.sub(r"\1", kept["text/html"]))
    output.data, output.metadata = kept, {}
    if output.output_type == "execute_result":
        output.execution_count = number
    return output


def _small(png: str) -> str:
    from PIL import Image

    shrunk = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(shrunk, "PNG", optimize=True)
    return base64.b64encode(shrunk.getvalue()).decode()
