"""Stand-ins that the practice host and its containers share: words, waiting, and filters for pipes."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from .console import Command, Commands, Console

LONGEST_SLEEP = 600
"""Seconds; a practice job ends by itself."""


def fixed(text: str, code: int = 0) -> Command:
    """A stand-in that prints ``text`` whatever it is asked."""

    def command(console: Console, _words: list[str]) -> int:
        console.out(text)
        return code

    return command


def files(contents: dict[str, str], folders: dict[str, str]) -> Commands:
    """``cat`` and ``ls`` over stand-in files: path -> contents, and folder -> names (one a line)."""

    def cat(console: Console, words: list[str]) -> int:
        if len(words) == 1:
            console.out(console.stdin)
        return max((_cat_one(console, path) for path in words[1:] if not path.startswith("-")), default=0)

    def _cat_one(console: Console, path: str) -> int:
        if path not in contents:
            console.err(f"cat: {path}: No such file or directory\n")
            return 1
        console.out(contents[path])
        return 0

    def ls(console: Console, words: list[str]) -> int:
        code = 0
        for path in [w for w in words[1:] if not w.startswith("-")] or ["/root"]:
            if path in contents:
                console.out(path + "\n")
            elif (path.rstrip("/") or "/") in folders:
                console.out(folders[path.rstrip("/") or "/"])
            else:
                console.err(f"ls: cannot access '{path}': No such file or directory\n")
                code = 2
        return code

    return {"cat": cat, "ls": ls}


def systemctl(units: dict[str, str], system: str = "running") -> Command:
    """``systemctl`` over a table unit -> active state."""

    def command(console: Console, words: list[str]) -> int:
        verb, *rest = [w for w in words[1:] if not w.startswith("-")] or ["list-units"]
        names = [name.removesuffix(".service") for name in rest]
        if verb == "is-system-running":
            console.out(f"{system}\n")
            return 0 if system == "running" else 1
        if verb == "is-active" and names:
            states = [units.get(name, "inactive") for name in names]
            console.out("".join(f"{state}\n" for state in states))
            return 0 if "active" in states else 3
        if verb == "status" and names:
            return max(_unit_status(console, name, units.get(name)) for name in names)
        if verb == "list-units":
            failed = "--failed" in words or "--state=failed" in words
            shown = [n for n, state in units.items() if (state == "failed") == failed]
            console.out("  UNIT LOAD ACTIVE SUB DESCRIPTION\n")
            console.out("".join(f"  {n}.service loaded {units[n]} {units[n]} {n}\n" for n in shown))
            console.out(f"\n{len(shown)} loaded units listed.\n")
            return 0
        console.err(f"Unknown command verb '{verb}', or a unit is missing: only looking is possible here.\n")
        return 1

    return command


def _unit_status(console: Console, name: str, state: str | None) -> int:
    if state is None:
        console.err(f"Unit {name}.service could not be found.\n")
        return 4
    detail = "active (running)" if state == "active" else f"{state} (dead)"
    console.out(f"● {name}.service - {name}\n     Loaded: loaded (/lib/systemd/system/{name}.service; enabled)\n")
    console.out(f"     Active: {detail}\n")
    return 0 if state == "active" else 3


def uptime(started: float) -> Command:
    """``uptime`` of a system that started at Unix time ``started``."""

    def command(console: Console, _words: list[str]) -> int:
        minutes = int(max(0.0, time.time() - started) // 60)
        days, hours = minutes // 1440, minutes // 60 % 24
        age = f"{hours:2d}:{minutes % 60:02d}" if hours else f"{minutes % 60} min"
        if days:
            age = f"{days} day{'s' if days > 1 else ''}, {age}"
        console.out(f" {datetime.now(UTC):%H:%M:%S} up {age},  1 user,  load average: 0.08, 0.11, 0.09\n")
        return 0

    return command


def _echo(console: Console, words: list[str]) -> int:
    newline = "" if words[1:2] == ["-n"] else "\n"
    console.out(" ".join(words[1 if newline else 2 :]) + newline)
    return 0


def _sleep(console: Console, words: list[str]) -> int:
    if len(words) != 2 or not re.fullmatch(r"\d{1,9}(\.\d{1,9})?s?", words[1], re.ASCII):
        console.err(f"sleep: invalid time interval '{' '.join(words[1:])}'\n")
        return 1
    seconds = float(words[1].rstrip("s"))
    if seconds > LONGEST_SLEEP:
        console.err(f"sleep: here at most {LONGEST_SLEEP} seconds\n")
        return 1
    # sleep keeps its word whatever the pace: it is what a rehearsal is told to wait
    time.sleep(seconds)
    return 0


def _seq(console: Console, words: list[str]) -> int:
    if not 2 <= len(words) <= 3 or not all(re.fullmatch(r"-?\d{1,6}", w, re.ASCII) for w in words[1:]):
        console.err("seq: here only: seq [FIRST] LAST\n")
        return 1
    first, last = (int(w) for w in (["1", *words[1:]])[-2:])
    console.out("".join(f"{n}\n" for n in range(first, min(last, first + 99_999) + 1)))
    return 0


def _date(console: Console, words: list[str]) -> int:
    now = datetime.now(UTC)
    styles = {"+%s": "%s", "+%F": "%F", "+%T": "%T", "-Is": "%Y-%m-%dT%H:%M:%S+00:00"}
    wanted = next((styles[w] for w in words[1:] if w in styles), "%a %b %e %H:%M:%S UTC %Y")
    console.out((str(int(now.timestamp())) if wanted == "%s" else now.strftime(wanted)) + "\n")
    return 0


def _lines(console: Console) -> list[str]:
    return console.stdin.splitlines(keepends=True)


def _ends(console: Console, words: list[str]) -> int:
    """``head`` and ``tail`` with ``-n N`` or ``-N``."""
    given = "".join(words[1:]).removeprefix("-n").removeprefix("-")
    count = int(given) if re.fullmatch(r"\d{1,6}", given, re.ASCII) else 10
    lines = _lines(console)
    console.out("".join(lines[:count] if words[0] == "head" else lines[max(0, len(lines) - count) :]))
    return 0


def _grep(console: Console, words: list[str]) -> int:
    flags = "".join(w[1:] for w in words[1:] if w.startswith("-"))
    texts = [w for w in words[1:] if not w.startswith("-")]
    if len(texts) != 1:
        console.err("grep: here only: grep [-i] [-v] [-c] [-q] TEXT, behind a pipe\n")
        return 2
    # a plain text, not a pattern: a pattern could be made to take for ever
    wanted = texts[0].lower() if "i" in flags else texts[0]
    found = [line for line in _lines(console) if (wanted in (line.lower() if "i" in flags else line)) != ("v" in flags)]
    if "q" not in flags:
        console.out(f"{len(found)}\n" if "c" in flags else "".join(found))
    return 0 if found else 1


def _wc(console: Console, words: list[str]) -> int:
    text = console.stdin
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode("utf-8", "surrogateescape"))}
    console.out(" ".join(str(counts[w]) for w in (words[1:] or list(counts)) if w in counts) + "\n")
    return 0


def _sort(console: Console, words: list[str]) -> int:
    console.out("".join(sorted(_lines(console), reverse="-r" in words)))
    return 0


COMMON: Commands = {
    "echo": _echo,
    "true": fixed(""),
    ":": fixed(""),
    "false": fixed("", 1),
    "sleep": _sleep,
    "seq": _seq,
    "date": _date,
    "head": _ends,
    "tail": _ends,
    "grep": _grep,
    "wc": _wc,
    "sort": _sort,
}
