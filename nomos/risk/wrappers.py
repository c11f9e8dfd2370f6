"""Programs that run other programs: what they run is looked into."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.domain.executions import Risk
from nomos.risk import environment
from nomos.risk.programs import Inside
from nomos.risk.tables import Wrapper, wrappers
from nomos.risk.verdict import READS, Verdict, change, destroy, sensitive, strictest
from nomos.risk.words import Word

_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")


def unwrap(words: Sequence[Word], inside: Inside) -> Verdict | None:
    """The verdict of a wrapped command; None if the words are no wrapper."""
    for wrapper in wrappers().get(words[0].text, ()):
        verdict = _Unwrapping(wrapper, inside).run(words)
        if verdict is not None:
            return verdict
    return None


class _Unwrapping:
    def __init__(self, wrapper: Wrapper, inside: Inside) -> None:
        self.wrapper, self.inside = wrapper, inside
        self.verdicts: list[Verdict] = []
        self.rest: list[Word] = []
        self.verbs, self.skip = list(wrapper.verbs), wrapper.skip
        self.name = " ".join((wrapper.name, *wrapper.verbs))
        self.refused: Verdict | None = None
        self.coded = False
        self.looks = False

    def run(self, words: Sequence[Word]) -> Verdict | None:
        """The verdict; None if the verbs are not this wrapper's."""
        self.rest = list(words[1:])
        while self.rest:
            if self.wrapper.everything and not self.verbs:
                break
            word = self.rest[0]
            if word.known and word.text == "--" and not self.verbs:
                if self.skip:
                    return destroy(f"{self.name}: “--” stands where its own words should: write them first")
                self.rest.pop(0)
                break
            if word.may_be_option and word.text != "-":
                if not word.known or not self._option(self.rest.pop(0).text):
                    return None if self.verbs else destroy(f"{self.name}'s option {word.text} is not one Nomos knows")
            elif not self._operand(word):
                break
        if self.verbs or self.refused is not None:
            return self.refused
        if self.looks:
            return READS
        base = READS if self.wrapper.base is Risk.READ else Verdict(self.wrapper.base, f"{self.name} changes something")
        return strictest([*self.verdicts, base, self._command(self.name)])

    def _operand(self, word: Word) -> bool:
        """Read a word that is no option; False where the command begins, or nothing more is to be read."""
        if self.verbs:
            if not word.known or word.text != self.verbs[0]:
                return False
            self.verbs.pop(0)
        elif self.skip:
            if word.splits:
                self.refused = destroy(f"a word of {self.name} is only known when it runs: write it out, or quote it")
                return False
            self.skip -= 1
        elif self.wrapper.assigns and (found := _ASSIGNS.match(word.text)):
            self.verdicts.append(environment.given(found[1], Word(word.text[found.end() :], word.known)))
        else:
            return False
        self.rest.pop(0)
        return True

    def _command(self, name: str) -> Verdict:
        wrapper = self.wrapper
        if not self.rest:
            return READS if self.coded else self._bare(name)
        if not wrapper.shell:
            return self.inside.argv([*(Word(word) for word in wrapper.prefix), *self.rest])
        if not all(word.known for word in self.rest):
            return destroy(f"{name} runs a text that is only known when it runs: write it out")
        return self.inside.text(" ".join(word.text for word in self.rest))

    def _bare(self, name: str) -> Verdict:
        if self.wrapper.bare == "secret":
            return sensitive("it shows every variable of the environment, also secret ones")
        if self.wrapper.bare == "read":
            return READS
        if self.wrapper.bare == "destroy":
            return destroy(f"{name} would run what the text does not show")
        return change(f"{name} without a command opens a session, or acts by itself")

    def _option(self, text: str) -> bool:
        """Read an option and its value; False if it is not known."""
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            option = self.wrapper.options.get(name)
            if option is None or (equals and not option.value):
                return False
            return self._take(name, value if equals else None, takes=option.value and not (equals or option.attached))
        if text in self.wrapper.options and len(text) > len("-x"):
            option = self.wrapper.options[text]
            return self._take(text, None, takes=option.value)
        for at, letter in enumerate(text[1:], 1):
            option = self.wrapper.options.get(f"-{letter}")
            if option is None:
                return re.fullmatch(r"-\d+", text) is not None and "-N" in self.wrapper.options
            if option.value:
                value = text[at + 1 :]
                return self._take(option.name, value or None, takes=not value and not option.attached)
            self._take(option.name, None, takes=False)
        return True

    def _take(self, name: str, value: str | None, *, takes: bool) -> bool:
        option = self.wrapper.options[name]
        if takes:
            if not self.rest or self.rest[0].splits:
                return False
            word = self.rest.pop(0)
            if name in self.wrapper.code and not word.known:
                return False
            value = word.text if word.known else None
        if option.of is not None and (value is None or not option.of.fullmatch(value)):
            return False
        if name in self.wrapper.code:
            self.verdicts.append(self.inside.text(value or ""))
            self.coded = True
        if name in self.wrapper.looks:
            self.looks = True
        if name in self.wrapper.change:
            self.verdicts.append(change(f"{self.wrapper.name} {name} changes something, or writes a file"))
        return True
