"""Turn what pydantic found wrong into sentences for a networking person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from lab.spec.document import Place
from lab.spec.errors import suggestion
from lab.spec.format import Mistakes, TopologyPart

MISSING = {
    "about": "say what the topology is in a sentence",
    "hosts": "name at least one",
    "ends": "name the two nodes that the link joins",
}


def explain(error: ValidationError) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for everything wrong in a topology's data."""
    for detail in error.errors(include_url=False):
        place: Place = tuple(step for step in detail["loc"] if step != "[key]")
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, Mistakes):
            for inner, message in cause.found:
                yield (*place, *inner), message
        else:
            yield place, _sentence(detail["type"], detail, place, cause)


def _sentence(kind: str, detail: Any, place: Place, cause: Exception | None) -> str:
    if cause is not None:
        return str(cause)
    match kind:
        case "extra_forbidden":
            known = _keys(place[:-1])
            return f"unknown key{suggestion(str(place[-1]), known) or f': use {_list(known)}' if known else ''}"
        case "missing":
            return f"missing: {MISSING[str(place[-1])]}"
        case "string_pattern_mismatch" if "sysctls" in place:
            return "not a sysctl of a network namespace: its name starts with 'net.'"
        case "string_pattern_mismatch":
            return f"'{detail['input']}' is not a name: up to 32 letters, digits, '-' and '_', a letter first"
        case "model_type" | "dict_type" | "model_attributes_type":
            return "should be a mapping of keys to values"
        case "enum":
            return f"'{detail['input']}' should be {detail['ctx']['expected'].replace(chr(39), '')}"
        case _:
            return f"'{detail['input']}': {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _keys(place: Place) -> tuple[str, ...]:
    """Return the keys that a mapping at `place` may have."""
    part: type[BaseModel] | None = TopologyPart
    named: type[BaseModel] | None = None  # set while the next step is a name that the user chose
    for step in place:
        if named is not None:
            part, named = named, None
        elif part is not None:
            annotation = part.model_fields[str(step)].annotation
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                part = annotation
            else:
                part, named = None, get_args(annotation)[1]
    return tuple(part.model_fields) if part is not None else ()


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(words)
