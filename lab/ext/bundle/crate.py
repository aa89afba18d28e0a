"""Describe a bundle for archives and search engines, as an RO-Crate (https://w3id.org/ro/crate/1.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.ext.bundle import manifest
from lab.ext.bundle.manifest import Manifest
from lab.ext.bundle.part import Part

FILE = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://schema.org/sha256"}]
PROFILE = "https://w3id.org/ro/crate/1.1"
LICENCE = "https://spdx.org/licenses/GPL-2.0-or-later"


@dataclass(frozen=True, slots=True)
class About:
    """Describes the bundle as a whole."""

    name: str
    description: str
    date: str  # of its newest record, ISO 8601, so that the bundle depends only on its parts
    version: str  # of the lab that wrote it


def render(about: About, parts: Sequence[tuple[Part, Manifest]]) -> bytes:
    """Return the text of ro-crate-metadata.json."""
    entities = [_entity(part, contents) for part, contents in parts]
    listed = {
        "@id": manifest.FILE,
        "@type": "File",
        "name": "SHA-256 of every file",
        "encodingFormat": "text/plain",
    }
    descriptor = {
        "@id": FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": PROFILE},
        "about": {"@id": "./"},
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": about.name,
        "description": about.description,
        "datePublished": about.date,
        "license": {"@id": LICENCE},
        "hasPart": [{"@id": entity["@id"]} for entity in (listed, *entities)],
        "mentions": {"@id": "#replab"},
    }
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": "GPL-2.0-or-later"}
    software = {"@id": "#replab", "@type": "SoftwareApplication", "name": "replab", "softwareVersion": about.version}
    graph = [descriptor, root, listed, licence, software, *entities]
    return (json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1, ensure_ascii=False) + "\n").encode()


def _entity(part: Part, contents: Manifest) -> dict[str, Any]:
    """Return the description of a part. The SHA-256 of a folder is the hash of the folder's lines in the manifest."""
    if part.source.is_dir():
        return {"@id": f"{part.path}/", "@type": "Dataset", "name": part.about, "sha256": contents.id}
    (sha256,) = contents.files.values()
    size = str(part.source.stat().st_size)
    return {"@id": part.path, "@type": "File", "name": part.about, "sha256": sha256, "contentSize": size}


def digest(text: bytes) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text).hexdigest()
