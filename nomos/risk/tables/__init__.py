"""What is known of programs, as data: ``*.toml`` in this folder, read once.

``docs/risk.md`` says how to read a table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from nomos.domain.executions import Risk
from nomos.risk.forms import Form, Option, Program, form, options

_KEYS = frozenset(
    "read secret change destroy options change_options destroy_options else free lists words ordered".split()
)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs another one.

    ``skip``: operands before the command. ``shell``: the rest is text for a shell, not words. ``base``: the risk of the
    wrapper itself; ``bare``: without a command. ``code``: options whose value is text for a shell. ``assigns``:
    ``NAME=value`` may stand before the command. ``prefix``: words that stand before what follows. ``change``: options
    that make it a change; ``looks``: with which it only says what it would run; ``everything``: what follows the verbs
    is the command, its options too.
    """

    name: str
    verbs: tuple[str, ...]
    options: Mapping[str, Option]
    skip: int
    shell: bool
    base: Risk
    bare: str
    code: frozenset[str]
    assigns: bool
    prefix: tuple[str, ...]
    change: frozenset[str]
    looks: frozenset[str]
    everything: bool


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def program(name: str, table: Mapping[str, Any]) -> Program:
    """One program out of its table.

    :raises ValueError: a key that does not exist, or a line that cannot be read.
    """
    if unknown := set(table) - _KEYS:
        raise ValueError(f"{name}: unknown keys {', '.join(sorted(unknown))}")
    forms: list[Form] = []
    for key, risk, secret in (
        ("read", Risk.READ, False),
        ("secret", Risk.READ, True),
        ("change", Risk.CHANGE, False),
        ("destroy", Risk.DESTROY, False),
    ):
        forms += [form(line, risk, secret=secret) for line in _text(table.get(key)).splitlines() if line.strip()]
    raising = {
        option: (each, risk)
        for key, risk in (("change_options", Risk.CHANGE), ("destroy_options", Risk.DESTROY))
        for option, each in options(_text(table.get(key))).items()
    }
    return Program(
        name, tuple(forms), options(_text(table.get("options"))), raising, Risk(table.get("else", "change")),
        _text(table.get("free")), bool(table.get("lists")), bool(table.get("words")), bool(table.get("ordered")),
    )  # fmt: skip


def _wrapper(key: str, table: Mapping[str, Any]) -> Wrapper:
    name, *verbs = key.split()
    return Wrapper(
        name=name,
        verbs=tuple(verbs),
        options=options(_text(table.get("options"))),
        skip=int(table.get("skip", 0)),
        shell=bool(table.get("shell")),
        base=Risk(table.get("base", "read")),
        bare=table.get("bare", "change"),
        code=frozenset(_text(table.get("code")).split()),
        assigns=bool(table.get("assigns")),
        prefix=tuple(_text(table.get("prefix")).split()),
        change=frozenset(_text(table.get("change_options")).split()),
        looks=frozenset(_text(table.get("looks")).split()),
        everything=bool(table.get("all")),
    )


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """Every program's table as it stands in the files, by the program's name.

    :raises ValueError: a program stands in them twice.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(each.name for each in files(__package__).iterdir() if each.name.endswith(".toml")):
        if path == "wrappers.toml":
            continue
        for key, table in _load(path).items():
            for name in key.split("|"):
                if name in found:
                    raise ValueError(f"{path}: {name} stands in the tables twice")
                found[name] = table
    return found


@cache
def find(name: str) -> Program | None:
    """What is known of a program; None if it is not in the tables. Read when it is first asked for."""
    table = tables().get(name)
    return None if table is None else program(name, table)


@cache
def wrappers() -> Mapping[str, tuple[Wrapper, ...]]:
    """Every wrapper by its program's name, those with more verbs first."""
    found: dict[str, list[Wrapper]] = {}
    for key, table in _load("wrappers.toml").items():
        for spelling in key.split("|"):
            each = _wrapper(spelling, table)
            found.setdefault(each.name, []).append(each)
    return {name: tuple(sorted(each, key=lambda one: -len(one.verbs))) for name, each in found.items()}
