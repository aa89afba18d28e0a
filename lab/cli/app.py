"""Provide the whole command line as one object, for the manual page and for tests."""

from __future__ import annotations

from lab.cli.assembly import assembled

app = assembled()
