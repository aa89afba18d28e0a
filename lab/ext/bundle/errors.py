"""Define the errors for bundles."""

from __future__ import annotations

from lab.errors import LabError


class BundleError(LabError):
    """Raised if the file is not a bundle, or is a damaged or forged bundle. None of its contents are used."""


class NoBundle(BundleError):
    """Raised if the file is not a bundle, which is an input error.

    In contrast, a damaged bundle is a bundle that does not verify.
    """

    exit_code = 2
