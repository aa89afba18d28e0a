"""Say where the claims, topologies and notebooks are that the lab ships."""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """Return the folder that holds experiments/, topologies/ and notebooks/: in the package, or of the checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "share"  # only a wheel has it: pyproject.toml says what goes in
    return installed if installed.is_dir() else package.parent
