"""Define errors about a bundle."""

from __future__ import annotations

from lab.errors import LabError


class BundleError(LabError):
    """Raised when the file is not a bundle, or a damaged or forged one. None of its contents are used."""


class NoBundle(BundleError):
    """Raised when the file has a different kind: bad input.

    A damaged bundle, however, is a bundle that does not verify.
    """

    exit_code = 2
