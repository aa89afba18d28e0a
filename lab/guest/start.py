"""Start a trial in a user-mode kernel: like `python -m lab.guest.perform FOLDER`, but with less CPU time.

The imports touch some 2,000 new pages. Each first touch of a page is a fault, which costs a user-mode kernel two
switches between processes. With mlockall(), a region's pages are mapped together with the region.
"""

from __future__ import annotations

import ctypes
import os
import sys

MCL_FUTURE = 2  # linux/mman.h


def main(folder: str) -> int:
    """Run the trial in `folder`, and return 0 or the exit code of the error."""
    libc = ctypes.CDLL(None)
    libc.mlockall(MCL_FUTURE)
    from pathlib import Path

    from lab.guest import perform

    libc.munlockall()  # the trial's own memory may be large and hardly used, for example a thread's stack
    return perform.main(Path(folder))


if __name__ == "__main__":
    status = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # an orderly end would touch all objects, and the kernel would copy their pages after a fork
