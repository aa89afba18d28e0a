"""Write the configuration file with which a CI system runs the lab on every change (`lab ci init`)."""

from __future__ import annotations

import re
from pathlib import Path

from lab.base.writing import write
from lab.errors import InputError

_GITHUB = """\
# Runs the lab on every change. Its report is among the run's artifacts.
name: lab
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  lab:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: {lab}
        with:
          command: {command}
          report: lab.xml
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: lab, path: lab.xml}}
"""
_GITLAB = """\
# Runs the lab on every change. GitLab shows its report with the merge request.
lab:
  image: debian:trixie
  variables: {{XDG_CACHE_HOME: $CI_PROJECT_DIR/.cache}}
  cache: {{key: replab, paths: [.cache/replab]}}
  script:
    - apt-get update -qq && apt-get install -qq --no-install-recommends ca-certificates git python3 python3-venv
    - git clone --depth 1 {lab} ../replab
    - ../replab/tools/in-ci {command} --report junit=lab.xml
  artifacts: {{when: always, reports: {{junit: lab.xml}}}}
"""
SYSTEMS = {
    "github": (Path(".github/workflows/lab.yml"), _GITHUB, "OWNER/NAME@REF, where the lab's repository is on GitHub"),
    "gitlab": (Path(".gitlab-ci.yml"), _GITLAB, "the URL of the lab's repository"),
}
_LAB = {"github": r"[\w.-]+/[\w.-]+@[\w./-]+", "gitlab": r"(https|ssh|git)://[\w.@:/~-]+"}
_COMMAND = r"(run|packetdrill run)( [\w./:*@=-]+)*"


def create(system: str, lab: str, command: str) -> str:
    """Write the CI system's configuration file below the current directory, and return its name.

    `lab` is the lab's repository, and `command` is the lab's command to run. Raises InputError if one of these is
    invalid or the file already exists, and MachineError if the write fails.
    """
    if system not in SYSTEMS:
        raise InputError(f"'{system}' is unknown; use {' or '.join(SYSTEMS)}")
    file, text, wanted = SYSTEMS[system]
    if not re.fullmatch(_LAB[system], lab, re.ASCII):
        raise InputError(f"--lab {lab} is not allowed; write {wanted}")
    if not re.fullmatch(_COMMAND, command, re.ASCII):
        raise InputError(
            f"--command {command} is not allowed; it must start with `run` or `packetdrill run`, and have no quotes"
        )
    if file.exists():
        raise InputError(f"{file} already exists; remove it, or copy the lines that you need from the documentation")
    write(text.format(lab=lab, command=command), file)
    return str(file)
