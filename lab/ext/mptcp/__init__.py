"""Model Multipath TCP: a connection's use of its paths, and the time of a transfer over several paths."""

from lab.ext import Extension

EXTENSION = Extension()
