"""Tell in one line how to set up, if the tests run with a Python that has not all their packages."""

import sys
from importlib.util import find_spec

NEEDED = ("hypothesis", "jsonschema", "msgspec", "numpy", "pydantic", "rich", "ruamel", "typer")

missing = next((name for name in NEEDED if find_spec(name) is None), None)
if missing:
    sys.stderr.write(f"{sys.executable} has no {missing}: run `make setup-test`, then `.venv/bin/pytest`\n")
    sys.exit(4)  # as pytest does for wrong usage
