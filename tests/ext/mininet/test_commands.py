"""The command line of `lab mininet`: options come before the script, and its arguments after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.mininet.commands import late_options

OWN = {"--page", "--seed", "-o"}


@pytest.mark.parametrize(
    ("arguments", "late"),
    [
        ([], []),
        (["--page", "x.html"], ["--page"]),
        (["--page=x.html", "--bw", "10"], ["--page"]),
        (["--seed", "3"], []),  # the script has such an option, too
        (["page", "-o", "--pages"], []),
    ],
)
def test_an_option_after_the_script_that_it_does_not_name_is_late(
    tmp_path: Path, arguments: list[str], late: list[str]
) -> None:
    script = tmp_path / "net.py"
    script.write_text('parser.add_argument("--seed", type=int)\n')
    assert late_options(script, arguments, OWN) == late


def test_a_script_that_does_not_exist_is_left_to_its_own_message(tmp_path: Path) -> None:
    assert late_options(tmp_path / "no.py", ["--page", "x.html"], OWN) == []
