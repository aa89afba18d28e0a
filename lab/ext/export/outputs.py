"""Read JSON outputs and check their types, because a record may come from a stranger."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from lab.record.record import Record, RecordError

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
_T = TypeVar("_T")


def typed(record: Record, name: str, kind: type[_T]) -> _T | None:
    """Return the output `name` as this type, or None if there is no such output. Raises RecordError for a different
    type.
    """
    if name not in record.outputs:
        return None
    try:
        return msgspec.convert(record.json(name), kind)
    except msgspec.ValidationError as error:
        raise RecordError(f"{record.folder}: output '{name}' is unreadable: {error}") from error
