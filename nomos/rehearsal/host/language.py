"""The practice shell's language: simple commands, quotes, ``&& || ; |`` and redirections to nowhere. Nothing else.

A closed subset of POSIX sh, read whole before anything is run. Whatever is outside of it (variables, substitution,
files, globs that would match, background jobs) is refused, so that no text can mean more here than it says.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class NotUnderstood(Exception):
    """The text uses something that this shell does not know. ``str()`` names it."""


class Simple(NamedTuple):
    """One command: its ``words``, and where its streams go (``out``/``err`` False: nowhere)."""

    words: list[str]
    out: bool
    err: bool
    err_to_out: bool


class Pipeline(NamedTuple):
    """Commands joined by ``|``, and the operator before them: ``;``, ``&&`` or ``||``."""

    joiner: str
    commands: list[Simple]


_OPERATORS = ("&&", "||", ";", "|", "\n")
_REDIRECTION = re.compile(r"2>&1|[12]?>>?[ \t]*/dev/null(?![^\s;|&<>])|<[ \t]*/dev/null(?![^\s;|&<>])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REFUSED = frozenset("$`<>&(){}\\")


class _Token(NamedTuple):
    kind: str  # word, operator or redirection
    text: str


def parse(text: str) -> list[Pipeline]:
    """Read a command text. Raises NotUnderstood, before anything has run."""
    pipelines: list[Pipeline] = []
    joiner, commands, current = ";", list[Simple](), list[_Token]()
    for token in [*_tokens(text), _Token("operator", "\n")]:
        if token.kind != "operator":
            current.append(token)
            continue
        # an empty command is allowed between ends of commands, and a line may be broken after && and ||
        if not current and not commands and (token.text == "\n" or (token.text == ";" and joiner == ";")):
            continue
        commands.append(_simple(current))
        current = []
        if token.text != "|":
            pipelines.append(Pipeline(joiner, commands))
            commands = []
            joiner = ";" if token.text == "\n" else token.text
    if joiner != ";":
        raise NotUnderstood(f'a text that ends in "{joiner}"')
    return pipelines


def _simple(tokens: list[_Token]) -> Simple:
    words, out, err, err_to_out = list[str](), True, True, False
    for token in tokens:
        if token.kind == "word":
            words.append(token.text)
        elif token.text == "2>&1":
            err, err_to_out = out, True
        elif token.text.startswith("2"):
            err, err_to_out = False, False
        elif not token.text.startswith("<"):
            out = False
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    if not words:
        raise NotUnderstood("a place where a command is missing")
    return Simple(words, out, err, err_to_out)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t":
            at += 1
        elif char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif found := _REDIRECTION.match(text, at):
            tokens.append(_Token("redirection", found.group()))
            at = found.end()
        elif operator := next((o for o in _OPERATORS if text.startswith(o, at)), None):
            tokens.append(_Token("operator", operator))
            at += len(operator)
        else:
            word, at = _word(text, at)
            tokens.append(_Token("word", word))
    return tokens


def _word(text: str, at: int) -> tuple[str, int]:
    """Read one word from ``at`` on; returns it without its quotes, and where it ended."""
    word: list[str] = []
    while at < len(text):
        char = text[at]
        if char in " \t" or any(text.startswith(o, at) for o in _OPERATORS):
            break
        if char == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NotUnderstood("an unterminated quoted string")
            word.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            inside, at = _double_quoted(text, at + 1)
            word.append(inside)
        elif char == "\\" and at + 1 < len(text) and text[at + 1] != "\n":
            word.append(text[at + 1])
            at += 2
        elif char in _REFUSED or (ord(char) < 0x20) or char == "\x7f":
            raise NotUnderstood(repr(char))
        else:
            word.append(char)
            at += 1
    return "".join(word), at


def _double_quoted(text: str, at: int) -> tuple[str, int]:
    word: list[str] = []
    while at < len(text):
        char = text[at]
        if char == '"':
            return "".join(word), at + 1
        if char == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\"):
            word.append(text[at + 1])
            at += 2
        elif char in "$`":
            raise NotUnderstood(repr(char))
        else:
            word.append(char)
            at += 1
    raise NotUnderstood("an unterminated quoted string")
