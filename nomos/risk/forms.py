"""Forms: the lines of the tables. A command has the risk of the form that it matches, and else its program's worst.

A line is ``verbs… options… (operands)``:

* ``status|show`` a verb, one of these; ``<[0-9]+>`` a word that this pattern matches whole;
* ``-a`` an option; ``-n=`` with a value; ``--color[=]`` with a value only behind ``=``; ``--run=<client|server>`` with
  such a value only; ``-N`` a dash and digits; a ``!`` behind it: the form holds only where this option stands;
* ``*`` options that are not listed are taken as harmless, too;
* ``(0)`` no operands, ``(2)`` at most two, ``(+)`` at least one, ``(*)`` any, ``(<pattern>)`` each must match;
* nothing of this: any operands where there is a verb, or an option with ``!``; in a line of options alone, no
  operands, and one of the options has to stand.

Long options count only when they are spelled in full: an abbreviation is another spelling, and is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nomos.domain.executions import Risk
from nomos.risk.words import Word

_OPTION = re.compile(r"(?P<name>--?[^=\[!<]+)(?P<value>=<(?P<of>.*)>|\[=\]|=)?(?P<must>!)?")


@dataclass(frozen=True, slots=True)
class Option:
    """One option as it may be spelled."""

    name: str
    value: bool = False
    attached: bool = False  # its value only ever stands behind "=", or in the same word
    of: re.Pattern[str] | None = None
    must: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One line of a table."""

    line: str
    risk: Risk
    verbs: tuple[re.Pattern[str], ...]
    options: Mapping[str, Option]
    any_option: bool
    least: int
    most: int | None
    shape: re.Pattern[str] | None
    secret: bool = False
    one_of: bool = False  # one of its options has to stand

    @property
    def musts(self) -> frozenset[str]:
        """The options without which it does not hold."""
        return frozenset(option.name for option in self.options.values() if option.must)


@dataclass(frozen=True, slots=True)
class Match:
    """A command that a form holds for: its options raise it to ``raised`` at least; ``operands`` is what is left."""

    form: Form
    raised: Risk
    operands: tuple[Word, ...]


def options(text: str) -> dict[str, Option]:
    """Read ``-a -n= --color[=]`` …

    :raises ValueError: a word is not an option.
    """
    found = {}
    for token in text.split():
        match = _OPTION.fullmatch(token)
        if match is None or "|" in match["name"]:
            raise ValueError(f"{token} is not an option")
        pattern = _pattern(f"<{match['of']}>") if match["of"] else None
        found[match["name"]] = Option(
            match["name"], match["value"] is not None, match["value"] == "[=]", pattern, bool(match["must"])
        )
    return found


def _pattern(text: str) -> re.Pattern[str]:
    """The pattern in ``<…>``."""
    if not (text.startswith("<") and text.endswith(">")):
        raise ValueError(f"{text} is no <pattern>")
    try:
        return re.compile(text[1:-1])
    except re.error as error:
        raise ValueError(f"{text}: {error}") from None


def form(line: str, risk: Risk, *, secret: bool = False) -> Form:
    """Read one line of a table.

    :raises ValueError: it does not follow the grammar above.
    """
    verbs, names, least, most, shape, any_option, said = [], [], 0, None, None, False, False
    for part in line.split():
        if part == "*":
            any_option = said = True
        elif part.startswith("-"):
            names.append(part)
        elif inside := re.fullmatch(r"\((.+)\)", part):
            rule, said = inside[1], True
            if rule == "+":
                least = 1
            elif rule.isdigit():
                most = int(rule)
            elif rule != "*":
                shape = _pattern(rule)
        else:
            literal = "|".join(re.escape(verb) for verb in part.split("|"))
            verbs.append(_pattern(part) if part.startswith("<") else re.compile(literal))
    known = options(" ".join(names))
    alone = not (said or verbs or any(each.must for each in known.values()))
    return Form(
        line, risk, tuple(verbs), known, any_option, least, 0 if alone else most, shape, secret, one_of=alone
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """What the tables know of one program.

    ``otherwise`` is the risk where no form holds; ``free`` says that words nobody knows before it runs may stand
    anywhere (``quoted``: one word each, ``any``), because every option only reads; ``lists`` that it shows names and
    numbers, never what is in a file; ``words`` that its options are whole words behind one dash (``find -name``);
    ``ordered`` that a verb's options only stand behind it.
    """

    name: str
    forms: tuple[Form, ...]
    shared: Mapping[str, Option]
    raising: Mapping[str, tuple[Option, Risk]]
    otherwise: Risk = Risk.CHANGE
    free: str = ""
    lists: bool = False
    words: bool = False
    ordered: bool = False

    def best(self, words: Sequence[Word]) -> Match | None:
        """The form that holds: most verbs first, then the lowest risk."""
        found = [match for each in self.forms if (match := self._match(each, words)) is not None]
        return min(found, key=lambda match: (-len(match.form.verbs), _total(match).rank), default=None)

    def raised(self, words: Iterable[Word], listed: Iterable[str] = ()) -> Risk:
        """The highest risk of an option that could be meant by any of the words, by any spelling.

        :param listed: options that the form lists itself, and so answers for.
        """
        worst = Risk.READ
        for word in words:
            text = word.text.partition("=")[0]
            for name, (_, risk) in self.raising.items():
                meant = name not in listed and (
                    (not word.known and word.may_be_option)
                    or text == name
                    or (name.startswith("--") and len(text) > len("--") and name.startswith(text))
                    or (len(name) == len("-x") and not self.words and re.match(r"-[^-]", text) and name[1] in text)
                )
                if meant and risk.rank > worst.rank:
                    worst = risk
        return worst

    def _match(self, each: Form, words: Sequence[Word]) -> Match | None:
        return _Matching(self, each).run(words)


def _total(match: Match) -> Risk:
    return max(match.form.risk, match.raised, key=lambda risk: risk.rank)


class _Matching:
    """One try to read the words by one form."""

    def __init__(self, program: Program, each: Form) -> None:
        self.program, self.form = program, each
        self.verbs = list(each.verbs)
        self.operands: list[Word] = []
        self.musts = set(each.musts)
        self.raised = Risk.READ
        self.stood = False

    def run(self, words: Sequence[Word]) -> Match | None:
        rest = list(words)
        options_end = False
        while rest:
            word = rest.pop(0)
            if word.known and word.text == "--" and not options_end and not self.program.words:
                options_end = True
            elif not options_end and word.may_be_option and word.text != "-":
                if not self._option(word, rest):
                    return None
            elif not self._operand(word):
                return None
        count = len(self.operands)
        most = self.form.most
        if self.verbs or self.musts or (self.form.one_of and not self.stood):
            return None
        if count < self.form.least or (most is not None and count > most):
            return None
        if self.form.any_option:
            self._raise(self.program.raised(words, self.form.options))
        return Match(self.form, self.raised, tuple(self.operands))

    def _raise(self, risk: Risk) -> None:
        self.raised = max(self.raised, risk, key=lambda each: each.rank)

    def _operand(self, word: Word) -> bool:
        if self.verbs:
            return word.known and self.verbs.pop(0).fullmatch(word.text) is not None
        shape = self.form.shape
        if (shape is not None or self.form.most is not None) and word.splits:
            return False
        if shape is not None and not (word.known and shape.fullmatch(word.text)):
            return False
        self.operands.append(word)
        return True

    def _option(self, word: Word, rest: list[Word]) -> bool:
        """Read one word that is, or may be, an option."""
        if not word.known:
            free = self.program.free == "any" or (self.program.free == "quoted" and not word.splits)
            harmless = self.form.any_option and self.form.risk is not Risk.READ and not self.program.raising
            if free or harmless:
                return self._operand(word)
            return self._attached(word)
        text = word.text
        if text.startswith("--") or self.program.words:
            return self._long(text, rest)
        if text[1:].isdigit() and "-N" in self.form.options:
            self.stood = True
            return True
        return self._bundle(text, rest)

    def _find(self, name: str) -> Option | None:
        """What is known of an option where it stands."""
        own = {} if self.program.ordered and len(self.verbs) == len(self.form.verbs) > 0 else self.form.options
        if name in self.program.raising:
            option, risk = self.program.raising[name]
            if name not in own:
                self._raise(risk)
                return option
        found = own.get(name) or self.program.shared.get(name)
        self.stood = self.stood or found is not None
        return found

    def _attached(self, word: Word) -> bool:
        """``--name=…`` with a value that is not known, but one word."""
        name, equals, _ = word.text.partition("=")
        option = self._find(name) if equals and not word.splits else None
        if option is None or not option.value or option.of is not None:
            return self.form.any_option and not word.splits and bool(equals) and not self.program.raised([word]).rank
        self.musts.discard(name)
        return True

    def _long(self, text: str, rest: list[Word]) -> bool:
        name, equals, value = text.partition("=")
        option = self._find(name)
        if option is None:
            return self.form.any_option
        if equals and not option.value:
            return False
        self.musts.discard(name)
        if not equals and option.value and not option.attached:
            return self._value(option, rest)
        return option.of is None or option.of.fullmatch(value) is not None

    def _bundle(self, text: str, rest: list[Word]) -> bool:
        for at, letter in enumerate(text[1:], 1):
            option = self._find(f"-{letter}")
            if option is None:
                return self.form.any_option
            self.musts.discard(option.name)
            if option.value:
                value = text[at + 1 :]
                if value or option.attached:
                    return option.of is None or option.of.fullmatch(value) is not None
                return self._value(option, rest)
        return True

    def _value(self, option: Option, rest: list[Word]) -> bool:
        if not rest or rest[0].splits:
            return False
        value = rest.pop(0)
        return option.of is None or (value.known and option.of.fullmatch(value.text) is not None)
