"""Whatever is wrong in a topology, wherever a key stands: it is told, with what to write instead."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from lab.spec import document
from lab.spec.document import Place
from lab.spec.errors import SpecError
from lab.spec.format import TopologyPart
from lab.spec.topology import parse


def parts(kind: Any, place: Place = ()) -> Iterator[tuple[Place, type[BaseModel]]]:
    """Every mapping that a topology may have, and where: names are `x`, and of a list it is the first."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield place, kind
        for name, field in kind.model_fields.items():
            yield from parts(field.annotation, (*place, name))
    else:
        origin = typing.get_origin(kind)
        step: Place = ("x",) if origin is dict else (0,) if origin is tuple else ()
        for each in typing.get_args(kind):
            yield from parts(each, (*place, *step))


PARTS = dict(parts(TopologyPart))


def text(place: Place, inner: str) -> str:
    """A topology in flow style with `inner` as what is at `place`."""
    for step in reversed(place):
        inner = f"[{inner}]" if step == 0 else f"{{{step}: {inner}}}"
    return inner


def said(content: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse(content, Path("net.yaml"))
    return [problem.message for problem in caught.value.problems]


def test_all_parts_are_tried() -> None:
    """So that what follows tests something."""
    assert {("links", "x", "forward", "changes", 0), ("links", "x", "slot"), ("hosts", "x", "offloads")} < PARTS.keys()


@pytest.mark.parametrize("place", PARTS, ids=lambda place: ".".join(map(str, place)) or "top")
def test_an_unknown_key_is_told_with_the_known_ones(place: Place) -> None:
    (found,) = (each for each in said(text(place, "{zzzzzz: 1}")) if "zzzzzz" in each)
    known = ", ".join(PARTS[place].model_fields)
    assert found.endswith(f"unknown key; use {known}" if known else "unknown key")


@pytest.mark.parametrize("place", PARTS, ids=lambda place: ".".join(map(str, place)) or "top")
def test_a_missing_key_is_told_with_what_it_is_for(place: Place) -> None:
    wanted = {name for name, field in PARTS[place].model_fields.items() if field.is_required()}
    here = ".".join(map(str, place))
    told = [each for each in said(text(place, "{zzzzzz: 1}")) if each.startswith(here) and "missing; " in each]
    assert wanted <= {each.partition(": ")[0].rpartition(".")[2] for each in told}


def test_a_key_without_a_value_is_told() -> None:
    assert any(
        each.endswith("about: no value is given; describe the topology in a sentence") for each in said("about:")
    )


def test_aliases_of_aliases_are_told_and_not_expanded() -> None:
    """Nine lists of nine aliases each are a billion values."""
    lists = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
    (message,) = said("\n".join(lists))
    assert message == "not YAML: its aliases stand for more than 10,000 values"


def test_an_alias_of_itself_is_told() -> None:
    (message,) = said("a: &a [*a]")
    assert message.startswith("not YAML: ")


def test_an_alias_stands_for_what_it_names() -> None:
    data = document.parse("one: &one {rate: 1}\ntwo: *one", Path("a.yaml")).data
    assert data == {"one": {"rate": 1}, "two": {"rate": 1}}
