"""Check pages in Chromium, and all their links: `lab report --check`."""

from lab.app.extension import Extension

EXTENSION = Extension(hooks={"pages": "inspection:inspect"})
