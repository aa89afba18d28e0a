"""Whether Jupyter Lab at an address shows the exercises to who has the token, and to nobody else."""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 300  # until it answers, on a slow machine


def status(address: str, token: str = "") -> tuple[int, bytes]:
    """What it answers: a status of HTTP, and the body."""
    request = urllib.request.Request(address, headers={"Authorization": f"token {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def main(address: str, token: str) -> None:
    """Raises AssertionError, and the last OSError when nobody answers in time."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            refused, _ = status(address)
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(1)
    found, body = status(address, token)
    names = [entry["name"] for entry in json.loads(body or b'{"content": []}')["content"]]
    print(f"without the token {refused}, with it {found}: {', '.join(sorted(names))}")
    assert (refused, found) == (403, 200)
    assert any(name.endswith(".ipynb") for name in names)


main(sys.argv[1], Path(sys.argv[2]).read_text())
