"""Find and read the files that define how a case's kernel differs from the run's kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.base import version
from lab.spec.experiment import Variant


@dataclass(frozen=True)
class ResolvedVariant:
    """Holds the files that change a kernel, and its HZ. A `tree` replaces the run's source."""

    patches: tuple[Path, ...] = ()
    config: tuple[Path, ...] = ()  # fragments
    hz: int | None = None
    tree: Path | None = None
    version: str = ""  # the tree's, like "7.2.13"; "" without a tree, or if its Makefile is missing

    def __str__(self) -> str:
        """Return a full description, like 'patch a.patch and HZ 250'."""
        parts = [f"tree {self.tree}"] if self.tree else []
        parts += [f"patch {file.name}" for file in self.patches] + [f"fragment {file.name}" for file in self.config]
        return " and ".join([*parts, f"HZ {self.hz}"] if self.hz else parts)

    def describes(self, kernel: dict[str, Any]) -> bool:
        """Return whether a trial's description of its kernel matches this variant, by the files' names."""
        named = [[file.stem for file in files] for files in (self.patches, self.config)]
        if named != [kernel.get("patches"), kernel.get("config", [])] or self.hz not in (None, kernel.get("hz")):
            return False
        return self.tree.name == kernel.get("tree") if self.tree else "base" in kernel


def resolve(variant: Variant, folder: Path) -> ResolvedVariant:
    """Return a variant with the paths of its files. Their names are relative to the experiment's `folder`."""
    tree = (folder / Path(variant.tree).expanduser()).resolve() if variant.tree else None
    return ResolvedVariant(
        patches=tuple(folder / name for name in variant.patches),
        config=tuple(folder / name for name in variant.config),
        hz=variant.hz,
        tree=tree,
        version=_version(tree) if tree else "",
    )


def _version(tree: Path) -> str:
    try:
        return version.of_makefile((tree / "Makefile").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
