"""Pack what trials left, as `lab store pack` does."""

from __future__ import annotations

from pathlib import Path

from lab.record import packed


def pack(results: Path) -> None:
    """Give all captures and samples of a store's records their packed form."""
    files = [file for kind in ("pcap", "bin") for file in results.glob(f"*/*/out/*.{kind}")]
    assert files
    for file in files:
        packed.pack(file, packed.form(file))
        file.unlink()
