"""``nomos user`` and ``nomos token``."""

from __future__ import annotations

from typing import Any

import click

from nomos.actions import users as user_actions
from nomos.cli.base import Context, as_json, show
from nomos.web.pages import SETUP_FILE
from nomos.web.security import check_password


@click.group()
def user() -> None:
    """Operators."""


@user.command("add")
@click.argument("name")
@click.option("--password-file", type=click.File("r"), help="Read the password from a file; - for standard input.")
@click.pass_obj
def user_add(context: Context, name: str, password_file: Any) -> None:
    """Add an operator."""
    if password_file is not None:
        password = password_file.read().rstrip("\n")
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    core = context.core()
    user_actions.add(core.store, name, check_password(password), core.clock.now())
    (context.settings.home / SETUP_FILE).unlink(missing_ok=True)
    click.echo(f"Added {name}.")


@click.group()
def token() -> None:
    """API tokens."""


@token.command("add")
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", "scopes", required=True, help=f"Some of {','.join(user_actions.SCOPES)}.")
@as_json
@click.pass_obj
def token_add(context: Context, name: str, scopes: str, as_json: bool) -> None:
    """Add an API token and print it, this once, alone on the last line."""
    core = context.core()
    wanted = frozenset(part.strip() for part in scopes.split(",") if part.strip())
    secret = user_actions.add_token(core.store, name, wanted, core.clock.now())
    show({"name": name, "scopes": sorted(wanted), "token": secret}, as_json, secret)
