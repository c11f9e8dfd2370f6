"""What an operator's sentence asks for. Tolerant wording, a handful of wishes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Wish(StrEnum):
    """The stories that the rehearsal model can play."""

    CONTAINER = "container"
    DESTROY = "destroy"
    UPDATE = "update"
    ATTENTION = "attention"


_WISHES: tuple[tuple[Wish, re.Pattern[str]], ...] = (
    (Wish.DESTROY, re.compile(r"\b(destroy|delete|remove|get rid of|tear down|throw away)\b", re.IGNORECASE)),
    (Wish.UPDATE, re.compile(r"\b(update|upgrade|patch)\b", re.IGNORECASE)),
    (
        Wish.CONTAINER,
        re.compile(
            r"\b(give|create|make|want|need|set up|spin up|launch|new|add|another|have)\b"
            r".*\b(container|ct|lxc|debian)\b",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        Wish.ATTENTION,
        re.compile(
            r"\b(attention|filling|disks?|healthy?|look (a)?round|is everything|all well|how (is|are) (the|my))\b",
            re.IGNORECASE,
        ),
    ),
)
_NAMED = re.compile(r"\b(?:called|named|call it|name it)\s+[\"'“‘]?([a-z0-9][a-z0-9-]{0,62})", re.IGNORECASE)
_SIZE = re.compile(r"(\d+)\s*([gm])i?b?\b(?:\s+(?:of\s+)?(ram|memory|disk|root|storage|space))?", re.IGNORECASE)
_CORES = re.compile(r"(\d+)\s*(?:cpu\s+)?(?:cores?|cpus?)\b", re.IGNORECASE)
_DISK_WORDS = frozenset({"disk", "root", "storage", "space"})


def wish_of(text: str) -> Wish | None:
    """Return what a sentence asks for, or None for anything the rehearsal does not know."""
    return next((wish for wish, pattern in _WISHES if pattern.search(text)), None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The container that is asked for. Memory in MiB, disk in GiB."""

    name: str = "web"
    memory: int = 512
    cores: int = 1
    disk: int = 4


def wanted(texts: Iterable[str]) -> Wanted:
    """Return the container that some sentences describe; later ones win."""
    result = Wanted()
    for text in texts:
        if found := _NAMED.search(text):
            result = replace(result, name=found[1].lower().rstrip("-"))
        if found := _CORES.search(text):
            result = replace(result, cores=max(1, int(found[1])))
        for amount, unit, subject in _SIZE.findall(text):
            giga = unit.lower() == "g"
            if subject.lower() in _DISK_WORDS:
                result = replace(result, disk=int(amount) if giga else max(1, int(amount) // 1024))
            else:
                result = replace(result, memory=int(amount) * (1024 if giga else 1))
    return result


def target_of(text: str, names: Iterable[str], ids: Iterable[int]) -> str | int | None:
    """Return the container that a sentence names, by its name or id; None for "it" and its kin."""
    for number in ids:
        if re.search(rf"\b{number}\b", text):
            return number
    for name in names:
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE):
            return name
    return None
