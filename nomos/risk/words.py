"""Quote removal, done by ourselves: the raw bytes of one shell word become pieces, and pieces become words.

A piece is text that is known, or something that only the running shell knows. The lexer here and the parser's tree
must agree on where every substitution begins and ends, or the word is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

NUMBERS = frozenset("?#$!")  # special variables that are always a number


class Unreadable(Exception):
    """The text cannot be read surely; the sentence says why and how to rewrite it."""


class Kind(StrEnum):
    """What a piece of a word is."""

    TEXT = "text"
    VARIABLE = "variable"  # ``text`` is its name
    UNKNOWN = "unknown"  # only the running shell knows
    NUMBER = "number"  # not known, but a number
    GLOB = "glob"  # a file pattern: several words, each beginning with what stands before
    BRACES = "braces"  # ``{a,b}``


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a word; ``quoted`` keeps the shell from splitting it."""

    kind: Kind
    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A word as a program would get it.

    ``text`` is the whole word if ``known``, else what is known of its beginning. ``splits``: it may become several
    words, or none. ``number``: its unknown part is digits only.
    """

    text: str
    known: bool = True
    splits: bool = False
    number: bool = False
    pattern: str = ""  # the file pattern as written, where it is one

    @property
    def may_be_option(self) -> bool:
        """Whether it could begin with a dash when it runs."""
        if self.number:
            return False
        return self.text.startswith("-") or (not self.known and (self.text == "" or self.splits))


_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_EXPANSION = re.compile(rb"\$\{(#?)([A-Za-z_][A-Za-z0-9_]*)((?:(?::?[-+]|%%?|##?)[A-Za-z0-9_./*?-]*)?)\}")
_ANSI = {b"n": b"\n", b"t": b"\t", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?"}
_BRACES = re.compile(rb"\{([A-Za-z0-9_./=@:%+-]*(?:,[A-Za-z0-9_./=@:%+-]*)+|-?\d{1,4}\.\.-?\d{1,4})\}")
_HOME = b"~"
_RUN = re.compile(rb"(?:[A-Za-z0-9_./:=@,+%^!#\]}-]|~)+")


def pieces(source: bytes, start: int, end: int, spans: Mapping[int, tuple[int, Kind]]) -> tuple[Piece, ...]:
    """Read the word in ``source[start:end]``.

    :param spans: where the parser saw substitutions: first byte → (byte after the last, what their value is).
    :raises Unreadable: the lexer does not know a construct, or disagrees with ``spans``.
    """
    return _Lexer(source, start, end, spans).read()


class _Lexer:
    def __init__(self, source: bytes, start: int, end: int, spans: Mapping[int, tuple[int, Kind]]) -> None:
        self.source, self.at, self.end, self.start = source, start, end, start
        self.spans = {at: span for at, span in spans.items() if start <= at < end}
        self.out: list[Piece] = []
        self.seen: set[int] = set()

    def read(self) -> tuple[Piece, ...]:
        while self.at < self.end:
            self._outside()
        if self.at != self.end or self.seen != set(self.spans):
            raise Unreadable("the parts of a word cannot be told apart: use plain quotes")
        return tuple(self.out)

    def _add(self, text: bytes, *, quoted: bool, kind: Kind = Kind.TEXT) -> None:
        self.out.append(Piece(kind, text.decode("utf-8", "surrogatepass"), quoted))

    def _outside(self) -> None:
        byte = self.source[self.at : self.at + 1]
        if byte == b"\\":
            self._add(self.source[self.at + 1 : self.at + 2], quoted=True)
            self.at += 2
        elif byte == b"'":
            close = self.source.index(b"'", self.at + 1, self.end)
            self._add(self.source[self.at + 1 : close], quoted=True)
            self.at = close + 1
        elif byte == b'"':
            self._double()
        elif byte in b"$<>" and self.at in self.spans:
            self._span(quoted=False)
        elif byte == b"$":
            self._dollar(quoted=False)
        elif byte in b"*?[":
            self._add(byte, quoted=False, kind=Kind.GLOB)
            self.at += 1
        elif byte == b"{":
            self._braces()
        elif byte == b"~" and self.at == self.start:
            self._add(_HOME, quoted=True)
            self.at += 1
        elif byte in b" \t\n;|&()<>`":
            raise Unreadable("an operator stands inside a word: use quotes")
        elif run := _RUN.match(self.source, self.at, self.end):
            self._add(run[0], quoted=False)
            self.at = run.end()
        else:
            raise Unreadable("a letter outside ASCII stands outside quotes: quote it")

    def _double(self) -> None:
        self.at += 1
        self._add(b"", quoted=True)
        while True:
            if self.at >= self.end:
                raise Unreadable("its quotes do not close")
            byte = self.source[self.at : self.at + 1]
            if byte == b'"':
                self.at += 1
                return
            if byte == b"\\":
                following = self.source[self.at + 1 : self.at + 2]
                self._add(following if following in b'$`"\\' else byte + following, quoted=True)
                self.at += 2
            elif byte == b"$" and self.at in self.spans:
                self._span(quoted=True)
            elif byte == b"$":
                self._dollar(quoted=True)
            else:
                upto = self.at + 1
                while upto < self.end and self.source[upto] not in b'"\\$':
                    upto += 1
                self._add(self.source[self.at : upto], quoted=True)
                self.at = upto

    def _span(self, *, quoted: bool) -> None:
        end, kind = self.spans[self.at]
        self.seen.add(self.at)
        # A process substitution becomes a path like this one.
        self._add(b"/dev/fd/63" if kind is Kind.TEXT else b"", quoted=quoted, kind=kind)
        self.at = end

    def _dollar(self, *, quoted: bool) -> None:
        following = self.source[self.at + 1 : self.at + 2]
        if following == b"'" and not quoted:
            self._ansi()
        elif following == b"{":
            found = _EXPANSION.match(self.source, self.at, self.end)
            if found is None:
                raise Unreadable("${ } with more than a plain name cannot be read surely: use the value itself")
            if found[1]:
                self._add(found[2], quoted=quoted, kind=Kind.NUMBER)
            else:
                kind = Kind.UNKNOWN if found[3] else Kind.VARIABLE
                self._add(found[2], quoted=quoted, kind=kind)
            self.at = found.end()
        elif found := _NAME.match(self.source, self.at + 1, self.end):
            self._add(found[0], quoted=quoted, kind=Kind.VARIABLE)
            self.at = found.end()
        elif following and following.decode("latin-1") in NUMBERS:
            self._add(following, quoted=quoted, kind=Kind.NUMBER)
            self.at += 2
        elif following.isdigit() or following in (b"@", b"*", b"-"):
            self._add(following, quoted=quoted and following != b"@", kind=Kind.UNKNOWN)
            self.at += 2
        elif following in (b"[", b"(", b'"'):
            raise Unreadable('$[ ], $( or $" cannot be read here: use plain words')
        else:
            self._add(b"$", quoted=True)
            self.at += 1

    def _ansi(self) -> None:
        self.at += 2
        text = bytearray()
        while self.source[self.at : self.at + 1] != b"'":
            if self.at >= self.end:
                raise Unreadable("its quotes do not close")
            if self.source[self.at : self.at + 1] != b"\\":
                text += self.source[self.at : self.at + 1]
                self.at += 1
                continue
            rest = self.source[self.at + 1 : self.end]
            if number := re.match(rb"x[0-9A-Fa-f]{1,2}|[0-7]{1,3}", rest):
                digits = number[0]
                value = int(digits[1:], 16) if digits.startswith(b"x") else int(digits, 8) & 0xFF
                if not 0x20 <= value < 0x7F:
                    raise Unreadable("$'…' with codes cannot be read in a card: write the characters")
                text.append(value)
                self.at += 1 + len(digits)
            elif rest[:1] in _ANSI:
                text += _ANSI[rest[:1]]
                self.at += 2
            else:
                raise Unreadable("$'…' with codes cannot be read in a card: write the characters")
        self._add(bytes(text), quoted=True)
        self.at += 1

    def _braces(self) -> None:
        found = _BRACES.match(self.source, self.at, self.end)
        if found:
            self._add(found[1], quoted=False, kind=Kind.BRACES)
            self.at = found.end()
            return
        rest = self.source[self.at : self.end]
        # ``{}`` and ``{{.Names}}`` stay as they are; braces that expand hold a comma or two dots.
        if b"," in rest or b".." in rest:
            raise Unreadable("nested or odd braces cannot be read surely: write the words out, or quote them")
        self._add(b"{", quoted=False)
        self.at += 1


MANY = 64  # words out of one, by braces


def expand(parts: tuple[Piece, ...], values: Mapping[str, Word]) -> list[Word]:
    """The words that one word of the text becomes, braces first, with what is known of its variables.

    :param values: variables whose value is known.
    """
    return [word for option in _brace(parts) if (word := _join(option, values)) is not None]


def _brace(parts: tuple[Piece, ...]) -> list[tuple[Piece, ...]]:
    out: list[tuple[Piece, ...]] = [()]
    for part in parts:
        if part.kind is not Kind.BRACES:
            out = [(*option, part) for option in out]
            continue
        out = [(*option, Piece(Kind.TEXT, choice, False)) for option in out for choice in _choices(part.text)]
        if len(out) > MANY:
            raise Unreadable("its braces make too many words: write a pattern, or several commands")
    return out


def _choices(text: str) -> list[str]:
    if "," in text:
        return text.split(",")
    low, high = (int(end) for end in text.split(".."))
    if abs(high - low) > MANY:
        raise Unreadable("its braces make too many words: write a pattern, or several commands")
    step = 1 if high >= low else -1
    return [str(number) for number in range(low, high + step, step)]


def _join(parts: tuple[Piece, ...], values: Mapping[str, Word]) -> Word | None:
    """One word; None if nothing is left of it (an empty variable without quotes)."""
    text: list[str] = []
    pattern: list[str] = []
    known, splits, numbers, stands = True, False, True, False
    for part in parts:
        kind, value = part.kind, part.text
        stands = stands or part.quoted
        if kind is Kind.VARIABLE and value in values:
            word = values[value]
            if part.quoted or not re.search(r"[\s*?\[]", word.text + word.pattern):
                if known:
                    text.append(word.text)
                pattern.append(word.text if word.known else word.pattern)
                numbers = numbers and word.number and not any(text)
                known = known and word.known
                splits = splits or (word.splits and not part.quoted)
                continue
        if kind is Kind.TEXT:
            pattern.append(value)
            if known:
                text.append(value)
            elif value:
                numbers = False
            continue
        pattern.append(value if kind is Kind.GLOB else "*")
        if kind is Kind.NUMBER and known and not any(text):
            known = False
            continue
        known = False
        numbers = numbers and kind is Kind.NUMBER and not any(text)
        splits = splits or (kind in (Kind.UNKNOWN, Kind.VARIABLE) and not part.quoted)
    whole = "".join(text)
    if known:
        return Word(whole) if whole or stands else None
    return Word(whole, known=False, splits=splits, number=numbers, pattern="".join(pattern))
