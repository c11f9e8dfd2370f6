"""The command ``nomos``. Errors in one line; exits 0, 1 (failed) or 2 (usage); ``--json`` where it prints data.

This file holds what serves and sets up; each group of commands has a file of its own. May import everything.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import tempfile
from pathlib import Path

import click

from nomos import __version__
from nomos.bootstrap.core import ROOT, Core, open_core
from nomos.cli.audit import audit
from nomos.cli.base import Context, OneLine, as_json, show
from nomos.cli.hosts import host
from nomos.cli.people import token, user
from nomos.config import Settings
from nomos.errors import NotFound
from nomos.store import users
from nomos.web.pages import SETUP_FILE, setup_token
from nomos.worker.supervisor import serve_both


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nomos")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Nomos: an agent that runs your machines, asks before it changes anything, and goes on by itself."""
    ctx.obj = Context(Settings.from_env())


@main.command()
@click.pass_obj
def serve(context: Context) -> None:
    """Serve the page and run the worker, until stopped."""
    context.core().store.close()  # what would keep both parts from starting is said once, here
    sys.exit(serve_both())


@main.command()
@click.pass_obj
def web(context: Context) -> None:
    """Serve the page and the API only."""
    core = context.core()
    _say_how_to_begin(core)
    core.store.close()
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "app:app"])  # noqa: S606 - our own program, no shell


@main.command()
@click.pass_obj
def worker(context: Context) -> None:
    """Run the worker only."""
    from nomos.bootstrap.worker import create_worker  # noqa: PLC0415 - the model's SDK takes a second to load

    running = create_worker(open_core(context.settings))  # what it does it does by itself, whoever started it
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.worker.stop())
    code = running.worker.run()
    running.close()
    sys.stdout.flush()
    os._exit(code)  # followers may still wait on hosts; their jobs go on there and are found again


def _say_how_to_begin(core: Core) -> None:
    with core.store.read() as connection:
        if users.count(connection):
            click.echo(f"Nomos: http://{core.settings.bind}/")
            return
    click.echo(f"Set up Nomos: {_setup_link(core.settings)}   (works until an account exists)")


def _setup_link(settings: Settings, *, new: bool = False) -> str:
    path = settings.home / SETUP_FILE
    if new or setup_token(settings.home) is None:
        draft = path.with_suffix(".new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(24))
        draft.replace(path)
    return f"http://{settings.bind}/setup/{setup_token(settings.home)}"


@main.command("setup-link")
@click.option("--reset", is_flag=True, help="Make a new one; the old one stops working.")
@as_json
@click.pass_obj
def setup_link(context: Context, reset: bool, as_json: bool) -> None:
    """Print the one-time link that makes the first account."""
    core = context.core()
    with core.store.read() as connection:
        if users.count(connection):
            raise NotFound("There is an account already, so there is no set-up link. `nomos user add` adds another.")
    link = _setup_link(context.settings, new=reset)
    show({"url": link}, as_json, link)


@main.group()
def db() -> None:
    """The database."""


@db.command()
@click.pass_obj
def upgrade(context: Context) -> None:
    """Bring the database up to date."""
    context.core()
    click.echo("The database is up to date.")


def _figures(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    from nomos.rehearsal.bench.figures import FIGURES  # noqa: PLC0415 - only this command needs it

    if wrong := [name for name in names if name not in FIGURES]:
        raise click.BadParameter(f"{wrong[0]} is none of {', '.join(FIGURES)}")
    return names


@main.command()
@click.option("--only", multiple=True, metavar="NAME", callback=_figures, help="Measure this figure only; repeatable.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=20, show_default=True, help="How often each.")
@as_json
def bench(only: tuple[str, ...], rounds: int, as_json: bool) -> None:
    """Measure how fast Nomos is on this machine, on a folder of its own. Takes about a minute."""
    from nomos.rehearsal.bench.figures import table  # noqa: PLC0415 - the agent's tools take a while to load
    from nomos.rehearsal.bench.run import measure  # noqa: PLC0415
    from nomos.rehearsal.bench.stage import environment  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="nomos-bench-") as name:
        settings = environment(Path(name))
        core = open_core(Settings.from_env(settings))
        found = measure(core.store, core.clock, settings, Path(name), only=only, rounds=rounds)
        core.store.close()
    show([one.data() for one in found], as_json, table(found))


for group in (user, token, host, audit):
    main.add_command(group)
