"""the audit is append only

Nomos itself never changes or removes a row of the audit. These triggers are a second lock, for what else may write to
the database.

Revision ID: 0002
Revises: 0001
Create Date: 2026-12-01

"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WORDS = "the audit is append only"


def upgrade() -> None:
    head = sa.table("audit_head", sa.column("id"), sa.column("seq"), sa.column("hash"))
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": "0" * 64}])
    if op.get_bind().dialect.name == "sqlite":
        for deed in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_refuses_{deed.lower()} BEFORE {deed} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{WORDS}'); END"
            )
        # REPLACE removes the old row without a word to the trigger above, unless recursive triggers are on.
        op.execute(
            "CREATE TRIGGER audit_refuses_replace BEFORE INSERT ON audit "
            "WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) "
            f"BEGIN SELECT RAISE(ABORT, '{WORDS}'); END"
        )
    else:
        op.execute(
            "CREATE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{WORDS}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_refuses BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
            "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuses()"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for deed in ("update", "delete", "replace"):
            op.execute(f"DROP TRIGGER audit_refuses_{deed}")
    else:
        op.execute("DROP TRIGGER audit_refuses ON audit")
        op.execute("DROP FUNCTION audit_refuses()")
    op.execute("DELETE FROM audit_head")
