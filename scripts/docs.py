#!/usr/bin/env python3
"""Write what the pages repeat from the code: the map, the settings, the errors."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from nomos import errors  # noqa: E402 - the path comes first
from nomos.config import Settings  # noqa: E402

MAPPED = ("nomos", "static/js", "tests/harness")
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


def tree(folder: Path, depth: int = 0) -> Iterator[str]:
    """One line for ``folder`` and each module and folder in it: modules first, then folders, each by name."""
    package = folder / "__init__.py"
    name = folder.name if depth else str(folder.relative_to(ROOT))
    yield f"{'  ' * depth + name + '/':<{COLUMN}} {sentence(package) if package.exists() else ''}".rstrip()
    inside = sorted(folder.iterdir())
    for path in inside:
        if path.suffix in {".py", ".js"} and path != package:
            yield f"{'  ' * (depth + 1) + path.name:<{COLUMN}} {sentence(path)}".rstrip()
    for path in inside:
        if path.is_dir() and path.name != "__pycache__" and any(path.glob("*.[pj]*")):
            yield from tree(path, depth + 1)


def the_map() -> str:
    """Every folder and module, with the first words that it says of itself."""
    return "```\n" + "\n\n".join("\n".join(tree(ROOT / folder)) for folder in MAPPED) + "\n```\n"


def the_settings() -> str:
    """The table of settings."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for spec in fields(Settings):
        meta = spec.metadata
        secret = " Secret." if meta["secret"] else ""
        rows.append(f"| `{meta['variable']}` | {meta['shown'] or spec.default} | {meta['sentence']}{secret} |")
    return "\n".join(rows) + "\n"


def family(error: type[errors.NomosError]) -> Iterator[type[errors.NomosError]]:
    """An error and all that derive from it in ``nomos.errors``, parents first."""
    yield error
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from family(child)


def the_errors() -> str:
    """The table of errors."""
    rows = ["| code | sentence |", "|---|---|"]
    rows += [f"| `{error.code}` | {error.__doc__} |" for error in family(errors.NomosError)]
    return "\n".join(rows) + "\n"


MADE: dict[str, Callable[[], str]] = {
    "ARCHITECTURE.md": the_map,
    "docs/settings.md": the_settings,
    "docs/errors.md": the_errors,
}


def with_made_part(page: str) -> str:
    """The text of ``page`` (its path from the root) with the part between its two marks made anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    before, mark, rest = text.partition("<!-- make docs -->\n")
    _, end, after = rest.partition("<!-- /make docs -->\n")
    if not mark or not end:
        raise SystemExit(f"{page}: the marks are missing")
    return before + mark + MADE[page]() + end + after


if __name__ == "__main__":
    for name in MADE:
        (ROOT / name).write_text(with_made_part(name), encoding="utf-8")
