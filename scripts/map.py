#!/usr/bin/env python3
"""Write the map in ARCHITECTURE.md: every folder and module under nomos/, with the first words of its docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
BLOCK = re.compile(r"(?<=<!-- map -->\n```\n).*?(?=```\n<!-- /map -->)", re.DOTALL)
COLUMN = 26
SHORT = 25


def sentence(path: Path) -> str:
    """How a module's docstring begins: its first sentence, and the second where the first is but a word or two."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = words.split("\n\n", maxsplit=1)[0].replace("\n", " ")
    first, *more = re.split(r"(?<=[^A-Z.][^A-Z.][.?])\s", paragraph)
    return " ".join([first, *more[:1]] if len(first) < SHORT else [first]).rstrip(".")


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """The map of ``folder``: modules first, then folders, each by name."""
    package = folder / "__init__.py"
    yield f"{'  ' * depth + folder.name + '/':<{COLUMN}} {sentence(package) if package.exists() else ''}".rstrip()
    inside = sorted(folder.iterdir())
    for path in inside:
        if path.suffix == ".py" and path.name != "__init__.py":
            yield f"{'  ' * (depth + 1) + path.name:<{COLUMN}} {sentence(path)}".rstrip()
    for path in inside:
        if path.is_dir() and any(path.glob("*.py")):
            yield from lines(path, depth + 1)


def drawn() -> str:
    """The map as it should be."""
    return "\n".join(lines(ROOT / "nomos")) + "\n"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: drawn(), text), encoding="utf-8")
