"""The store of the tests of comparisons."""

from tests.ext.comparison.conftest import judge, syn

__all__ = ["judge", "syn"]
