"""``nomos host``: the inventory."""

from __future__ import annotations

import sys

import click

from nomos.actions import hosts as host_actions
from nomos.bootstrap.core import Core
from nomos.cli.base import Context, as_json, show
from nomos.domain import shapes
from nomos.domain.hosts import Host, HostState
from nomos.errors import NotFound
from nomos.ssh.keys import ensure_key
from nomos.store import hosts


@click.group()
def host() -> None:
    """The inventory."""


def _look(context: Context, core: Core, value: Host) -> Host:
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
@as_json
@click.pass_obj
def host_add(context: Context, name: str, address: str, key_path: str | None, as_json: bool) -> None:
    """Add a host, USER@ADDRESS[:PORT], and show the key it offers."""
    core = context.core()
    added = host_actions.add(core.store, name, address, core.clock.now(), key_path=key_path)
    seen = _look(context, core, added)
    text = f"Added {name}. Its key: {seen.offered_fingerprint}\nIf that is right: nomos host trust {name}"
    if seen.offered_fingerprint is None:
        text = f"Added {name}. {seen.detail}"
    show(
        shapes.host(seen),
        as_json,
        f"{text}\nNomos's own key, for its authorized_keys: {ensure_key(context.settings.home / 'ssh')}",
    )


@host.command("trust")
@click.argument("name")
@click.option(
    "--fingerprint", help="SHA256:… as the host itself shows it; without it you are asked about the one it offers."
)
@as_json
@click.pass_obj
def host_trust(context: Context, name: str, fingerprint: str | None, as_json: bool) -> None:
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
    show(shapes.host(seen), as_json, f"Trusted {name}. {_line(seen)}")


@host.command("list")
@as_json
@click.pass_obj
def host_list(context: Context, as_json: bool) -> None:
    """List the hosts."""
    core = context.core()
    with core.store.read() as connection:
        known = hosts.every(connection)
    show([shapes.host(value) for value in known], as_json, "\n".join(map(_line, known)) or "There are no hosts yet.")


@host.command("test")
@click.argument("name")
@as_json
@click.pass_obj
def host_test(context: Context, name: str, as_json: bool) -> None:
    """Look whether Nomos can work on a host."""
    core = context.core()
    seen = _look(context, core, _named(core, name))
    show(shapes.host(seen), as_json, _line(seen))
    if seen.state is not HostState.REACHABLE:
        sys.exit(1)


@host.command("remove")
@click.argument("name")
@click.pass_obj
def host_remove(context: Context, name: str) -> None:
    """Take a host out of the inventory."""
    core = context.core()
    host_actions.remove(core.store, _named(core, name).id, core.clock.now())
    click.echo(f"Removed {name}. What ran there stays in the sessions.")
