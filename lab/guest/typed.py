"""Check values against the types of a declaration's fields, or of a function's arguments.

One rule holds for all types: text becomes a quantity if the field needs a quantity, and a list becomes a tuple. No
other value is converted. Guests import this module, so its imports must stay light.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, wraps
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import structs

from lab.units import Quantity

__all__ = ["Declared", "FieldError", "arguments", "settle"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PLAIN = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
_UNIONS = (types.UnionType, Union)
_MOST = 60  # characters of a wrong value that a message shows


class FieldError(ValueError):
    """Raised with all mistakes in the fields of one declaration, or in the arguments of one call."""

    def __init__(self, owner: str, found: Mapping[str, str]) -> None:
        self.fields = tuple(found)
        super().__init__("; ".join(f"{owner}.{name}: {message}" for name, message in found.items()))


class Declared:
    """A frozen dataclass that derives from this class checks its fields when it is created, and raises FieldError."""

    def __post_init__(self) -> None:
        settle(self)


def settle(declared: object) -> None:
    """Check all fields of a frozen dataclass or struct, and convert text and lists. Raises FieldError."""
    wrong: dict[str, str] = {}
    for name, kind in _fields(type(declared)).items():  # type: ignore[arg-type]  # mypy knows no hash of type[object]
        value = getattr(declared, name)
        try:
            found = _converted(value, kind)
        except ValueError as error:
            wrong[name] = str(error)
            continue
        if found is not value and isinstance(declared, msgspec.Struct):
            structs.force_setattr(declared, name, found)
        elif found is not value:
            object.__setattr__(declared, name, found)
    if wrong:
        raise FieldError(type(declared).__name__, wrong)


def arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function so that its arguments are checked against their annotations.

    A wrong call raises FieldError.
    """

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        from inspect import Parameter, signature

        wanted, bound = signature(function), signature(function).bind(*args, **kwargs)
        kinds, wrong = get_type_hints(function, include_extras=True), {}
        for name, value in bound.arguments.items():
            several = wanted.parameters[name].kind is Parameter.VAR_POSITIONAL
            try:
                bound.arguments[name] = _tuple(value, (kinds[name], ...)) if several else _converted(value, kinds[name])
            except ValueError as error:
                wrong[name] = str(error)
        if wrong:
            raise FieldError(function.__name__, wrong)
        return function(*bound.args, **bound.kwargs)

    return checked


@cache
def _fields(kind: type[Any]) -> Mapping[str, Any]:
    """Return the type of each field of this type's objects, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if hint is not ClassVar and get_origin(hint) is not ClassVar}


def _converted(value: Any, kind: Any) -> Any:
    """Return the value, converted to the type. Raises ValueError with advice for the user."""
    if kind is Any:
        return value
    origin, args = get_origin(kind), get_args(kind)
    if origin is None:
        return _object(value, kind)
    if origin in _UNIONS:
        return _one_of(value, args)
    if origin is Annotated:
        return _annotated(value, *args)
    if origin is Literal:
        return _literal(value, args)
    if origin is tuple:
        return _tuple(value, args)
    if issubclass(origin, Mapping):
        return _mapping(value, args)
    return _function(value, *args)


def _object(value: Any, kind: type) -> Any:
    """Return the value if it is an object of this type. Raises ValueError."""
    if issubclass(kind, Quantity) and kind is not Quantity:
        return kind.of(value)
    if isinstance(value, type):  # a class has its objects' attributes, and would pass for an object of a protocol
        raise ValueError(f"should be {_named(kind)}, not {_shown(value)}")
    if kind in (int, float) and isinstance(value, bool):
        raise ValueError(f"should be {_PLAIN[kind]}, not {value}")
    if kind is float and isinstance(value, int | float):
        if not isfinite(value):
            raise ValueError(f"should be a number, not {value}")
        return value
    if not isinstance(value, kind):
        raise ValueError(f"should be {_named(kind)}, not {_shown(value)}")
    return value


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Return the value, converted to the first of these types that accepts it. Raises ValueError."""
    wanted = [kind for kind in kinds if kind is not types.NoneType]
    if value is None and len(wanted) < len(kinds):
        return None
    if len(wanted) == 1:
        return _converted(value, wanted[0])
    for kind in wanted:
        with suppress(ValueError):
            return _converted(value, kind)
    for kind in wanted if callable(value) and not isinstance(value, type) else ():
        if get_origin(kind) is Callable:
            _converted(value, kind)  # raises ValueError with what is wrong with the function
    raise ValueError(f"should be {' or '.join(map(_named, wanted))}, not {_shown(value)}")


def _annotated(value: Any, kind: Any, meta: msgspec.Meta) -> Any:
    """Return the value, converted to the type, if it is within `meta`'s bounds.

    The error message names the type by `meta.title`.
    """
    try:
        found = _converted(value, kind)
    except ValueError as error:
        raise ValueError(f"should be {meta.title}, not {_shown(value)}" if meta.title else str(error)) from None
    if meta.ge is not None and not meta.ge <= found <= (found if meta.le is None else meta.le):
        wanted = f"{meta.ge} or more" if meta.le is None else f"from {meta.ge} to {meta.le:,}"
        raise ValueError(f"should be {wanted}, not {found:,}")
    return found


def _literal(value: Any, words: tuple[Any, ...]) -> Any:
    if not any(value == word and type(value) is type(word) for word in words):
        raise ValueError(f"should be {' or '.join(map(repr, words))}, not {_shown(value)}")
    return value


def _tuple(value: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    several = len(kinds) == 2 and kinds[1] is Ellipsis
    what = f"a tuple ({_named(kinds[0])}, ...)" if several else f"a tuple ({', '.join(map(_named, kinds))})"
    if not isinstance(value, tuple | list):
        lone = ""
        with suppress(ValueError):
            _converted(value, kinds[0])
            lone = "; one alone needs a comma behind it: (..., )" if several else ""
        raise ValueError(f"should be {what}, not {_shown(value)}{lone}")
    if not several and len(value) != len(kinds):
        raise ValueError(f"should be {what}, not {_shown(value)}")
    inner = [kinds[0]] * len(value) if several else kinds
    found = tuple(_within(index, each, kind) for index, (each, kind) in enumerate(zip(value, inner, strict=True)))
    if isinstance(value, tuple) and all(new is old for new, old in zip(found, value, strict=True)):
        return value
    return found


def _function(value: Any, given: Any, _: Any) -> Any:
    """Return the value if it is a function for these arguments.

    Raises ValueError otherwise, also if the value is a factory that returns such a function.
    """
    if not callable(value):
        raise ValueError(f"should be a function, not {_shown(value)}")
    from inspect import signature

    name = getattr(value, "__name__", type(value).__name__)
    made: Any = None
    with suppress(NameError, TypeError):  # annotations that cannot be read do not help
        made = get_type_hints(value).get("return")
    if get_origin(made) is Callable or (isinstance(made, type) and "__call__" in vars(made)):
        raise ValueError(f"{name} makes the function that is wanted: call it, {name}(...)")
    wanted = f"should take {len(given)} argument{'' if len(given) == 1 else 's'}"
    try:
        signature(value).bind(*given)
    except TypeError as error:
        raise ValueError(f"{name} {wanted}: {error}") from None
    except ValueError:  # a function in C may have no signature
        return value
    return value


def _mapping(value: Any, kinds: tuple[Any, ...]) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"should be a mapping {{{_named(kinds[0])}: {_named(kinds[1])}, ...}}, not {_shown(value)}")
    for key, each in value.items():
        _converted(key, kinds[0])
        _within(key, each, kinds[1])
    return value


def _within(place: object, value: Any, kind: Any) -> Any:
    try:
        return _converted(value, kind)
    except ValueError as error:
        raise ValueError(f"[{place!r}] {error}") from None


def _named(kind: Any) -> str:
    """Return the name of a type for an error message: 'a whole number', 'Reported(figure=..., quote=..., part=...)'."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is not None:
        if origin is Annotated:
            return args[1].title or _named(args[0])
        if origin in _UNIONS:
            return " or ".join(_named(each) for each in args if each is not types.NoneType)
        if origin is Literal:
            return " or ".join(map(repr, args))
        return {tuple: "a tuple", Callable: "a function"}.get(origin, "a mapping")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if issubclass(kind, Quantity):
        return "a quantity" if kind is Quantity else f"a {kind.kind}"
    return f"{kind.__name__}({', '.join(f'{name}=...' for name in _fields(kind))})"


def _shown(value: Any) -> str:
    """Return a wrong value, shortened, for an error message."""
    if isinstance(value, type):
        return f"the class {value.__name__}: write {value.__name__}(...)"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    text = repr(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."
