"""Articles with kept records, as the tests of pages make them."""

from tests.report.conftest import here, keep, toy, toys

__all__ = ["here", "keep", "toy", "toys"]
