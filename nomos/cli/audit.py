"""``nomos audit``: check the chain, and take it out."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import click

from nomos.cli.base import Context, as_json, show
from nomos.store import audit as chain


class _Time(click.ParamType[datetime]):
    """A date or a time in ISO 8601; without a zone it is UTC."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is no time such as 2026-12-01 or 2026-12-01T13:00:00Z", param, ctx)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@click.group()
def audit() -> None:
    """What was done, by whom: an append-only chain."""


@audit.command()
@click.option("--known", metavar="SEQ:HASH", help="An end noted before: it must still be a part of the chain.")
@as_json
@click.pass_obj
def verify(context: Context, known: str | None, as_json: bool) -> None:
    """Check that no entry was changed, removed, added or moved. Exits with 1 at the first that was.

    Whoever can write to the database can write all of the chain anew. Note the end that this prints somewhere else,
    and give it back with --known: then that is found too.
    """
    core = context.core()
    with core.store.read() as connection:
        found = chain.verify(connection, known=_known(known))
        seq, hash_ = chain.head(connection)
    end = {"seq": seq, "hash": hash_}
    if found is None:
        show({"ok": True, "end": end}, as_json, f"The audit holds: {seq} entries. Its end: {seq}:{hash_}")
        return
    show({"ok": False, "broken_at": found.seq, "why": found.why}, as_json, f"The audit is broken: {found.why}.")
    sys.exit(1)


def _known(text: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    seq, _, hash_ = text.partition(":")
    if not seq.isdigit() or len(hash_) != 64:
        raise click.BadParameter("must look like 17:<64 hex digits>, as `nomos audit verify` prints it")
    return int(seq), hash_


@audit.command()
@click.option("--from", "since", type=_Time(), help="Only entries from this time on.")
@click.option("--to", "until", type=_Time(), help="Only entries before this time.")
@as_json
@click.pass_obj
def export(context: Context, since: datetime | None, until: datetime | None, as_json: bool) -> None:
    """Print the entries, one a line; with --json all that their hashes cover."""
    core = context.core()
    with core.store.read() as connection:
        for entry in chain.entries(connection, since=since, until=until):
            content = json.loads(entry.content)
            facts = {name: fact for name, fact in content["facts"].items() if fact not in (None, "", [])}
            line = (
                f"{entry.seq} {content['at']} {content['name']} ({content['route']}) {entry.deed} {json.dumps(facts)}"
            )
            show({**content, "previous": entry.previous, "hash": entry.hash}, as_json, line)
