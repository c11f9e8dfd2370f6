"""Operators, sign-ins and tokens."""

from __future__ import annotations

from datetime import datetime

from nomos.errors import Conflict, InvalidInput
from nomos.store import users
from nomos.store.engine import Store
from nomos.store.users import User

SCOPES = ("read", "events", "chat", "decide", "admin")


def add(store: Store, name: str, password_hash: str, now: datetime) -> User:
    """Add an operator.

    :raises InvalidInput: the name cannot be used. :raises Conflict: it is taken.
    """
    with store.write(now) as tx:
        return users.add(tx, _checked(name), password_hash)


def add_first(store: Store, name: str, password_hash: str, now: datetime) -> User:
    """Add the first operator, and only the first.

    :raises Conflict: there is one already.
    """
    with store.write(now) as tx:
        users.lock(tx)
        if users.count(tx.c):
            raise Conflict("Nomos is set up already: sign in. Nothing was changed.")
        return users.add(tx, _checked(name), password_hash)


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 64 or not name.isprintable():
        raise InvalidInput("name: 1 to 64 printable characters. Nothing was added.", field="name")
    return name


def sign_in(store: Store, user: User, now: datetime, *, new_hash: str | None = None) -> str:
    """Begin a sign-in; returns the cookie's secret. ``new_hash``: the password, hashed with today's parameters."""
    with store.write(now) as tx:
        if new_hash is not None:
            users.set_password_hash(tx, user.id, new_hash)
        return users.sign_in(tx, user.id)


def note_failed_sign_in(store: Store, name: str, now: datetime) -> None:
    """Somebody tried to sign in and could not. Of the name at most 64 characters are kept."""
    with store.write(now) as tx:
        users.note_failure(tx, name[:64])


def sign_out(store: Store, secret: str, now: datetime) -> None:
    """End a sign-in."""
    with store.write(now) as tx:
        users.sign_out(tx, secret)


def add_token(store: Store, name: str, scopes: frozenset[str], now: datetime) -> str:
    """Add an API token; returns it, this once.

    :raises InvalidInput: a scope that there is not. :raises Conflict: the name is taken.
    """
    if not scopes or not scopes <= set(SCOPES):
        raise InvalidInput(f"scope: must be some of {', '.join(SCOPES)}. Nothing was added.", field="scope")
    with store.write(now) as tx:
        return users.add_token(tx, _checked(name), scopes)
