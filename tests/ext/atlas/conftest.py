"""Claims that are judged on crafted records, as the tests of comparisons make them."""

from tests.ext.comparison.conftest import judge, syn

__all__ = ["judge", "syn"]
