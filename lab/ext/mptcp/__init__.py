"""Model Multipath TCP: how a connection uses its paths, and how long a transfer over several paths takes."""

from lab.app.extension import Extension

EXTENSION = Extension()
