"""Command text → read, change or destroy, and why. The strictest part of it decides."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from nomos.domain.executions import Risk
from nomos.risk import environment, gate, paths, second, tables
from nomos.risk.forms import Program
from nomos.risk.parse import parse
from nomos.risk.programs import READERS
from nomos.risk.rules import Rules
from nomos.risk.script import Redirect, Script, Simple
from nomos.risk.verdict import READS, Verdict, change, destroy, sensitive, strictest
from nomos.risk.words import Kind, Piece, Unreadable, Word, expand
from nomos.risk.wrappers import unwrap

DEEPEST = 6  # shells within each other
MOST_RUNNERS = 24  # programs that run programs, in all
MOST_READINGS = 24  # of one command, for the values its variables may have

_TRUSTED = re.compile(
    r"(?:/bin|/sbin|/usr/bin|/usr/sbin|/usr/local/bin|/usr/local/sbin)/([A-Za-z0-9_][A-Za-z0-9_.+-]*)"
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*|\[|\[\[|:|\.")
_INIT = re.compile(r"/etc/init\.d/[A-Za-z0-9_.-]+")
# Nothing in such a text means anything to a shell: both parsers would only split it at its blanks.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@,+%-]+(?: +[A-Za-z0-9_./:=@,+%-]+)*")
_SETTERS = frozenset("read mapfile readarray getopts printf declare typeset local let wait unset".split())
_RESERVED = frozenset("if then elif else fi for while until do done case esac in select function time coproc".split())
_DESTROYS = re.compile(
    r"(?:.*[._:-])?(?:delete|destroy|purge|wipe|erase|prune|shred|zap|format|factory-?reset|nuke|drop|truncate|obliterate)(?:[_-].*)?"
    r"|--?(?:delete|destroy|purge|wipe|erase|prune|zap|obliterate|remove-all|force-delete|no-preserve-root)[a-z-]*(?:=.*)?"
)


Agrees = Callable[[str, Script], bool | None]
"""A second reading of a text: whether it finds the same commands; None where it cannot be had."""


def classify(command: str, overrides: Rules | None = None, agrees: Agrees = second.agrees) -> Verdict:
    """Class one command text, as bash would run it in a clean environment.

    :param command: the exact text.
    :param overrides: the rules that the operator has set for the host; none by default.
    :param agrees: the second reading.
    """
    return _Classifier(overrides or Rules(), agrees).text(command)


class _Classifier:
    """Judges texts and commands within each other."""

    def __init__(self, rules: Rules, agrees: Agrees) -> None:
        self.rules, self.agrees = rules, agrees
        self.shells = 0
        self.runners = 0

    def text(self, text: str) -> Verdict:
        """Judge a text for a shell."""
        if (why := gate.refusal(text)) is not None:
            return destroy(why)
        if self.shells >= DEEPEST:
            return destroy("it runs shells within shells too deeply: use plainer commands")
        self.shells += 1
        try:
            script = parse(text)
            verdict = self._script(script)
        except Unreadable as found:
            return destroy(str(found))
        finally:
            self.shells -= 1
        if verdict.risk is Risk.DESTROY or _is_plain(text):
            return verdict
        same = self.agrees(text, script)
        if same is None:
            return strictest([verdict, change("it is more than plain words, and no second parser is installed here")])
        return verdict if same else destroy("two readings of it differ: write plainer commands, one at a time")

    def _script(self, script: Script) -> Verdict:
        if not script.commands:
            return destroy("there is no command in it")
        values = _values(script)
        return strictest(self._simple(simple, values) for simple in script.commands)

    def _simple(self, simple: Simple, values: Mapping[str, tuple[Word, ...]]) -> Verdict:
        verdicts = []
        for reading in _readings(simple, values):
            words = [word for parts in simple.words for word in expand(parts, reading)]
            verdicts.append(self._assignments(simple, reading))
            if words:
                verdicts.append(self.argv(words))
            elif simple.words:
                verdicts.append(destroy("nothing is left of the command's name when it runs: write it out"))
            verdicts += [self._redirect(redirect, words, reading) for redirect in simple.redirects]
        return strictest(verdicts)

    def _assignments(self, simple: Simple, reading: Mapping[str, Word]) -> Verdict:
        judge = environment.given if simple.words else environment.kept
        found = []
        for name, parts in simple.assigns:
            value = expand(parts, reading) if parts else [Word("")]
            found.append(judge(name, value[0] if len(value) == 1 else Word("", known=False)))
        return strictest(found)

    def _redirect(self, redirect: Redirect, words: Sequence[Word], reading: Mapping[str, Word]) -> Verdict:
        operator = redirect.operator
        targets = expand(redirect.target, reading)
        target = targets[0] if len(targets) == 1 else None
        if operator in ("<<", "<<<", "<&", ">&-", "<&-"):
            return READS
        if operator == ">&" and target is not None and target.known and re.fullmatch(r"\d|-", target.text):
            return READS
        if operator == "<":
            if target is None or target.text.startswith("/dev/tcp") or target.text.startswith("/dev/udp"):
                return change("it reads from where only the running shell knows, or from the network")
            return (
                sensitive(f"it shows {_shown(target)}, which may hold secrets")
                if paths.shows_secrets(target)
                else READS
            )
        if operator not in (">", ">>", ">|", "&>", "&>>", ">&"):
            return destroy(f"the redirection {operator} cannot be read surely: use > or >>")
        empties = not words or words[0].text in (":", "true") or _says_nothing(words)
        return paths.written(target, operator, empties=empties)

    def argv(self, words: Sequence[Word]) -> Verdict:
        """Judge one command's words."""
        first = words[0]
        if not first.known:
            return destroy("the command's name is only known when it runs: write it out")
        trusted = _TRUSTED.fullmatch(first.text)
        name = trusted[1] if trusted else first.text
        if first.text in ("/usr/bin/time", "/bin/time"):
            name = "/usr/bin/time"
        elif _INIT.fullmatch(first.text):
            return self.argv([Word("service"), Word(first.text.rpartition("/")[2]), *words[1:]])
        elif _NAME.fullmatch(name) is None:
            return destroy(f"“{first.text[:40]}” is not in a folder of programs that Nomos trusts")
        named = [Word(name), *words[1:]]
        self.runners += 1
        try:
            verdict = self._judge(named) if self.runners <= MOST_RUNNERS else destroy("it is nested too deeply")
        finally:
            self.runners -= 1
        return self.rules.apply([word.text if word.known else None for word in named], verdict)

    def _judge(self, words: Sequence[Word]) -> Verdict:
        wrapped = unwrap(words, self)
        if wrapped is not None:
            return wrapped
        reader = READERS.get(words[0].text)
        verdict = reader(words, self) if reader is not None else self.table(words)
        program = tables.find(words[0].text)
        if verdict.risk is Risk.READ and not verdict.sensitive and not (program is not None and program.lists):
            for word in words[1:]:
                if paths.shows_secrets(word):
                    return sensitive(f"it shows {_shown(word)}, which may hold secrets")
        return verdict

    def table(self, words: Sequence[Word]) -> Verdict:
        """Judge a command by its program's table."""
        name = words[0].text
        program = tables.find(name)
        if program is None:
            return destroy(f"Nomos does not know the program “{name}”: what it does cannot be told from the text")
        match = program.best(words[1:])
        if match is None:
            return self._unlisted(program, words)
        risk = max(match.form.risk, match.raised, key=lambda each: each.rank)
        if risk is Risk.READ:
            return sensitive(f"{name} shows secrets here") if match.form.secret else READS
        verbs = " ".join(word.text for word in words[1 : 1 + len(match.form.verbs)] if not word.may_be_option)
        said = f"{name} {verbs}".strip()
        if risk is Risk.CHANGE and match.form.any_option:
            taken = set(verbs.split())
            if found := _destroying([word for word in words[1:] if word.text not in taken]):
                return destroy(f"“{found}” in it can destroy")
        if risk is Risk.CHANGE:
            return change(f"{said} changes something")
        return destroy(f"{said} destroys, or runs what the text does not show")

    def _unlisted(self, program: Program, words: Sequence[Word]) -> Verdict:
        raised = program.raised(words[1:])
        last = [form.verbs[-1] for form in program.forms if form.risk is Risk.DESTROY and form.verbs]
        named = next((word.text for word in words[1:] if any(verb.fullmatch(word.text) for verb in last)), None)
        if found := named or _destroying(words[1:]):
            return destroy(f"“{found}” in it can destroy")
        risk = max(program.otherwise, raised, Risk.CHANGE, key=lambda each: each.rank)
        why = f"a use of {program.name} that Nomos does not know as reading: fully spelled, plain options help"
        return Verdict(risk, why)


def _destroying(words: Sequence[Word]) -> str | None:
    return next((word.text for word in words if _DESTROYS.fullmatch(word.text)), None)


def _says_nothing(words: Sequence[Word]) -> bool:
    """Whether a command surely prints nothing, so that its target ends up empty."""
    texts = [word.text for word in words]
    if not all(word.known for word in words):
        return False
    return texts in (
        ["cat", "/dev/null"],
        ["echo", "-n"],
        ["echo", "-n", ""],
        ["printf", ""],
        ["cp", "/dev/null"],
        ["echo"],
        ["echo", ""],
    )


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text.split(" ", 1)[0] not in _RESERVED


def _shown(word: Word) -> str:
    return word.text if word.known else (word.pattern.replace("*", "…") or "a file that is only known when it runs")


def _values(script: Script) -> dict[str, tuple[Word, ...]]:
    """For each variable that only ever gets known values: these values. What else sets it makes it unknown."""
    found: dict[str, list[Word]] = {"HOME": [Word("~")]}
    unknown: set[str] = {"HOME"} & {binding.name for binding in script.bindings}
    for simple in script.commands:
        texts = ["".join(piece.text for piece in parts) for parts in simple.words]
        if texts and texts[0] in _SETTERS:
            unknown.update(texts[1:])
    for binding in script.bindings:
        for parts in binding.values or ():
            found.setdefault(binding.name, []).extend(_known(parts))
        if binding.values is None:
            unknown.add(binding.name)
        if not binding.certain:
            found[binding.name].append(Word(""))
    return {name: tuple(dict.fromkeys(words)) for name, words in found.items() if name not in unknown}


def _known(parts: tuple[Piece, ...]) -> list[Word]:
    if not parts:
        return [Word("")]
    if any(part.kind is Kind.VARIABLE for part in parts):
        return [Word("", known=False, splits=True, pattern="*")]
    return expand(parts, {})


def _readings(simple: Simple, values: Mapping[str, tuple[Word, ...]]) -> list[dict[str, Word]]:
    """Every set of values that the variables of a command may have; without those that would be too many."""
    parts = [
        *simple.words,
        *(value for _, value in simple.assigns),
        *(redirect.target for redirect in simple.redirects),
    ]
    names = sorted({piece.text for each in parts for piece in each if piece.kind is Kind.VARIABLE} & set(values))
    count = 1
    kept = []
    for name in names:
        count *= len(values[name])
        if count <= MOST_READINGS:
            kept.append(name)
    return [dict(zip(kept, choice, strict=True)) for choice in itertools.product(*(values[name] for name in kept))]
