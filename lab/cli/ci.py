"""Write, for `lab ci init`, the file that makes a CI system run the lab on every change."""

from __future__ import annotations

import re
from pathlib import Path

from lab.errors import InputError, MachineError

__all__ = ["SYSTEMS", "create"]

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
    """Write the system's file below the current directory; return its name.

    `lab` says where the lab comes from, `command` what it does. Raises InputError when one of them is not understood or
    the file is there already, MachineError when it cannot be written.
    """
    if system not in SYSTEMS:
        raise InputError(f"'{system}' is none of {', '.join(SYSTEMS)}")
    file, text, wanted = SYSTEMS[system]
    if not re.fullmatch(_LAB[system], lab, re.ASCII):
        raise InputError(f"--lab {lab}: write {wanted}")
    if not re.fullmatch(_COMMAND, command, re.ASCII):
        raise InputError(f"--command {command}: it starts with `run` or `packetdrill run`, and has no quotes")
    if file.exists():
        raise InputError(f"{file} exists already: remove it first, or take over what you need from the documentation")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(lab=lab, command=command), encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{file} cannot be written: {error.strerror}") from None
    return str(file)
