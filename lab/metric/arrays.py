"""Give numpy, and names for its arrays, to all that reads records: numpy is imported where a first array is made.

Experiments name metrics before their guest can start, and what they name need not wait for a tenth of a start.
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
        """Stands for the module until it is used."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("numpy"), name)
            setattr(self, name, found)
            return found

    np = _Numpy()
    Ints = Bools = Floats = DType = object  # for annotations alone
