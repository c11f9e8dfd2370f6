"""Operators, their sign-ins, and API tokens. Of secrets only their SHA-256 is stored."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, select, update

from nomos.domain.audit import Deed
from nomos.errors import Conflict
from nomos.store.rows import journal_head, logins, tokens, users
from nomos.store.transaction import Tx

TOKEN_PREFIX = "nomos_"  # noqa: S105 - not a secret, but how one begins


@dataclass(frozen=True, slots=True)
class User:
    """An operator. ``password_hash`` is Argon2id in its own encoding."""

    id: str
    name: str
    password_hash: str


@dataclass(frozen=True, slots=True)
class Token:
    """An API token: its name and what it may do."""

    id: str
    name: str
    scopes: frozenset[str]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def count(c: Connection) -> int:
    """How many operators there are."""
    return c.execute(select(func.count()).select_from(users)).scalar_one()


def lock(tx: Tx) -> None:
    """Let only one transaction at a time add operators: two that both count none would both add the first."""
    tx.c.execute(select(journal_head.c.id).with_for_update()).one()


def add(tx: Tx, name: str, password_hash: str) -> User:
    """Add an operator.

    :raises Conflict: the name is taken.
    """
    lock(tx)
    if by_name(tx.c, name) is not None:
        raise Conflict(f"There is already an operator called {name}. Nothing was added.")
    user = User(str(uuid.uuid4()), name, password_hash)
    tx.c.execute(users.insert().values(id=user.id, name=name, password_hash=password_hash, created_at=tx.at))
    tx.audit(Deed.USER_ADDED, {"user": name})
    return user


def by_name(c: Connection, name: str) -> User | None:
    """The operator of this name."""
    row = c.execute(select(users).where(users.c.name == name)).one_or_none()
    return None if row is None else User(row.id, row.name, row.password_hash)


def set_password_hash(tx: Tx, user_id: str, password_hash: str) -> None:
    """Store a new hash of the same password, made with today's parameters."""
    tx.c.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))


def sign_in(tx: Tx, user_id: str) -> str:
    """Begin a sign-in. Returns its secret, for the cookie."""
    secret = secrets.token_urlsafe(32)
    tx.audit(Deed.SIGNED_IN, {"user": _name(tx.c, user_id)})
    tx.c.execute(logins.insert().values(secret_hash=_hash(secret), user_id=user_id, created_at=tx.at, seen_at=tx.at))
    return secret


def signed_in(c: Connection, secret: str, since: datetime) -> User | None:
    """Who holds this sign-in, if it was begun after ``since``."""
    row = c.execute(
        select(users)
        .join(logins, logins.c.user_id == users.c.id)
        .where(logins.c.secret_hash == _hash(secret), logins.c.created_at > since)
    ).one_or_none()
    return None if row is None else User(row.id, row.name, row.password_hash)


def sign_out(tx: Tx, secret: str) -> None:
    """End a sign-in."""
    ended = delete(logins).where(logins.c.secret_hash == _hash(secret)).returning(logins.c.user_id)
    user_id = tx.c.execute(ended).scalar_one_or_none()
    if user_id is not None:
        tx.audit(Deed.SIGNED_OUT, {"user": _name(tx.c, user_id)})


def note_failure(tx: Tx, name: str) -> None:
    """Somebody tried to sign in under this name and could not."""
    tx.audit(Deed.SIGN_IN_FAILED, {"user": name, "known": by_name(tx.c, name) is not None})


def _name(c: Connection, user_id: str) -> str:
    name: str = c.execute(select(users.c.name).where(users.c.id == user_id)).scalar_one()
    return name


def add_token(tx: Tx, name: str, scopes: frozenset[str]) -> str:
    """Add an API token. Returns it, this once.

    :raises Conflict: the name is taken.
    """
    lock(tx)
    if tx.c.execute(select(tokens.c.id).where(tokens.c.name == name)).one_or_none() is not None:
        raise Conflict(f"There is already a token called {name}. Nothing was added.")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    tx.c.execute(
        tokens.insert().values(
            id=str(uuid.uuid4()), name=name, secret_hash=_hash(secret), scopes=sorted(scopes), created_at=tx.at
        )
    )
    tx.audit(Deed.TOKEN_ADDED, {"token": name, "scopes": sorted(scopes)})
    return secret


def token(c: Connection, secret: str) -> Token | None:
    """The token with this secret."""
    row = c.execute(select(tokens).where(tokens.c.secret_hash == _hash(secret))).one_or_none()
    return None if row is None else Token(row.id, row.name, frozenset(row.scopes))
