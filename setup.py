"""Installs the lab for those who call setup.py; what is built, and how, is in pyproject.toml."""

import subprocess
import sys

WAYS = {"install": ["."], "develop": ["--editable", "."]}

if len(sys.argv) != 2 or sys.argv[1] not in WAYS:
    sys.exit("setup.py: say install or develop; all else is `pip` or `python -m build`")
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *WAYS[sys.argv[1]]]))
