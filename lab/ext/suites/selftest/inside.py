"""Run one of the kernel's selftests in a guest: ARCHIVE TEST SECONDS. Its output goes to standard output.

Leaves status.json: the exit status, null when the time was up. As with the kernel's own runner the test starts in its
own folder, with no input, in the machine's first network namespace.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

PLACE = Path("/tmp/selftests")


def run(archive: str, test: str, seconds: float) -> int | None:
    """Return the exit status; None when the test did not end in its time."""
    with tarfile.open(archive) as tar:
        tar.extractall(PLACE, filter="data")
    file = PLACE / test
    environment = {**os.environ, "PATH": f"{PLACE / 'bin'}:{os.environ['PATH']}", "HOME": "/tmp"}
    process = subprocess.Popen(
        [f"./{file.name}"],
        cwd=file.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    handle = os.pidfd_open(process.pid)
    ended = bool(select.select([handle], [], [], seconds)[0])
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    return status if ended else None


if __name__ == "__main__":
    found = run(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    Path("status.json").write_text(json.dumps({"status": found}) + "\n")
