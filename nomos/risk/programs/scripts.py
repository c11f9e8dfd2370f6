"""sed and awk: the little programs in their operands are read, too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.risk.programs.base import Inside
from nomos.risk.verdict import READS, Verdict, change, destroy, strictest
from nomos.risk.words import Word

# ---------------------------------------------------------------------------------------------------------------- sed

_SED_FLAGS = "nErsuzi"
_SED_LONG = frozenset(
    "--quiet --silent --regexp-extended --separate --unbuffered --null-data --zero-terminated --posix --debug "
    "--sandbox --follow-symlinks --expression --in-place --version --help".split()
)
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?[^\]\n]*\])*/I?M?)"
_SED_START = re.compile(rf"[\s;]*(?:{_ADDRESS}(?:\s*,\s*(?:[+~]?\d+|{_ADDRESS}))?\s*)?(?:!\s*)?")
_SED_VERB = re.compile(r"(?:[pdDPgGhHxnN={}lbt]|[qQ]\s*\d*|[bt:]\s*[A-Za-z_]\w*)(?=[\s;}]|$)|[{}]")
_SED_TEXT = re.compile(r"[aic](?:\s*\\?[^\n\\]|\\[^\n])(?:[^\n\\]|\\[^\n])*(?=\n|$)")


def sed_script(script: str) -> Verdict:
    """What a sed script does besides printing: nothing, write a file, or run a command. What is not read, runs."""
    at, verdict = 0, READS
    while at < len(script.rstrip(" \t\n;")):
        at = _SED_START.match(script, at).end()  # type: ignore[union-attr]
        if at >= len(script):
            return destroy("its sed script has an address without a command")
        if found := _SED_VERB.match(script, at) or _SED_TEXT.match(script, at):
            at = found.end()
            continue
        if script[at] not in "sy":
            if script[at] in "wW":
                return strictest([verdict, change("its sed script writes a file")])
            return destroy("its sed script cannot be read surely: use plain addresses with p, d or s///")
        end, flags = _substitution(script, at)
        if end < 0 or not re.fullmatch(r"[gpiIM\d]*(?:w.*)?", flags):
            return destroy("its sed script runs commands, or cannot be read surely: use s/// with the flags g, p, I")
        if "w" in flags:
            return strictest([verdict, change("its sed script writes a file")])
        at = end
    return verdict


def _substitution(script: str, at: int) -> tuple[int, str]:
    """Where ``s/a/b/flags`` ends, and its flags; -1 if it does not."""
    limit, parts, where = script[at + 1 : at + 2], 0, at + 2
    if not limit or limit in "\\\n;{} " or limit.isalnum():
        return -1, ""
    while where < len(script) and parts < 2:
        if script[where] == "\\":
            where += 2
        elif script[where] == "[" and parts == 0 and limit != "[":
            # A bracket may hold the limit only for some seds; who writes that is asked.
            close = script.find("]", where + 2)
            if close < 0 or limit in script[where:close]:
                return -1, ""
            where = close + 1
        else:
            parts += script[where] == limit
            where += 1
    if parts < 2:
        return -1, ""
    flags = re.compile(r"[^\n;}]*").match(script, where)
    text = flags[0] if flags else ""
    return where + len(text), text.strip()


def sed(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Its options, then its script."""
    call = _Sed(list(words[1:]))
    refusal = call.read()
    if refusal is not None:
        return refusal
    for script in call.scripts:
        if not script.known:
            return destroy("its sed script is only known when it runs: write it out in single quotes")
        found = sed_script(script.text)
        if not (call.sandbox and re.search(r"[ew]", script.text)):
            call.verdicts.append(found)
    return strictest(call.verdicts)


class _Sed:
    """sed's words: options, scripts, files."""

    def __init__(self, rest: list[Word]) -> None:
        self.rest = rest
        self.verdicts: list[Verdict] = []
        self.scripts: list[Word] = []
        self.operands: list[Word] = []
        self.sandbox = False

    def read(self) -> Verdict | None:
        """Sort the words; a verdict if one of them cannot be sorted."""
        while self.rest:
            word = self.rest.pop(0)
            if not word.known and word.may_be_option:
                return destroy("a word of it that is only known when it runs may be an option: write it out")
            if word.text == "--":
                self.operands += self.rest
                break
            if not word.text.startswith("-") or word.text == "-":
                self.operands.append(word)
            elif not (self._long(word) if word.text.startswith("--") else self._bundle(word)):
                return destroy(f"Nomos does not know sed's option {word.text}: it may run a script")
        if not self.scripts and self.operands:
            self.scripts = [self.operands.pop(0)]
        return None

    def _long(self, word: Word) -> bool:
        name, equals, value = word.text.partition("=")
        if name == "--expression":
            self.scripts.append(Word(value, word.known) if equals else _take(self.rest))
        elif name == "--in-place":
            self.verdicts.append(change("it edits files in place"))
        elif name == "--sandbox":
            self.sandbox = True
        return name in _SED_LONG

    def _bundle(self, word: Word) -> bool:
        text = word.text
        for at, letter in enumerate(text[1:], 1):
            if letter == "e":
                self.scripts.append(Word(text[at + 1 :], word.known) if text[at + 1 :] else _take(self.rest))
                return True
            if letter == "i":
                self.verdicts.append(change("it edits files in place"))
                return True
            if letter == "l":
                if not text[at + 1 :]:
                    _take(self.rest)
                return True
            if letter not in _SED_FLAGS:
                return False
        return True


def _take(rest: list[Word]) -> Word:
    return rest.pop(0) if rest else Word("", known=False)


# ---------------------------------------------------------------------------------------------------------------- awk

_AWK_OPERAND_BEFORE = re.compile(r"[\w)\]$\"]\s*$")
_AWK_KEYWORD_BEFORE = re.compile(r"\b(?:return|print|printf|in|case|else|do)\s*$")


def awk_script(script: str) -> Verdict:
    """What an awk program does besides printing: nothing, write a file, or run a command. What is not read, runs."""
    if re.search(r"system|getline|@|fflush|close|extension|load|ENVIRON|PROCINFO", script):
        if not re.search(r"system|getline|@|extension|load|PROCINFO|ENVIRON", script):
            return change("its awk program handles other files")
        return destroy("its awk program may run commands: keep to patterns and print")
    bare = _without_texts(script)
    if bare is None:
        return destroy("its awk program cannot be read surely: keep to patterns and print")
    if re.search(r"(?<!\|)\|(?!\|)", bare.replace("||", "  ")):
        return destroy("its awk program pipes into a command: use a pipe of the shell")
    for found in re.finditer(r"\bprintf?\b([^;\n}]*)", bare):
        depth = 0
        for letter in found[1]:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == ">" and depth <= 0:
                return change("its awk program writes a file")
    return READS


def _without_texts(script: str) -> str | None:
    """The program without its strings, patterns and comments; None where they cannot be told from code."""
    out, at = "", 0
    while at < len(script):
        letter = script[at]
        if letter == '"':
            found = re.compile(r'"(?:[^"\\\n]|\\.)*"').match(script, at)
            if found is None:
                return None
            out += '""'
            at = found.end()
        elif letter == "/":
            if _AWK_OPERAND_BEFORE.search(out) and not _AWK_KEYWORD_BEFORE.search(out):
                if out.rstrip().endswith(")") and re.search(r"\b(?:if|while|for)\b", out):
                    return None
                out += "/"
                at += 1
                continue
            found = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/]*\])*/").match(script, at)
            if found is None:
                return None
            out += '""'
            at = found.end()
        elif letter in "#\\":
            return None
        else:
            out += letter
            at += 1
    return out


def awk(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Only ``-F`` and ``-v``, then the program."""
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.text in ("--version", "-V", "--help") and word.known:
            return READS
        if word.known and word.text in ("-F", "-v"):
            _take(rest)
        elif word.text.startswith(("-F", "-v")):
            continue
        elif not word.known or (word.text.startswith("-") and word.text != "--"):
            return destroy("its awk program, or an option, is not in the text: use awk '…' with -F and -v only")
        elif word.text == "--":
            continue
        else:
            return awk_script(word.text)
    return destroy("there is no awk program in the text")
