"""Command text → the simple commands in it. With ``walk``, the only home of the bash grammar.

What comes out is flat, because the strictest part decides: it does not matter how parts are joined, only that none is
lost.
"""

from __future__ import annotations

import threading
import time

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from nomos.risk.script import Script
from nomos.risk.walk import Walker
from nomos.risk.words import Unreadable

DEADLINE = 0.25  # seconds of this thread's own work; the grammar grows slow on hostile text
MOST_NODES = 4000
MOST_COMMANDS = 64

_LANGUAGE = Language(tree_sitter_bash.language())
_local = threading.local()


def parse(text: str) -> Script:
    """Find every simple command of the text, also in substitutions, loops and conditions.

    :raises Unreadable: a syntax error, a construct that is not on the list, or more than the caps allow.
    """
    source = text.encode("utf-8", "surrogatepass")
    root = _tree(source)
    if root.has_error:
        raise Unreadable("it cannot be parsed: write plain commands")
    if root.descendant_count > MOST_NODES:
        raise Unreadable("it has too many parts: split it")
    script = Script()
    Walker(source, script).walk(root, 0, certain=True)
    if len(script.commands) > MOST_COMMANDS:
        raise Unreadable(f"it has more than {MOST_COMMANDS} commands: split it")
    return script


def _tree(source: bytes) -> Node:
    parser: Parser | None = getattr(_local, "parser", None)
    if parser is None:
        parser = _local.parser = Parser(_LANGUAGE)
    ends = time.thread_time() + DEADLINE
    try:
        # The deadline is honoured only where the source is a callable.
        tree = parser.parse(lambda at, _: source[at:], progress_callback=lambda *_: time.thread_time() >= ends)
    except ValueError:
        _local.parser = None
        raise Unreadable("it takes too long to parse: write plain commands") from None
    return tree.root_node
