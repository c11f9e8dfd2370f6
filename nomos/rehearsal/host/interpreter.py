"""Runs what ``language`` has read, with nothing but the stand-ins it is given."""

from __future__ import annotations

from .console import Command, Commands, Console, Redirected, nowhere
from .language import NotUnderstood, Pipeline, Simple, parse


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def interpret(text: str, commands: Commands, console: Console, *, where: str) -> int:
    """Run a command text and return its exit code, as ``sh -c`` would: 127 for a name that is not in ``commands``.

    :param where: what to call this place when it has to say that it does not know something.
    """
    try:
        pipelines = parse(text)
    except NotUnderstood as reason:
        console.err(f"sh: 1: Syntax error: {where} does not know {reason}; nothing was run\n")
        return 2
    code = 0
    try:
        for pipeline in pipelines:
            if (pipeline.joiner == "&&" and code != 0) or (pipeline.joiner == "||" and code == 0):
                continue
            code = _run_pipeline(pipeline, commands, console, where)
    except _Exit as end:
        return end.code
    return code


def _run_pipeline(pipeline: Pipeline, commands: Commands, console: Console, where: str) -> int:
    *before, last = pipeline.commands
    passed = ""
    for simple in before:
        pieces: list[str] = []
        _run_simple(simple, commands, Redirected(console, stdin=passed, out=pieces.append), where)
        passed = "".join(pieces)
    return _run_simple(last, commands, Redirected(console, stdin=passed), where)


def _run_simple(simple: Simple, commands: Commands, console: Console, where: str) -> int:
    err = console.err if simple.err else nowhere
    if simple.err and simple.err_to_out:
        err = console.out
    inner = Redirected(console, stdin=console.stdin, out=console.out if simple.out else nowhere, err=err)
    name = simple.words[0]
    if name == "exit":
        raise _Exit(_exit_code(simple.words))
    if name in ("sh", "bash"):
        return _nested(simple.words, commands, inner, where)
    command = _find(name, commands)
    if command is None:
        inner.err(f"sh: 1: {name}: not found\n{where} knows only: {' '.join(sorted({*commands, 'exit', 'sh'}))}\n")
        return 127
    return command(inner, simple.words)


def _nested(words: list[str], commands: Commands, console: Console, where: str) -> int:
    if len(words) >= 3 and words[1] in ("-c", "-lc", "-ec"):
        return interpret(words[2], commands, console, where=where)
    console.err(f"{words[0]}: {where} knows only the form: {words[0]} -c 'command'\n")
    return 2


def _find(name: str, commands: Commands) -> Command | None:
    folder, _, base = name.rpartition("/")
    known_folder = folder in ("", "/bin", "/sbin", "/usr/bin", "/usr/sbin")
    return commands.get(base) if known_folder and (folder or "/" not in name) else None


def _exit_code(words: list[str]) -> int:
    return int(words[1]) % 256 if len(words) > 1 and words[1].isascii() and words[1].isdigit() else 0
