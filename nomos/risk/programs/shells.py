"""Shells, and what belongs to the shell itself: nested texts, tests, variables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.risk import environment
from nomos.risk.programs.base import Inside
from nomos.risk.verdict import READS, Verdict, destroy, sensitive, strictest
from nomos.risk.words import Word

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET = re.compile(r"[+-][euxfC]+")


def shell(words: Sequence[Word], inside: Inside) -> Verdict:
    """``sh -c text``; a shell that would read a file or its standard input runs what the text does not show."""
    rest = list(words[1:])
    checks = False
    while rest:
        word = rest.pop(0)
        text = word.text
        if not word.known:
            break
        if text in ("--version", "--help"):
            return READS
        if text in ("-o", "+o") and rest and rest[0].known and rest[0].text in ("pipefail", "errexit", "nounset"):
            rest.pop(0)
        elif text in ("--noprofile", "--norc"):
            continue
        elif re.fullmatch(r"-[eux]*n[eux]*", text):
            checks = True
        elif re.fullmatch(r"-[eux]*c", text):
            if not rest or not rest[0].known:
                break
            return inside.text(rest[0].text)
        elif checks and not text.startswith("-"):
            return READS
        elif not re.fullmatch(r"-[eux]+", text):
            break
    return destroy("the shell runs what is not in the text: give the commands themselves")


def test(words: Sequence[Word], _inside: Inside) -> Verdict:
    """``test``, ``[`` and ``[[``: ``-v`` and ``-R`` evaluate their operand, which can run commands."""
    for word in words[1:]:
        if word.known and word.text in ("-v", "-R"):
            return destroy("a test with -v evaluates its word, which can run commands: use -n")
        if not word.known and word.splits and words[0].text != "[[":
            return destroy("a word of the test is only known when it runs: put it in double quotes")
    return READS


def printf(words: Sequence[Word], _inside: Inside) -> Verdict:
    """``-v`` evaluates its operand; once the format stands, what follows is text."""
    if len(words) > 1 and words[1].known and not words[1].text.startswith("-"):
        return READS
    if len(words) > 2 and words[1].text == "--" and words[2].known:
        return READS
    return destroy("printf's format is not in the text, or it sets a variable: write the format first")


def read(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Sets variables: only plain names."""
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.known and word.text in ("-r", "-s", "-rs", "-sr", "-a", "-ra"):
            continue
        if word.known and word.text in ("-d", "-n", "-t", "-p", "-u") and rest:
            rest.pop(0)
        elif not word.known or not _IDENTIFIER.fullmatch(word.text) or environment.is_shells_own(word.text):
            return destroy("read evaluates the names it sets: use plain names in lower case")
    return READS


def declare(words: Sequence[Word], _inside: Inside) -> Verdict:
    """``export`` and ``readonly``; the values are judged with the assignments."""
    name, verdicts = words[0].text, []
    for word in words[1:]:
        if word.text in ("-p", "-x") and word.known:
            verdicts.append(sensitive("it shows every variable, also secret ones"))
        elif not word.known or not _IDENTIFIER.fullmatch(word.text):
            return destroy(f"{name} with more than plain names cannot be read surely: write NAME=value")
        elif name == "unset":
            if environment.is_shells_own(word.text):
                return destroy(f"it changes {word.text}, which the shell itself uses")
        else:
            verdicts.append(environment.named(word.text))
    if name not in ("export", "readonly", "unset"):
        return destroy(f"{name} can evaluate what it sets: use plain NAME=value")
    return strictest(verdicts)


def bare_export(_words: Sequence[Word], _inside: Inside) -> Verdict:
    """Without names it prints all."""
    return sensitive("it shows every variable, also secret ones")


def set_(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Options of the shell: the harmless ones."""
    rest = [word.text if word.known else "?" for word in words[1:]]
    if not rest:
        return sensitive("it shows every variable, also secret ones")
    while rest:
        text = rest.pop(0)
        if (text in ("-o", "+o") and rest and rest[0] in ("pipefail", "errexit", "nounset", "xtrace")) or (
            re.fullmatch(r"-[eux]+o", text) and rest and rest[0] == "pipefail"
        ):
            rest.pop(0)
        elif not _SET.fullmatch(text):
            return destroy("it changes how the shell reads what follows: use only set -e, -u, -x, -o pipefail")
    return READS


def trap(words: Sequence[Word], inside: Inside) -> Verdict:
    """The text of a trap runs later: it is judged now."""
    if len(words) > 1 and words[1].known and words[1].text in ("-p", "-l", "-", ""):
        return READS
    if len(words) > 1 and words[1].known and not words[1].text.startswith("-"):
        return inside.text(words[1].text)
    return destroy("a trap whose commands are not in the text")


def runs_unseen(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Programs that run what the text does not show."""
    return destroy(f"“{words[0].text}” runs what the text does not show: give the commands themselves")
