"""A notebook's own client runs claims, and its cell shows how they go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.ext.cluster.conftest import ROOT, Site

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("kernel")]

CODE = """
import sys; sys.path.insert(0, {root!r})
import lab
from distributed import Client
client = Client(scheduler_file="scheduler.json")
claims = lab.run("claim.py", cluster=client, results="results")
print([claim.judged.result.verdict.kind for claim in claims], client.status)
client.close()
"""


def test_a_client_of_ones_own_stays_open_and_the_cell_shows_progress(site: Site, here: Path) -> None:
    from nbclient import NotebookClient

    site.scheduler()
    site.worker("a")
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE.format(root=ROOT))])
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(site.folder)}}).execute()
    outputs = notebook.cells[0].outputs
    assert [each.text for each in outputs if each.get("name") == "stdout"] == ["['reproduced'] running\n"]
    (shown,) = [each.data["text/html"] for each in outputs if "text/html" in each.get("data", {})]
    assert '<progress max="4" value="4"></progress> 4/4 trials' in shown
    assert "joins" in shown
    assert site.records() == site.records(here)
