"""Name what a metric measures, for a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from lab.report import html
from lab.spec.metric import described

_CAPITALS = (
    "ACK",
    "ACKs",
    "CPU",
    "Flent",
    "GB",
    "Jain",
    "JSON",
    "MSS",
    "RTT",
)  # words of a metric's name with capital letters


def quantity(measure: Any) -> str:
    """Return the name of a metric's quantity, as HTML, with the first sentence of the metric's docstring."""
    inner = described(measure).innermost
    called = "_".join(map(str, inner.given.get("keys", ()))) or inner.name  # a program's own name is clearer
    written = {word.lower(): word for word in _CAPITALS}
    words = " ".join(written.get(word, word) for word in called.split("_"))
    return f'<span title="{escape(inner.about)}">{escape(words)}</span>'


def measured(measures: Iterable[Any]) -> str:
    """Return the metrics' calls, with the first sentence of each docstring only once."""
    found: dict[str, list[str]] = {}
    for measure in measures:
        metric = described(measure)
        found.setdefault(metric.about, []).append(html.code(metric.call()))
    calls = {said: ", ".join(dict.fromkeys(codes)) for said, codes in found.items()}
    return "; ".join(f"{called} ({html.prose(said)})" if said else called for said, called in calls.items())
