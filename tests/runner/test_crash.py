"""A run that is killed at any moment leaves only what `lab store clean` removes, and changes nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import Budget, UmlKernel, boot
from tests.runner import killing

pytestmark = [pytest.mark.guest, pytest.mark.needs("ip", "tc")]

ALONE = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private"]
SIDE_BY_SIDE = """
"$1" run claim.py --on host --seed 1 --results /tmp/one & one=$!
"$1" run claim.py --on host --seed 2 --results /tmp/two & two=$!
wait $one; echo $? > ended; wait $two; echo $? >> ended; ip netns | wc -l >> ended
"""


def may_unshare() -> bool:
    return os.getuid() == 0 and subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


def nothing_left(answer: str, times: int) -> None:
    found: dict[str, Any] = json.loads(answer)
    assert len(found["kills"]) == times
    assert [kill for kill in found["kills"] if kill["left"]] == []
    assert found["last"] in (0, 1), "the store is not what it was"


@pytest.mark.alone
@pytest.mark.usefixtures("kernel")
@pytest.mark.skipif(not may_unshare(), reason="only root can be alone on a machine")
def test_a_killed_run_leaves_nothing(times: int) -> None:
    argv = [*ALONE, sys.executable, killing.__file__, "uml", str(times), str(random.randrange(10**6))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100 + 60 * times)
    assert done.returncode == 0, done.stderr
    nothing_left(done.stdout, times)


def test_a_killed_run_on_the_running_kernel_leaves_nothing(kernel: UmlKernel, tmp_path: Path, times: int) -> None:
    """Inside a guest, whose own kernel has what a wire needs."""
    (tmp_path / "answer").touch()
    script_here = shutil.copy(killing.__file__, tmp_path)  # a guest reads nothing of the tests' folder
    argv = [*ALONE, sys.executable, Path(script_here).name, "host", str(times), str(random.randrange(10**6))]
    script = ["sh", "-c", 'exec "$@" > answer', "sh", *argv]
    result = boot(kernel, tmp_path, script, clock="real", budget=Budget(wall=100.0 + 60 * times))
    assert result.status == 0, result.console.read_text()
    nothing_left((tmp_path / "answer").read_text(), times)


def test_two_labs_side_by_side_do_not_meet(kernel: UmlKernel, tmp_path: Path) -> None:
    (tmp_path / "claim.py").write_text(killing.CLAIM.format(duration="500 ms", arms=("one",)))
    (tmp_path / "two.yaml").write_text(killing.TWO)
    (tmp_path / "ended").touch()
    script = ["sh", "-c", SIDE_BY_SIDE, "sh", killing.LAB]
    result = boot(kernel, tmp_path, script, clock="real", budget=Budget(wall=200.0))
    said = result.console.read_text().partition("as init process")[2]  # without the kernel's own messages
    one, two, namespaces = (tmp_path / "ended").read_text().split()
    assert {one, two} <= {"0", "1"}, said  # sharing one CPU, they may say that they are invalid
    assert "failed" not in said
    assert namespaces == "0"
