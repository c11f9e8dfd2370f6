"""The pages in docs/ say what the code says."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import cast

import pytest

from nomos import errors
from nomos.domain.events import Type

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """docs/states.md by the enum's dotted name."""
    parts = re.split(r"^## .*`([\w.]+)`$", page("states.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections()
DRAWN = [name for name, text in SECTIONS.items() if "```mermaid" in text]
TABLED = [name for name in SECTIONS if name not in DRAWN]


def enum(name: str) -> type[StrEnum]:
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    return cast("type[StrEnum]", found)


def arrows(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^ +(\S+) --> ([^\s:]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", DRAWN)
def test_every_arrow_is_drawn_and_no_other(name: str) -> None:
    transitions = importlib.import_module(name.rpartition(".")[0]).TRANSITIONS
    ways = {(str(state), str(after)) for state, afters in transitions.items() for after in afters}
    ends = {(str(state), "[*]") for state, afters in transitions.items() if not afters}
    drawn = {(state, after) for state, after in arrows(SECTIONS[name]) if state != "[*]"}
    assert drawn == ways | ends
    assert set(transitions) == set(enum(name))


@pytest.mark.parametrize("name", TABLED)
def test_every_state_is_in_its_table_once(name: str) -> None:
    assert sorted(re.findall(r"^\|.*\| `(\w+)` \|$", SECTIONS[name], flags=re.MULTILINE)) == sorted(enum(name))


def test_every_enum_of_states_has_its_section() -> None:
    found = set()
    for path in (ROOT / "nomos").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"^class (\w*State|MessageStatus)\(StrEnum\)", text, re.MULTILINE)
        found |= {f"{module}.{name}" for name in names}
    assert found == set(SECTIONS)


def test_every_kind_of_model_fault_is_documented() -> None:
    kinds = re.findall(r"^\| `(\w+)` \| [a-z]", page("errors.md"), flags=re.MULTILINE)
    assert kinds == list(errors.FaultKind)


def family(error: type[errors.NomosError]) -> Iterator[type[errors.NomosError]]:
    yield error
    for child in error.__subclasses__():
        yield from family(child)


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in family(errors.NomosError)]
    assert len(codes) == len(set(codes))


def test_every_event_type_is_documented() -> None:
    assert re.findall(r"^\| `(nomos\.[\w.]+)` \|", page("events.md"), flags=re.MULTILINE) == list(Type)
