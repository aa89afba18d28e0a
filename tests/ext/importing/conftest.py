"""Other tools' files, as the lab reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lab.ext.importing.importing import ImportedTopology, ImportOptions, read

Imports = Callable[..., ImportedTopology]


@pytest.fixture
def imports(tmp_path: Path) -> Imports:
    """Imports a text as a file of this name, and checks that the written topology is the one that was made."""

    def read_text(text: str, name: str = "net.sh", out: Path | None = None, **given: str) -> ImportedTopology:
        file = tmp_path / name
        file.write_text(text)
        variables: Mapping[str, str] = {key.lstrip("_"): value for key, value in given.items()}
        return read([file], out or tmp_path / "made.yaml", ImportOptions(variables))

    return read_text
