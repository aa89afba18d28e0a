"""Provide numpy, and names for its array types, to all modules that read records. The first use imports numpy.

Experiments import metrics before their guest starts. Importing numpy at that time would take a tenth of the start-up
time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Bools", "DType", "Floats", "Ints", "np"]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints: TypeAlias = npt.NDArray[Any]  # of any integer type: columns are as wide as the field, positions 64 bits
    Bools: TypeAlias = npt.NDArray[np.bool_]
    Floats: TypeAlias = npt.NDArray[np.float64]
    DType: TypeAlias = npt.DTypeLike
else:

    class _Numpy:
        """Stands in for the numpy module until its first use."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("numpy"), name)
            setattr(self, name, found)
            return found

    np = _Numpy()
    Ints = Bools = Floats = DType = object  # for annotations only
