"""`lab explain`: what it prints, in text, JSON and on a page."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.ext.explain.captures import SYN, Packet, pcap
from tests.kinds import Type

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "lossy.pcap", tmp_path / "lossy.pcap"))


def test_the_text_fits_a_terminal_and_names_the_limit(type_here: Type, capture: Path) -> None:
    answer = type_here(f"lab explain {capture.name} --flow 1")
    assert answer.returncode == 0
    assert "slow start" in answer.stdout
    assert "captured at the sender, least RTT 20.02 ms" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_json_has_shares_that_add_up_to_one(type_here: Type, capture: Path) -> None:
    found = json.loads(type_here(f"lab explain {capture.name} --json").stdout)
    [connection] = found["connections"]
    assert sum(connection["shares"].values()) == pytest.approx(1)
    assert connection["facts"]["mss"] == 1448
    assert connection["stretches"][0]["limit"] == "handshake"


def test_the_page_is_one_file_with_a_timeline(type_here: Type, capture: Path, tmp_path: Path) -> None:
    answer = type_here(f"lab explain {capture.name} -o page.html")
    assert answer.returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="timeline"') == 1
    assert "src=" not in page


def test_paper_shows_the_colours_of_the_key(type_here: Type, capture: Path, tmp_path: Path) -> None:
    """By default, browsers print no backgrounds, and a key is nothing else."""
    type_here(f"lab explain {capture.name} -o page.html")
    packed = (tmp_path / "page.html").read_text().partition("data:text/css;base64,")[2].partition('"')[0]
    rules = re.findall(r"\.limit-key \{([^}]*)\}", base64.b64decode(packed).decode())
    assert any("print-color-adjust: exact" in rule for rule in rules)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("lab explain missing.pcap", "lab: missing.pcap: No such file or directory"),
        ("lab explain lossy.pcap --flow 9", "lab: lossy.pcap: no connection 9; the capture has 1"),
    ],
)
@pytest.mark.usefixtures("capture")
def test_a_mistake_gives_one_message(type_here: Type, typed: str, message: str) -> None:
    answer = type_here(typed)
    assert answer.returncode == 2
    assert answer.stderr.strip() == message


def test_a_connection_without_a_transfer_is_not_a_further_one(type_here: Type, tmp_path: Path) -> None:
    (tmp_path / "one.pcap").write_bytes(pcap([Packet(0, seq=0, ack=0, flags=SYN)]))
    answer = type_here("lab explain one.pcap")
    assert "1 connection without a transfer" in answer.stdout
    assert "further" not in answer.stdout
