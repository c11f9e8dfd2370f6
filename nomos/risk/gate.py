"""The text gate: refuses, before any parser, what parsers and people are known to read differently.

Each rule stands for a misreading that was found by experiment: a parser that loses a command without an error, or a
card that would not show what runs. The sentence says how to write the same thing so that it can be read.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 8192  # bytes; what is longer cannot be read by a person in a card, and parsers grow slow
DEEPEST = 24  # quotes and parentheses within each other

_HEREDOC = re.compile(r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)(?=[\s;|&<>)]|$)")


def refusal(text: str) -> str | None:
    """Why the text cannot be read, with how to rewrite it; None if it passes."""
    if not text.strip():
        return "there is no command in it"
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        return f"it is longer than {LONGEST} bytes: split it"
    for character in text:
        if _is_strange(character):
            return f"it holds U+{ord(character):04X}, which a card cannot show: write it plainly"
    return _Scanner(text).scan()


def _is_strange(character: str) -> bool:
    """Whether a card could not show the character for what it is: controls, formats, odd blanks, unassigned."""
    if character in "\n\t" or " " <= character <= "~":
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"}


class _Scanner:
    """Walks the text once, aware of quotes and of ``$( )`` inside them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.inside: list[str] = []  # '"' for double quotes, "(" for any parenthesis
        self.bodies: list[tuple[str, bool]] = []  # here-documents whose body begins at the next line

    def scan(self) -> str | None:
        while self.at < len(self.text):
            if len(self.inside) > DEEPEST:
                return "it is nested too deeply: use plainer commands"
            why = self._in_quotes() if self.inside and self.inside[-1] == '"' else self._outside()
            if why is not None:
                return why
        if self.inside and self.inside[-1] == '"':
            return "its quotes do not close"
        if self.bodies:
            return "its here-document does not end: put the closing word on a line of its own"
        return None

    def _in_quotes(self) -> str | None:
        character = self.text[self.at]
        if character == "`":
            return "backticks cannot be read surely: use $( ) or, better, separate commands"
        if character == "\\":
            if self.text[self.at + 1 : self.at + 2] in ("", "\n"):
                return "a line ends in a backslash: write it in one line"
            self.at += 2
        elif character == '"':
            self.inside.pop()
            self.at += 1
        elif self.text.startswith("$(", self.at):
            self.inside.append("(")
            self.at += 2
        else:
            self.at += 1
        return None

    def _outside(self) -> str | None:
        text, character = self.text, self.text[self.at]
        if character == "`":
            return "backticks cannot be read surely: use $( ) or, better, separate commands"
        if character == "\\":
            return self._backslash()
        if character == "'":
            return self._single()
        if character == '"':
            self.inside.append('"')
            self.at += 1
        elif character == "(":
            self.inside.append("(")
            self.at += 1
        elif character == ")":
            return self._close()
        elif character == "#" and (self.at == 0 or text[self.at - 1] in " \t\n;|&("):
            return self._comment()
        elif text.startswith("<<", self.at):
            return self._here()
        elif character == "\n":
            return self._line_end()
        elif ord(character) > ord("~"):
            return f"U+{ord(character):04X} stands outside quotes: quote it"
        else:
            self.at += 1
        return None

    def _backslash(self) -> str | None:
        if self.text[self.at + 1 : self.at + 2] in ("", "\n", " ", "\t"):
            return "a backslash stands before a blank or at a line's end: use quotes, and one line"
        if not self.text[: self.at].rpartition("\n")[2].strip(" \t"):
            return "a line begins with a backslash: write the plain word"
        self.at += 2
        return None

    def _single(self) -> str | None:
        dollar = self.at > 0 and self.text[self.at - 1] == "$"
        end = _end_of_ansi(self.text, self.at + 1) if dollar else self.text.find("'", self.at + 1)
        self.at = end + 1
        return "its quotes do not close" if end < 0 else None

    def _close(self) -> str | None:
        self.at += 1
        if self.inside:
            self.inside.pop()
        elif not re.search(r"\bcase\b", self.text):
            # Long runs of these take the grammar seconds.
            return "its parentheses do not match"
        return None

    def _comment(self) -> str | None:
        rest = self.text[self.at :]
        if self.inside or "\\" in rest or "\n" in rest.strip("\n"):
            return "a comment stands before more text: leave comments out"
        self.at = len(self.text)
        return None

    def _here(self) -> str | None:
        if self.text.startswith("<<<", self.at):
            self.at += 3
            return None
        found = _HEREDOC.match(self.text, self.at)
        if found is None or found["dash"] or self.inside:
            return "its here-document cannot be read surely: use <<'EOF' with a plain word, on the outermost level"
        self.bodies.append((found["end"], bool(found["quote"])))
        self.at = found.end()
        return None

    def _line_end(self) -> str | None:
        self.at += 1
        for end, quoted in self.bodies:
            closing = re.compile(rf"^{end}$", re.MULTILINE).search(self.text, self.at)
            if closing is None:
                return "its here-document does not end: put the closing word on a line of its own"
            if not quoted and re.search(r"[$`\\]", self.text[self.at : closing.start()]):
                return "its here-document is expanded by the shell: quote the closing word, <<'EOF'"
            self.at = closing.end()
        self.bodies.clear()
        return None


def _end_of_ansi(text: str, at: int) -> int:
    """Where ``$'…'`` ends; unlike plain single quotes it knows an escaped quote."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "'":
            return at
        else:
            at += 1
    return -1
