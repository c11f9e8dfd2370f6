"""The second reading: another parser has to find the same words in the same places.

It is a program of its own (shfmt), asked only where the first reading would let something run with less than its own
approval. Both readings must agree on where each word of each command begins and ends; else the text is refused.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from nomos.risk.script import Script, Span

TIMEOUT = 5.0  # seconds

Shape = tuple[str, tuple[Span, ...]]


@cache
def program() -> str | None:
    """Where shfmt is: beside the interpreter (its wheel puts it there), else on the PATH; None where there is none."""
    beside = Path(sysconfig.get_path("scripts")) / "shfmt"
    return str(beside) if beside.is_file() else shutil.which("shfmt")


def agrees(text: str, script: Script) -> bool | None:
    """Whether the second parser finds exactly the commands and words of ``script``: False also if it cannot parse.

    None where there is no second parser.
    """
    binary = program()
    if binary is None:
        return None
    source = text.encode("utf-8", "surrogatepass")
    try:
        done = subprocess.run(
            [binary, "--to-json", "-ln", "bash"], input=source, capture_output=True, timeout=TIMEOUT, check=False
        )
        if done.returncode != 0:
            return False
        tree = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError, RecursionError):
        return False
    found: list[Shape] = []
    _walk(tree, source, found)
    return Counter(found) == Counter((kind, tuple(sorted(spans))) for kind, spans in script.shape)


def _walk(item: Any, source: bytes, found: list[Shape]) -> None:
    waiting = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        if not isinstance(node, dict):
            continue
        kind = node.get("Type")
        if kind == "TimeClause":
            _timed(node, found)
            waiting.extend(part for key, part in node["Stmt"]["Cmd"].items() if key in ("Args", "Assigns"))
            waiting.extend(node["Stmt"].get("Redirs") or [])
            _redirects(node["Stmt"], source, found)
            continue
        _note(kind, node, found)
        _redirects(node, source, found)
        waiting.extend(node.values())


def _redirects(node: dict[str, Any], source: bytes, found: list[Shape]) -> None:
    for redirect in node.get("Redirs") or []:
        span = _span(redirect["Word"])
        found.append(("redirect", () if source[slice(*span)] == b"-" else (span,)))
    if node.get("Redirs") and "Cmd" not in node:
        found.append(("command", ()))


def _note(kind: str | None, node: dict[str, Any], found: list[Shape]) -> None:
    if kind == "CallExpr":
        found.append(("command", _spans(node.get("Assigns"), node.get("Args"))))
    elif kind == "DeclClause":
        found.append(("command", _spans([node["Variant"]], node.get("Args"))))
    elif kind == "ForClause" and node["Loop"]["Type"] == "WordIter":
        found.append(("for", _spans(node["Loop"].get("Items"))))
    elif kind == "CaseClause":
        patterns = [pattern for item in node.get("Items") or [] for pattern in item.get("Patterns") or []]
        found.append(("case", _spans([node["Word"]], patterns)))
    elif kind == "TestClause":
        found.append(("test", tuple(sorted(_test_words(node["X"])))))
    elif kind in ("FuncDecl", "ArithmCmd", "LetClause", "CoprocClause", "ForClause", "ExtGlob"):
        found.append(("other", ()))


def _timed(node: dict[str, Any], found: list[Shape]) -> None:
    """``time`` is a keyword to one parser and a command to the other; the rest of the words must be the same."""
    inner = (node.get("Stmt") or {}).get("Cmd") or {}
    if inner.get("Type") != "CallExpr" or node.get("PosixFormat"):
        found.append(("other", ()))
        node["Stmt"] = {"Cmd": inner if isinstance(inner, dict) else {}}
        return
    begins = node["Pos"]["Offset"]
    words = _spans(inner.get("Assigns"), inner.get("Args"))
    found.append(("command", ((begins, begins + len("time")), *words)))


def _test_words(node: dict[str, Any]) -> list[Span]:
    if node.get("Type") == "Word":
        return [_span(node)]
    return [span for side in ("X", "Y") if isinstance(node.get(side), dict) for span in _test_words(node[side])]


def _span(node: dict[str, Any]) -> Span:
    return node["Pos"]["Offset"], node["End"]["Offset"]


def _spans(*groups: list[dict[str, Any]] | None) -> tuple[Span, ...]:
    return tuple(sorted(_span(node) for group in groups if group for node in group))
