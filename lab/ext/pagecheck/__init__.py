"""Check pages in Chromium, including all links: `lab report --check`."""

from lab.app.extension import Extension

EXTENSION = Extension(hooks={"pages": "inspection:inspect"})
