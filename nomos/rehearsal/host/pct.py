"""The stand-in ``pct``: Proxmox's sub-commands, exact texts and exit codes over the practice folder's state.

Facts: ``ssh.md`` 3 (pve-container 6.1, pve-common 9.2). A refusal before or during the work is one line on standard
error; exit code 255, or 2 when the container's configuration is missing. What a task prints goes to standard output.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from . import pct_life, pct_snapshots
from .console import Command, Console
from .guest import run_inside
from .pct_options import (
    CONFIG,
    CREATE,
    HOSTNAME,
    SECONDS,
    SIZE,
    SNAPSHOT,
    SWITCH,
    TEXT,
    VMID,
    BadUse,
    Kind,
    Refused,
    complaints_about,
    read_words,
)
from .pct_work import Call
from .state import Practice


class _Verb(NamedTuple):
    """A sub-command: the arguments it takes (name -> kind), its options, and what it does."""

    arguments: dict[str, Kind]
    options: dict[str, Kind]
    run: Callable[[Call], int | None]
    indexed: bool = False
    task: bool = True


def pct(practice: Practice) -> Command:
    """``pct`` over one practice folder; every call is logged there."""

    def command(console: Console, words: list[str]) -> int:
        arguments = words[1:]
        at = practice.note_begun(arguments)
        code = 255
        try:
            code = _answer(practice, console, arguments)
        finally:
            practice.note_ended(at, arguments, code)
        return code

    return command


def _answer(practice: Practice, console: Console, words: list[str]) -> int:
    if not words:
        console.err(f"ERROR: no command specified\n{_USAGE}")
        return 255
    if words[0] == "help":
        console.out(_USAGE)
        return 0
    fitting = [name for name in _VERBS if name.startswith(words[0])]
    name = words[0] if words[0] in _VERBS else fitting[0] if len(fitting) == 1 else None
    if name is None:
        problem = "incomplete" if fitting else "unknown"
        console.err(f"ERROR: {problem} command 'pct {words[0]}'\n{_USAGE}")
        return 255
    verb = _VERBS[name]
    try:
        call = _read(practice, console, name, verb, words[1:])
        with _interruptible(verb.task):
            return verb.run(call) or 0
    except BadUse as problem:
        console.err(f"{problem}{_usage_line(name)}")
        return 255
    except Refused as problem:
        console.err(problem.text.rstrip("\n").replace("\n", " ") + "\n")
        return problem.code


def _read(practice: Practice, console: Console, name: str, verb: _Verb, words: list[str]) -> Call:
    if name == "exec":
        return _read_exec(practice, console, words)
    arguments, options, complaints = read_words(words, verb.options, indexed=verb.indexed)
    if complaints:
        raise BadUse(f"{complaints}400 unable to parse option\n")
    if len(arguments) != len(verb.arguments):
        amount = "not enough" if len(arguments) < len(verb.arguments) else "too many"
        raise BadUse(f"400 {amount} arguments\n")
    named = dict(zip(verb.arguments, arguments, strict=True))
    found = complaints_about(named, verb.arguments) + complaints_about(options, verb.options)
    if found:
        raise BadUse(f"400 Parameter verification failed.\n{found}")
    return Call(practice, console, arguments[0] if arguments else "", arguments[1:], options)


def _read_exec(practice: Practice, console: Console, words: list[str]) -> Call:
    """``pct exec VMID [--keep-env B] [--] COMMAND…``: what follows belongs to the command, options and all."""
    if not words:
        raise BadUse("400 not enough arguments\n")
    vmid, rest = words[0], words[1:]
    if found := complaints_about({"vmid": vmid}, {"vmid": VMID}):
        raise BadUse(f"400 Parameter verification failed.\n{found}")
    if rest[:1] == ["--keep-env"]:
        rest = rest[2:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    return Call(practice, console, vmid, rest, {})


def _list(call: Call) -> None:
    guests = call.practice.read()["guests"]
    row = "{:<10s} {:<10s} {:<12s} {:<20s}\n".format
    if guests:
        call.console.out(row("VMID", "Status", "Lock", "Name"))
    for vmid in sorted(guests, key=int):
        config = guests[vmid]["config"]
        call.console.out(row(vmid, guests[vmid]["status"], config.get("lock", ""), config["hostname"]))


def _status(call: Call) -> None:
    guest = call.guest()
    call.console.out(f"status: {guest['status']}\n")
    if "verbose" in call.options:
        config = guest["config"]
        shown = {"cpus": config.get("cores", "2"), "name": config["hostname"], "type": "lxc", "vmid": call.vmid}
        shown |= {"maxmem": str(int(config["memory"]) << 20), "maxswap": str(int(config.get("swap", "0")) << 20)}
        call.console.out("".join(f"{key}: {shown[key]}\n" for key in sorted(shown)))


def _config(call: Call) -> None:
    config = call.guest()["config"]
    call.console.out("".join(f"{key}: {_escaped(config[key])}\n" for key in sorted(config)))


def _pending(call: Call) -> None:
    config = call.guest()["config"]
    call.console.out("".join(f"cur {key}: {_escaped(config[key])}\n" for key in sorted(config)))


def _escaped(value: str) -> str:
    return re.sub(r"[\n\r%:]", lambda found: f"%{ord(found.group()):02X}", value) if "\n" in value else value


def _exec(call: Call) -> int:
    guest = call.guest()
    if guest["status"] != "running":
        raise Refused(f"container '{call.vmid}' not running!")
    if not call.arguments:
        raise Refused("missing command at /usr/share/perl5/PVE/CLI/pct.pm line 189.")
    return run_inside(call.practice, call.vmid, call.console, call.arguments)


@contextmanager
def _interruptible(task: bool) -> Iterator[None]:
    """Let TERM, INT and HUP end a task as Proxmox's worker ends it: tidied up, ``received interrupt``, 255."""
    if not task:
        yield
        return

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        raise Refused("received interrupt")

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_ONE = {"vmid": VMID}
_NAMED = {"vmid": VMID, "snapname": SNAPSHOT}
_LOOK = {"current": SWITCH, "snapshot": TEXT}

_VERBS: dict[str, _Verb] = {
    "clone": _Verb(
        {"vmid": VMID, "newid": VMID},
        {
            "full": SWITCH,
            "hostname": HOSTNAME,
            "description": TEXT,
            "pool": TEXT,
            "snapname": SNAPSHOT,
            "storage": TEXT,
        },
        pct_life.clone,
    ),
    "config": _Verb(_ONE, _LOOK, _config, task=False),
    "create": _Verb({"vmid": VMID, "ostemplate": TEXT}, CREATE, pct_life.create_and_start, indexed=True),
    "delsnapshot": _Verb(_NAMED, {"force": SWITCH}, pct_snapshots.delsnapshot),
    "destroy": _Verb(_ONE, {"force": SWITCH, "purge": SWITCH, "destroy-unreferenced-disks": SWITCH}, pct_life.destroy),
    "exec": _Verb(_ONE, {}, _exec, task=False),
    "list": _Verb({}, {}, _list, task=False),
    "listsnapshot": _Verb(_ONE, {}, pct_snapshots.listsnapshot, task=False),
    "pending": _Verb(_ONE, {}, _pending, task=False),
    "reboot": _Verb(_ONE, {"timeout": SECONDS}, pct_life.reboot),
    "resize": _Verb({"vmid": VMID, "disk": TEXT, "size": SIZE}, {}, pct_life.resize),
    "rollback": _Verb(_NAMED, {"start": SWITCH}, pct_snapshots.rollback),
    "set": _Verb(
        _ONE, CONFIG | {"delete": TEXT, "digest": TEXT, "revert": TEXT}, pct_life.set_options, indexed=True, task=False
    ),
    "shutdown": _Verb(_ONE, {"forceStop": SWITCH, "timeout": SECONDS}, pct_life.shutdown),
    "snapshot": _Verb(_NAMED, {"description": TEXT}, pct_snapshots.snapshot),
    "start": _Verb(_ONE, {"debug": SWITCH, "skiplock": SWITCH}, pct_life.start),
    "status": _Verb(_ONE, {"verbose": SWITCH}, _status, task=False),
    "stop": _Verb(_ONE, {"overrule-shutdown": SWITCH, "skiplock": SWITCH}, pct_life.stop),
    "template": _Verb(_ONE, {}, pct_life.template, task=False),
    "unlock": _Verb(_ONE, {}, pct_life.unlock, task=False),
}


def _usage_line(name: str) -> str:
    verb = _VERBS[name]
    names = [f"<{argument}>" for argument in verb.arguments]
    if name == "exec":
        names.append("[<extra-args>]")
    return " ".join(["pct", name, *names, *(["[OPTIONS]"] if verb.options or name == "exec" else [])]) + "\n"


_USAGE = "USAGE: pct <COMMAND> [ARGS] [OPTIONS]\n" + "".join(f"       {_usage_line(name)}" for name in _VERBS)
