"""Offer the whole command line to what looks at all of it: the manual page, and tests."""

from __future__ import annotations

from lab.cli.assembly import assembled

__all__ = ["app"]

app = assembled()
