"""Write dates as texts that sort in chronological order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_FIRST = "2026-01-01"  # before the lab kept any date
_FORM = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{6}\+00:00)?")
_AHEAD = timedelta(days=1)  # the most that another machine's clock may be ahead


def now() -> str:
    """Return the current time in UTC, in ISO 8601 form, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def is_possible(text: str) -> bool:
    """Return whether a text is a possible date: not before the lab's beginning, and not in the future.

    The text is a day, or a date in the form of `now`.
    """
    if not _FORM.fullmatch(text) or text < _FIRST:
        return False
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return False
    return found.replace(tzinfo=UTC) < datetime.now(UTC) + _AHEAD
