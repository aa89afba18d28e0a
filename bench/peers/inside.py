"""Run a command as the parent of all that it starts, and end what it leaves: `python -m bench.peers.inside COMMAND...`.

The time of processes that outlive the command counts as well, because they become children of this one.
"""

import resource
import subprocess
import sys
from pathlib import Path

from lab.ext.own_machine import collect_orphans, end_children

SECONDS = "seconds"  # the file that holds the CPU seconds of all these processes

if __name__ == "__main__":
    collect_orphans()
    status = subprocess.run(sys.argv[1:]).returncode
    end_children()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(SECONDS).write_text(str(used.ru_utime + used.ru_stime))
    sys.exit(status)
