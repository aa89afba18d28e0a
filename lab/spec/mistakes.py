"""Turn pydantic's errors into sentences for networking engineers."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel, ValidationError

from lab.spec.carried import LONGEST_NAME
from lab.spec.direction import BurstLossPart, JitterPart, SlotPart
from lab.spec.document import Place
from lab.spec.errors import instead, told
from lab.spec.format import LinkPart, TopologyPart
from lab.spec.parts import Mistakes
from lab.spec.routes import MulticastPart, RoutePart

MISSING: Mapping[tuple[type[BaseModel], str], str] = {
    (TopologyPart, "about"): "describe the topology in a sentence",
    (TopologyPart, "hosts"): "name at least one",
    (LinkPart, "ends"): "name the two nodes that the link joins",
    (JitterPart, "deviation"): "give the standard deviation of the delay, like '10 ms'",
    (BurstLossPart, "p"): "give the chance that a burst of losses begins, like '1 %'",
    (BurstLossPart, "r"): "give the chance that a burst of losses ends, like '20 %'",
    (SlotPart, "min"): "give the shortest time from one slot to the next, like '10 ms'",
    (SlotPart, "max"): "give the longest time from one slot to the next, like '10 ms'",
    (RoutePart, "to"): "give a destination, like a node's name or 'default'",
    (MulticastPart, "source"): "name the node that sends to the group",
    (MulticastPart, "receivers"): "name at least one node",
}


def explain(error: ValidationError) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for every mistake in a topology's data."""
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
        return told(cause)
    if kind.endswith("_type") and detail["input"] is None:
        return f"no value is given; {_advice(place) or 'give one, or leave the key out'}"
    match kind:
        case "extra_forbidden":
            known = _keys(place[:-1])
            return f"unknown key{instead(str(place[-1]), known)}"
        case "missing":
            return f"missing; {_advice(place)}"
        case "string_pattern_mismatch" if "sysctls" in place:
            return "is not a sysctl of a network namespace; use one whose name starts with 'net.'"
        case "string_pattern_mismatch":
            most = LONGEST_NAME if "vrfs" in place else 32
            return f"'{detail['input']}' is not a name; use up to {most} letters, digits, '-' and '_', a letter first"
        case "too_short":
            return f"is empty; {_advice(place) or 'name at least one'}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return "should be a mapping of keys to values"
        case "tuple_type":
            return "should be a list"
        case "enum":
            return f"'{detail['input']}' should be {detail['ctx']['expected'].replace(chr(39), '')}"
        case _:
            return f"'{detail['input']}': {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _advice(place: Place) -> str | None:
    """Return what to write for the key at `place`."""
    kind = _kind(place[:-1]) if place else None
    return MISSING.get((kind, str(place[-1]))) if _is_part(kind) else None


def _keys(place: Place) -> tuple[str, ...]:
    """Return the keys that a mapping at `place` may have."""
    kind = _kind(place)
    return tuple(kind.model_fields) if _is_part(kind) else ()


def _kind(place: Place) -> Any:
    """Return the type of the part at `place`, or None if there is no such part."""
    kind: Any = TopologyPart
    for step in place:
        kind = _within(kind, str(step))
    return kind


def _within(kind: Any, step: str) -> Any:
    """Return the type of the part at `step` in a value of type `kind`, or None if there is no such part."""
    if _is_part(kind):
        return _given(kind.model_fields[step].annotation) if step in kind.model_fields else None
    if get_origin(kind) is dict:
        return _given(get_args(kind)[1])
    return _given(get_args(kind)[0]) if get_origin(kind) is tuple else None


def _given(annotation: Any) -> Any:
    """Return the type of a value that is present: Part for `Part | None`, and for `Annotated[Part, ...]`."""
    match get_origin(annotation):
        case typing.Annotated:
            return _given(get_args(annotation)[0])
        case typing.Union | types.UnionType:
            return _given(next(each for each in get_args(annotation) if each is not types.NoneType))
        case _:
            return annotation


def _is_part(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
