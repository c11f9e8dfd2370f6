"""What is vendored is what was published: checked without Node and without the network."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[2] / "static"
FOLDERS = sorted(path for path in (STATIC / "vendor").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_each_vendored_file_has_the_recorded_hash(folder: Path) -> None:
    records = json.loads((folder / "VENDOR.json").read_text())
    assert {record["file"] for record in records} == {path.name for path in folder.iterdir()} - {"VENDOR.json"}
    assert "LICENSE" in {record["file"] for record in records}
    for record in records:
        assert hashlib.sha256((folder / record["file"]).read_bytes()).hexdigest() == record["sha256"], record["file"]
        assert folder.name.endswith(f"@{record['version']}")
        assert record["licence"]


def test_every_vendored_library_is_used() -> None:
    scripts = "\n".join(path.read_text() for path in (STATIC / "js").rglob("*.js"))
    assert [folder.name for folder in FOLDERS if folder.name not in scripts] == []
