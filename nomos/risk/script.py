"""What a text holds once it is parsed: simple commands, bindings of variables, and where every word stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from nomos.risk.words import Piece


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection: ``>``, ``>>``, ``<``, ``>&`` … and where to."""

    operator: str
    target: tuple[Piece, ...]


@dataclass(slots=True)
class Simple:
    """One simple command, before variables are filled in."""

    words: list[tuple[Piece, ...]] = field(default_factory=list)
    assigns: list[tuple[str, tuple[Piece, ...]]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    begins: int = 0


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable gets a value: one of ``values``, or an unknown one where that is None.

    ``certain``: it has it wherever it is used later.
    """

    name: str
    values: tuple[tuple[Piece, ...], ...] | None
    certain: bool


Span = tuple[int, int]


@dataclass(slots=True)
class Script:
    """What a text holds. ``shape`` is for the second reading: the place of every word, by what it belongs to."""

    commands: list[Simple] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    shape: list[tuple[str, tuple[Span, ...]]] = field(default_factory=list)
