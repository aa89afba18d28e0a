"""Check pages in Chromium, including all links: `lab report --check`."""

from lab.ext import Extension

EXTENSION = Extension(hooks={"pages": "inspection:inspect"})
