"""The store of the tests of comparisons."""

from tests.comparison.conftest import judge, syn

__all__ = ["judge", "syn"]
