"""What the commands share: the opened data folder, errors in one line, ``--json``."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from nomos.bootstrap.core import Core, open_core
from nomos.config import Settings
from nomos.domain.audit import Kind, Who
from nomos.errors import NomosError

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Context:
    """What commands share. The database is only opened by those that need it."""

    settings: Settings

    def core(self) -> Core:
        """The opened data folder; what is changed through it was changed by whoever runs the command."""
        opened = open_core(self.settings)
        return replace(opened, store=opened.store.acting_for(_person))


class OneLine(click.Group):
    """A group whose commands say Nomos's own errors in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NomosError as error:
            click.echo(f"nomos: {' '.join(error.detail.split())}", err=True)
            ctx.exit(1)


def as_json(command: Command) -> Command:
    """Give a command the option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def show(data: object, as_json: bool, text: str) -> None:
    """Print data as one line of JSON, or its text."""
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else text)


def _person() -> Who:
    """Whoever runs the command: whom the system knows, not whom Nomos does."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        name = "unknown"
    return Who(Kind.OPERATOR, name, "cli")
