"""The command ``nomos``. Errors in one line; exits 0, 1 (failed) or 2 (usage); ``--json`` where it prints data."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from nomos import __version__
from nomos.actions import hosts as host_actions
from nomos.actions import users as user_actions
from nomos.bootstrap.core import ROOT, Core, open_core
from nomos.config import Settings
from nomos.domain import shapes
from nomos.domain.hosts import Host, HostState
from nomos.errors import NomosError, NotFound
from nomos.ssh.keys import ensure_key
from nomos.store import hosts, users
from nomos.web.pages import SETUP_FILE, setup_token
from nomos.web.security import check_password
from nomos.worker.supervisor import serve_both

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class _Context:
    """What commands share. The database is only opened by those that need it."""

    settings: Settings

    def core(self) -> Core:
        """The opened data folder."""
        return open_core(self.settings)


class _OneLine(click.Group):
    """A group whose commands say Nomos's own errors in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NomosError as error:
            click.echo(f"nomos: {' '.join(error.detail.split())}", err=True)
            ctx.exit(1)


def _as_json(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def _print(data: object, as_json: bool, text: str) -> None:
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else text)


@click.group(cls=_OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nomos")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Nomos: an agent that runs your machines, asks before it changes anything, and goes on by itself."""
    ctx.obj = _Context(Settings.from_env())


@main.command()
@click.pass_obj
def serve(context: _Context) -> None:
    """Serve the page and run the worker, until stopped."""
    core = context.core()
    _say_how_to_begin(core)
    core.store.close()
    sys.exit(serve_both())


@main.command()
@click.pass_obj
def web(context: _Context) -> None:
    """Serve the page and the API only."""
    core = context.core()
    _say_how_to_begin(core)
    core.store.close()
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "app:app"])  # noqa: S606 - our own program, no shell


@main.command()
@click.pass_obj
def worker(context: _Context) -> None:
    """Run the worker only."""
    from nomos.bootstrap.worker import create_worker  # noqa: PLC0415 - the model's SDK takes a second to load

    running = create_worker(context.core())
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
@_as_json
@click.pass_obj
def setup_link(context: _Context, reset: bool, as_json: bool) -> None:
    """Print the one-time link that makes the first account."""
    core = context.core()
    with core.store.read() as connection:
        if users.count(connection):
            raise NotFound("There is an account already, so there is no set-up link. `nomos user add` adds another.")
    link = _setup_link(context.settings, new=reset)
    _print({"url": link}, as_json, link)


@main.group()
def db() -> None:
    """The database."""


@db.command()
@click.pass_obj
def upgrade(context: _Context) -> None:
    """Bring the database up to date."""
    context.core()
    click.echo("The database is up to date.")


@main.group()
def user() -> None:
    """Operators."""


@user.command("add")
@click.argument("name")
@click.option("--password-file", type=click.File("r"), help="Read the password from a file; - for standard input.")
@click.pass_obj
def user_add(context: _Context, name: str, password_file: Any) -> None:
    """Add an operator."""
    if password_file is not None:
        password = password_file.read().rstrip("\n")
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    core = context.core()
    user_actions.add(core.store, name, check_password(password), core.clock.now())
    (context.settings.home / SETUP_FILE).unlink(missing_ok=True)
    click.echo(f"Added {name}.")


@main.group()
def token() -> None:
    """API tokens."""


@token.command("add")
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", "scopes", required=True, help=f"Some of {','.join(user_actions.SCOPES)}.")
@_as_json
@click.pass_obj
def token_add(context: _Context, name: str, scopes: str, as_json: bool) -> None:
    """Add an API token and print it, this once, alone on the last line."""
    core = context.core()
    wanted = frozenset(part.strip() for part in scopes.split(",") if part.strip())
    secret = user_actions.add_token(core.store, name, wanted, core.clock.now())
    _print({"name": name, "scopes": sorted(wanted), "token": secret}, as_json, secret)


@main.group()
def host() -> None:
    """The inventory."""


def _look(context: _Context, core: Core, value: Host) -> Host:
    """Have a look at a host from here."""
    from nomos.bootstrap.worker import create_shell  # noqa: PLC0415 - the model's SDK takes a second to load
    from nomos.worker.hosts import look  # noqa: PLC0415

    return look(core.store, core.clock, create_shell(context.settings), value)


def _named(core: Core, name: str) -> Host:
    with core.store.read() as connection:
        found = hosts.by_name(connection, name)
    if found is None:
        raise NotFound(f"There is no host called {name}. `nomos host list` shows all.")
    return found


def _line(value: Host) -> str:
    place = f"{value.user}@{value.address}:{value.port}"
    return f"{value.name:<20} {value.state:<12} {place}  {value.detail or value.system or ''}".rstrip()


@host.command("add")
@click.argument("name")
@click.argument("address")
@click.option("--key", "key_path", type=click.Path(exists=True, dir_okay=False, resolve_path=True), help="Private key.")
@_as_json
@click.pass_obj
def host_add(context: _Context, name: str, address: str, key_path: str | None, as_json: bool) -> None:
    """Add a host, USER@ADDRESS[:PORT], and show the key it offers."""
    core = context.core()
    added = host_actions.add(core.store, name, address, core.clock.now(), key_path=key_path)
    seen = _look(context, core, added)
    text = f"Added {name}. Its key: {seen.offered_fingerprint}\nIf that is right: nomos host trust {name}"
    if seen.offered_fingerprint is None:
        text = f"Added {name}. {seen.detail}"
    _print(
        shapes.host(seen),
        as_json,
        f"{text}\nNomos's own key, for its authorized_keys: {ensure_key(context.settings.home / 'ssh')}",
    )


@host.command("trust")
@click.argument("name")
@click.option(
    "--fingerprint", help="SHA256:… as the host itself shows it; without it you are asked about the one it offers."
)
@_as_json
@click.pass_obj
def host_trust(context: _Context, name: str, fingerprint: str | None, as_json: bool) -> None:
    """Trust a host's key, then look whether Nomos can work there."""
    core = context.core()
    found = _look(context, core, _named(core, name))
    offered = found.offered_fingerprint
    if offered is None:
        raise NotFound(f"{name} shows no new key to trust. {found.detail or ''}")
    if fingerprint is None:
        click.confirm(f"{name} shows {offered}. Is that its key?", abort=True)
        fingerprint = offered
    trusted = host_actions.trust(core.store, found.id, fingerprint, core.clock.now())
    seen = _look(context, core, trusted)
    _print(shapes.host(seen), as_json, f"Trusted {name}. {_line(seen)}")


@host.command("list")
@_as_json
@click.pass_obj
def host_list(context: _Context, as_json: bool) -> None:
    """List the hosts."""
    core = context.core()
    with core.store.read() as connection:
        known = hosts.every(connection)
    _print([shapes.host(value) for value in known], as_json, "\n".join(map(_line, known)) or "There are no hosts yet.")


@host.command("test")
@click.argument("name")
@_as_json
@click.pass_obj
def host_test(context: _Context, name: str, as_json: bool) -> None:
    """Look whether Nomos can work on a host."""
    core = context.core()
    seen = _look(context, core, _named(core, name))
    _print(shapes.host(seen), as_json, _line(seen))
    if seen.state is not HostState.REACHABLE:
        sys.exit(1)


@host.command("remove")
@click.argument("name")
@click.pass_obj
def host_remove(context: _Context, name: str) -> None:
    """Take a host out of the inventory."""
    core = context.core()
    host_actions.remove(core.store, _named(core, name).id, core.clock.now())
    click.echo(f"Removed {name}. What ran there stays in the sessions.")


def _figures(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    from nomos.rehearsal.bench.figures import FIGURES  # noqa: PLC0415 - only this command needs it

    if wrong := [name for name in names if name not in FIGURES]:
        raise click.BadParameter(f"{wrong[0]} is none of {', '.join(FIGURES)}")
    return names


@main.command()
@click.option("--only", multiple=True, metavar="NAME", callback=_figures, help="Measure this figure only; repeatable.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=20, show_default=True, help="How often each.")
@_as_json
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
    _print([one.data() for one in found], as_json, table(found))
