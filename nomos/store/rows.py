"""The tables. Nothing outside ``store`` sees them or their rows."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
db = SQLAlchemy(metadata=metadata, disable_autonaming=True)


class Utc(TypeDecorator[datetime]):
    """A point in time: aware in Python, UTC in the database (SQLite knows no zones)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Words(TypeDecorator[str]):
    """Text of any length from people, hosts and models.

    PostgreSQL takes no NUL and neither engine a lone surrogate: they become U+FFFD here, once for everybody.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(
        self,
        value: str | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _id(name: str = "id", **more: Any) -> Column[str]:
    return Column(name, String(36), **more)


def _claim() -> list[Column[Any]]:
    """The columns of a claim: its number, who holds it, and until when (ticks of which boot)."""
    return [
        Column("claim", Integer, nullable=False, server_default="0"),
        Column("claim_owner", String(128)),
        Column("claim_until", Double),
        Column("claim_boot", String(64)),
    ]


sessions = Table(
    "sessions",
    metadata,
    _id(primary_key=True),
    Column("title", Words, nullable=False),
    Column("titled_by_operator", Boolean, nullable=False, server_default="0"),
    Column("state", String(16), nullable=False),
    Column("ending", String(16), nullable=False),
    Column("archived", Boolean, nullable=False, server_default="0"),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("last_word_at", Utc),
    Column("due", Integer, nullable=False, server_default="0"),
    Column("handled", Integer, nullable=False, server_default="0"),
    Column("due_ticks", Double),
    Column("due_boot", String(64)),
    Column("stop_requested", Boolean, nullable=False, server_default="0"),
    *_claim(),
)
Index("ix_sessions_due", sessions.c.due, sessions.c.handled)

messages = Table(
    "messages",
    metadata,
    _id(primary_key=True),
    Column("session_id", ForeignKey("sessions.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", String(16), nullable=False),
    Column("origin", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("client_id", Words),
    Column("created_at", Utc, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("waits", Integer, nullable=False, server_default="0"),
    UniqueConstraint("session_id", "position"),
    UniqueConstraint("session_id", "client_id"),
)
# The last guard: at most one turn of a session is open, whatever the code above does.
_OPEN_TURN = messages.c.status.in_(["thinking", "working"])
Index("ix_messages_open_turn", messages.c.session_id, unique=True, sqlite_where=_OPEN_TURN, postgresql_where=_OPEN_TURN)

blocks = Table(
    "blocks",
    metadata,
    _id(primary_key=True),
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("text", Words, nullable=False),
    Column("code", String(64)),
    Column("name", Words),
    Column("call_id", Words),
    Column("input", JSON),
    Column("execution_id", String(36)),
    Column("result", Words),
    Column("is_error", Boolean, nullable=False, server_default="0"),
    UniqueConstraint("message_id", "position"),
)

answers = Table(
    "answers",
    metadata,
    Column("message_id", ForeignKey("messages.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("content", JSON, nullable=False),
    Column("stop_reason", Words, nullable=False),
    Column("nudge", Words),
    Column("model", Words, nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cache_read_tokens", Integer),
    Column("cache_creation_tokens", Integer),
    Column("created_at", Utc, nullable=False),
)
"""The raw answers of the model, one a step of a turn: what every later replay is made of."""

plans = Table(
    "plans",
    metadata,
    _id(primary_key=True),
    Column("session_id", ForeignKey("sessions.id"), nullable=False, index=True),
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("block_id", ForeignKey("blocks.id"), nullable=False),
    Column("goal", Words, nullable=False),
    Column("verify", Words, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("snapshots", Boolean, nullable=False, server_default="0"),
    Column("state", String(16), nullable=False),
    Column("created_at", Utc, nullable=False),
)

windows = Table(
    "windows",
    metadata,
    _id(primary_key=True),
    Column("session_id", ForeignKey("sessions.id"), nullable=False, index=True),
    Column("opened_at", Utc, nullable=False),
    Column("expires_at", Utc, nullable=False),
    Column("cover_until", Utc),
    Column("expires_ticks", Double, nullable=False),
    Column("boot", String(64), nullable=False),
    Column("ended_at", Utc),
    Column("ended_why", String(16)),
    Column("opened_by", String(64), nullable=False),
    Column("scope", String(16), nullable=False),
    Column("hosts", JSON, nullable=False),
    Column("risk", String(16), nullable=False),
    Column("plan_id", String(36)),
    Column("bound", JSON, nullable=False),
    Column("plan_bound", JSON, nullable=False),
    Column("continuations", Integer, nullable=False, server_default="0"),
    Column("number", Integer, nullable=False),
    Index("ix_windows_ended_at", "ended_at"),
)

executions = Table(
    "executions",
    metadata,
    _id(primary_key=True),
    Column("session_id", ForeignKey("sessions.id"), nullable=False),
    Column("message_id", ForeignKey("messages.id"), nullable=False),
    Column("block_id", ForeignKey("blocks.id"), nullable=False),
    Column("host", String(64), nullable=False),
    Column("command", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("risk", String(16), nullable=False),
    Column("risk_why", Words, nullable=False),
    Column("state", String(16), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("asynchronous", Boolean, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("queued_at", Utc),
    Column("started_at", Utc),
    Column("ended_at", Utc),
    Column("continued_at", Utc),
    Column("exit_code", Integer),
    Column("output_bytes", BigInteger, nullable=False, server_default="0"),
    Column("host_bytes", BigInteger, nullable=False, server_default="0"),
    Column("fed_bytes", BigInteger, nullable=False, server_default="0"),
    Column("fed_at", Utc),
    Column("omitted_from", BigInteger),
    Column("omitted_to", BigInteger),
    Column("truncated", Boolean, nullable=False, server_default="0"),
    Column("last_output_at", Utc),
    Column("question", Words),
    Column("question_told", Boolean, nullable=False, server_default="0"),
    Column("parallel", Boolean, nullable=False, server_default="0"),
    Column("asked", Words),
    Column("approval_id", String(36)),
    Column("plan_id", String(36)),
    Column("window_id", String(36)),
    Column("detail", Words),
    Column("host_boot", String(200)),
    Column("cancel_requested_at", Utc),
    Column("undo", Words),
    Column("undoes", String(36), index=True),
    Column("after_id", String(36), index=True),
    Column("guard_revert", Words),
    Column("guard_seconds", Integer),
    *_claim(),
    UniqueConstraint("block_id"),  # one call starts one command
)
Index("ix_executions_session_id_created_at", executions.c.session_id, executions.c.created_at)
Index("ix_executions_state", executions.c.state)
Index("ix_executions_host_created_at", executions.c.host, executions.c.created_at)

output_pieces = Table(
    "output_pieces",
    metadata,
    Column("execution_id", ForeignKey("executions.id"), primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("end", BigInteger, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
)

inputs = Table(
    "inputs",
    metadata,
    _id(primary_key=True),
    Column("execution_id", ForeignKey("executions.id"), nullable=False, index=True),
    Column("text", Words, nullable=False),
    Column("secret", Boolean, nullable=False),
    Column("by", String(64), nullable=False),
    Column("at", Utc, nullable=False),
    Column("sent_at", Utc),
)
"""Lines that the operator typed for a command that asks. A secret one is blanked once it was sent."""

approvals = Table(
    "approvals",
    metadata,
    _id(primary_key=True),
    Column("session_id", ForeignKey("sessions.id"), nullable=False),
    Column("state", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("execution_id", String(36)),
    Column("plan_id", String(36)),
    Column("risk", String(16), nullable=False),
    Column("title", Words, nullable=False),
    Column("command", Words),
    Column("host", String(64)),
    Column("reason", Words, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("bound", JSON, nullable=False),
    Column("changed", Words),
    Column("scopes", JSON, nullable=False),
    Column("snapshot", String(16)),
    Column("requested_at", Utc, nullable=False),
    Column("number", Integer, nullable=False),
    Column("decided_at", Utc),
    Column("decided_by", String(64)),
    Column("route", String(16)),
    Column("scope", String(16)),
    Column("note", Words),
    Column("risk_why", Words, nullable=False),
    Column("drift", JSON(none_as_null=True)),
    Column("told_at", Utc),
    Column("tells", Boolean, nullable=False, server_default="0"),
    Column("used_at", Utc),
)
_PENDING = approvals.c.state == "pending"
Index("ix_approvals_asked", approvals.c.execution_id, unique=True, sqlite_where=_PENDING, postgresql_where=_PENDING)
Index("ix_approvals_session_id_state", approvals.c.session_id, approvals.c.state)

hosts = Table(
    "hosts",
    metadata,
    _id(primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("address", String(255), nullable=False),
    Column("port", Integer, nullable=False),
    Column("user", String(64), nullable=False),
    Column("key_path", Words),
    Column("host_key", Words),
    Column("fingerprint", String(64)),
    Column("offered_key", Words),
    Column("offered_fingerprint", String(64)),
    Column("job_base", Words),
    Column("boot", String(200)),
    Column("system", Words),
    Column("latency_ms", Double),
    Column("state", String(16), nullable=False),
    Column("detail", Words),
    Column("checked_at", Utc),
    Column("test_requested", Boolean, nullable=False, server_default="0"),
    Column("practice", Boolean, nullable=False, server_default="0"),
    Column("interpreter", Words),
    Column("created_at", Utc, nullable=False),
)

users = Table(
    "users",
    metadata,
    _id(primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("password_hash", Words, nullable=False),
    Column("created_at", Utc, nullable=False),
)

logins = Table(
    "logins",
    metadata,
    Column("secret_hash", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("seen_at", Utc, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    _id(primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("secret_hash", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("used_at", Utc),
)

journal = Table(
    "journal",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("type", String(32), nullable=False),
    Column("about", String(36), nullable=False),
    Column("session_id", String(36)),
    Column("host", String(64)),
    Column("at", Utc, nullable=False),
    Column("data", JSON, nullable=False),
)
Index("ix_journal_session_id_seq", journal.c.session_id, journal.c.seq)
Index("ix_journal_type_about", journal.c.type, journal.c.about)

journal_head = Table(
    "journal_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", String(16), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("floor", BigInteger, nullable=False),
)
"""One row: the number of the last entry (locked last in a transaction), the lowest cursor that can be resumed."""

audit = Table(
    "audit",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Utc, nullable=False, index=True),
    Column("deed", String(32), nullable=False),
    Column("session_id", String(36)),
    Column("content", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
"""What was done, each row bound to the one before. Triggers of the database refuse to change or remove any."""

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
)
"""One row, made with the table: number and hash of the last row of ``audit``."""

workers = Table(
    "workers",
    metadata,
    Column("owner", String(128), primary_key=True),
    Column("seen_ticks", Double, nullable=False),
    Column("seen_boot", String(64), nullable=False),
    Column("seen_at", Utc, nullable=False),
    Column("model", Words, nullable=False),
    Column("model_state", String(16), nullable=False),
    Column("model_detail", Words),
)
