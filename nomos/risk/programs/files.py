"""find, xargs, dd and tar: programs whose words run, delete or write by their place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.risk.paths import shows_secrets, written
from nomos.risk.programs.base import SOME, Inside
from nomos.risk.verdict import READS, Verdict, change, destroy, sensitive, strictest
from nomos.risk.words import Word

_FIND_ALONE = frozenset(
    """
    -a -and -o -or -not ! ( ) , -true -false -print -print0 -ls -prune -quit -depth -d -mount -xdev -follow
    -empty -readable -writable -executable -nouser -nogroup -noleaf -daystart -ignore_readdir_race
    -noignore_readdir_race -warn -nowarn -help --help -version --version -H -L -P -E
    """.split()
)
_FIND_VALUED = frozenset(
    """
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime
    -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid -gid -perm -maxdepth -mindepth
    -links -inum -samefile -fstype -printf -regextype -used -context -newermt -newerat -newerct -newermm
    -newerma -newermc -newermB -D
    """.split()
)


def find(words: Sequence[Word], inside: Inside) -> Verdict:
    """Its tests are read; -exec is looked into; -delete deletes."""
    verdicts: list[Verdict] = []
    rest = list(words[1:])
    roots = [word for word in rest if word.known and not word.text.startswith(("-", "(", "!"))][:1]
    while rest:
        word = rest.pop(0)
        text = word.text
        if not word.known:
            if word.may_be_option:
                return destroy("a word of find that is only known when it runs may be -delete: write it out")
        elif text in ("-exec", "-execdir", "-ok", "-okdir"):
            command: list[Word] = []
            while rest and not (rest[0].known and rest[0].text in (";", "+")):
                command.append(rest.pop(0))
            if not rest:
                return destroy("find's -exec does not end: close it with \\; or +")
            rest.pop(0)
            verdicts.append(_each(command, inside, at=roots[0].text if roots else "."))
        elif text == "-delete":
            return destroy("find deletes what it finds")
        elif text in ("-fprint", "-fprint0", "-fprintf", "-fls"):
            verdicts.append(change("find writes a file"))
            rest = rest[1:]
        elif text in _FIND_VALUED:
            if not rest or (not rest[0].known and rest[0].splits):
                return destroy(f"the value of find's {text} is only known when it runs: write it out")
            rest.pop(0)
        elif text.startswith("-") and text not in _FIND_ALONE and not re.fullmatch(r"-O[0-3]", text):
            return destroy(f"Nomos does not know find's option {text}")
    return strictest(verdicts)


def _each(command: list[Word], inside: Inside, *, at: str) -> Verdict:
    """The command of -exec with what was found in place of ``{}``: a path under a starting point is no option."""
    filled = []
    for place, word in enumerate(command):
        if word.known and "{}" in word.text:
            if place == 0 or word.text != "{}":
                return destroy("find puts names into a command's text: use {} alone, as an operand")
            filled.append(Word(at if at.startswith("/") else "./", known=False))
        else:
            filled.append(word)
    return inside.argv(filled) if filled else destroy("find's -exec has no command")


def xargs(words: Sequence[Word], inside: Inside) -> Verdict:
    """The words of its input are added to its command."""
    rest = list(words[1:])
    marker = ""
    while rest and rest[0].known and rest[0].text.startswith("-"):
        text = rest.pop(0).text
        name, _, value = text.partition("=")
        if text == "--":
            break
        if text in ("-0", "-r", "-t", "-x", "-0r", "-r0", "-rt", "--null", "--no-run-if-empty", "--verbose", "--exit"):
            continue
        if text in ("-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a", "--max-args", "--max-procs", "--delimiter"):
            if not rest or not rest[0].known:
                return destroy("an option of xargs is only known when it runs: write it out")
            value = rest.pop(0).text
            marker = value if text == "-I" else marker
        elif re.fullmatch(r"-I.+", text):
            marker = text[2:]
        elif not re.fullmatch(r"-[nPLsd].+|-0?r?[nPL]\d+", text) and name not in (
            "--max-args",
            "--max-procs",
            "--delimiter",
        ):
            return destroy(f"Nomos does not know xargs's option {text}")
    if not rest:
        return READS
    if not marker:
        return inside.argv([*rest, *SOME])
    if any(word.known and marker in word.text and word.text != marker for word in rest) or rest[0].text == marker:
        return destroy("xargs puts its input into a command's text: use the marker alone, as an operand")
    return inside.argv([Word("", known=False) if word.known and word.text == marker else word for word in rest])


def dd(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Without ``of=`` it copies to its output; on a device it overwrites."""
    verdicts = []
    for word in words[1:]:
        name, equals, value = word.text.partition("=")
        if not equals or (not word.known and name not in ("if", "bs", "count", "skip")):
            if word.known and word.text in ("--help", "--version"):
                continue
            return destroy("a word of dd is not known: write it as name=value")
        if name == "of":
            target = written(Word(value), ">", empties=False)
            verdicts.append(target if target == READS else destroy(f"dd overwrites {value}"))
        elif name == "if" and shows_secrets(Word(value, word.known)):
            verdicts.append(sensitive(f"it shows {value}, which may hold secrets"))
        elif name not in ("if", "bs", "count", "skip", "status", "iflag", "ibs", "obs", "cbs", "conv", "iseek"):
            verdicts.append(destroy(f"Nomos does not know dd's word {name}="))
    return strictest(verdicts)


def tar(words: Sequence[Word], inside: Inside) -> Verdict:
    """Its first word may be a bundle of options without a dash."""
    if len(words) > 1 and words[1].known and re.fullmatch(r"[A-Za-z]+", words[1].text):
        return inside.table([words[0], Word("-" + words[1].text), *words[2:]])
    return inside.table(words)


def tee(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Each operand is a file that is written."""
    verdicts = []
    operator = ">"
    for word in words[1:]:
        if word.known and word.text in ("-a", "--append"):
            operator = ">>"
        elif word.known and word.text in ("-i", "-p", "--ignore-interrupts", "--", "--help", "--version"):
            continue
        else:
            verdicts.append(written(word, operator, empties=False))
    return strictest(verdicts)


_STREAMS = frozenset("/dev/null /dev/stdout /dev/stderr /dev/zero".split())


def copy(words: Sequence[Word], inside: Inside) -> Verdict:
    """cp, mv, install: onto a device they overwrite it; from an empty source they empty the target."""
    verdict = inside.table(words)
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    if any(word.text in ("/dev/null", "/dev/zero") for word in operands[:-1]):
        return destroy("it empties or fills the target from a device")
    targets = [*operands[-1:], *(word for word in operands if words[0].text == "mv")]
    targets += [
        Word(re.sub(r"^(?:-t|--target-directory=)", "", word.text)) for word in words[1:] if word.text.startswith("-")
    ]
    if any(word.text.startswith("/dev/") and word.text not in _STREAMS for word in targets):
        return destroy("it writes to a device")
    return destroy("it throws the file away") if any(word.text in _STREAMS for word in targets) else verdict


def truncate(words: Sequence[Word], _inside: Inside) -> Verdict:
    """Making a file longer can be undone; making it shorter cannot."""
    text = " ".join(word.text for word in words[1:])
    grows = re.search(r"(?:^| )(?:-s ?|--size[= ])[+>]", text) and all(word.known for word in words)
    return change("it makes a file longer") if grows else destroy("it cuts off a file's contents")
