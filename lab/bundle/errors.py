"""Say what is wrong with a bundle."""

from __future__ import annotations

from lab.errors import LabError

__all__ = ["BundleError"]


class BundleError(LabError):
    """The file is no bundle, or a damaged or forged one. Nothing of it is used."""
