#!/usr/bin/env python3
"""Write the map in ARCHITECTURE.md: every folder and module, with the first words that it says of itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
MAPPED = ("nomos", "static/js", "tests/harness")
BLOCK = re.compile(r"(?<=<!-- map -->\n```\n).*?(?=```\n<!-- /map -->)", re.DOTALL)
COLUMN = 26
SHORT = 25


def words(path: Path) -> str:
    """What a module says of itself: a Python docstring, or the comment that a JavaScript file opens with."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    opening = re.match(r"/\*\*(.*?)\*/|((?://[^\n]*\n)+)", text, re.DOTALL)
    return re.sub(r"^\s*(\*|//) ?", "", opening[1] or opening[2], flags=re.MULTILINE).strip() if opening else ""


def sentence(path: Path) -> str:
    """The first sentence of a module's words, and the second where the first is but a word or two."""
    paragraph = words(path).split("\n\n", maxsplit=1)[0].replace("\n", " ")
    first, *more = re.split(r"(?<=[^A-Z.][^A-Z.][.?])\s", paragraph)
    return " ".join([first, *more[:1]] if len(first) < SHORT else [first]).rstrip(".")


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """The map of ``folder``: modules first, then folders, each by name."""
    package = folder / "__init__.py"
    name = folder.name if depth else str(folder.relative_to(ROOT))
    yield f"{'  ' * depth + name + '/':<{COLUMN}} {sentence(package) if package.exists() else ''}".rstrip()
    inside = sorted(folder.iterdir())
    for path in inside:
        if path.suffix in {".py", ".js"} and path != package:
            yield f"{'  ' * (depth + 1) + path.name:<{COLUMN}} {sentence(path)}".rstrip()
    for path in inside:
        if path.is_dir() and any(path.glob("*.[pj]*")):
            yield from lines(path, depth + 1)


def drawn() -> str:
    """The map as it should be."""
    return "\n\n".join("\n".join(lines(ROOT / folder)) for folder in MAPPED) + "\n"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: drawn(), page), encoding="utf-8")
