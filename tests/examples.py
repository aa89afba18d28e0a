"""How many examples hypothesis tries: `make check` a tenth of what `make test` tries."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["FULL", "QUICK", "examples"]

FULL, QUICK = 100, 10  # of a test that does not say how many


def examples(count: int) -> settings:
    """Try so many examples with all others at `FULL`, and with fewer of these as many fewer."""
    return settings(max_examples=max(1, count * settings().max_examples // FULL))
