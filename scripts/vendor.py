#!/usr/bin/env python3
"""Bring the page's vendored libraries into static/vendor/, exactly as published, with their licences and hashes.

Usage: scripts/vendor.py            (needs npm and the network; users and tests need neither)

Each library is named once, in LIBRARIES. ``npm pack`` fetches the package by name from wherever npm is set up to look.
The files are copied as they are, but for a last line that points to a source map that is not shipped. VENDOR.json
records what was copied; tests/unit/test_vendor.py compares it with the disk.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"


@dataclass(frozen=True, slots=True)
class Library:
    """One published package, and which of its files are wanted (path in the package → name here)."""

    name: str
    version: str
    licence: str
    files: dict[str, str]


LIBRARIES = (Library("marked", "18.2.1", "MIT", {"lib/marked.esm.js": "marked.esm.js", "LICENSE": "LICENSE"}),)


def bring(library: Library, work: Path) -> None:
    """Fetch one library and write its folder."""
    wanted = f"{library.name}@{library.version}"
    packed = subprocess.run(
        ["npm", "pack", "--silent", wanted], cwd=work, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    folder = VENDOR / wanted
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    with tarfile.open(work / packed) as archive:
        for inside, name in library.files.items():
            member = archive.extractfile(f"package/{inside}")
            if member is None:
                sys.exit(f"{wanted} has no {inside}")
            content = re.sub(rb"\n//# sourceMappingURL=\S+\s*\Z", b"\n", member.read())
            (folder / name).write_bytes(content)
            records.append({
                "file": name,
                "sha256": hashlib.sha256(content).hexdigest(),
                "licence": library.licence,
                "version": library.version,
            })  # fmt: skip
    (folder / "VENDOR.json").write_text(json.dumps(records, indent=2) + "\n")
    print(f"{wanted}: {len(records)} files")


def main() -> None:
    """Bring every library."""
    with tempfile.TemporaryDirectory() as work:
        for library in LIBRARIES:
            bring(library, Path(work))


if __name__ == "__main__":
    main()
