"""For tools that still call setup.py. Everything is in pyproject.toml."""

from setuptools import setup

setup()
