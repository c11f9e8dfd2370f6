"""first tables

Revision: 0001, after 
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:

    op.create_table('audit',
    sa.Column('seq', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('deed', sa.String(length=32), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=True),
    sa.Column('content', sa.Text(), nullable=False),
    sa.Column('previous', sa.String(length=64), nullable=False),
    sa.Column('hash', sa.String(length=64), nullable=False),
    sa.PrimaryKeyConstraint('seq', name=op.f('pk_audit'))
    )
    with op.batch_alter_table('audit', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_audit_at'), ['at'], unique=False)

    op.create_table('audit_head',
    sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
    sa.Column('seq', sa.BigInteger(), nullable=False),
    sa.Column('hash', sa.String(length=64), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_head'))
    )
    op.create_table('hosts',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('name', sa.String(length=64), nullable=False),
    sa.Column('address', sa.String(length=255), nullable=False),
    sa.Column('port', sa.Integer(), nullable=False),
    sa.Column('user', sa.String(length=64), nullable=False),
    sa.Column('key_path', sa.Text(), nullable=True),
    sa.Column('host_key', sa.Text(), nullable=True),
    sa.Column('fingerprint', sa.String(length=64), nullable=True),
    sa.Column('offered_key', sa.Text(), nullable=True),
    sa.Column('offered_fingerprint', sa.String(length=64), nullable=True),
    sa.Column('job_base', sa.Text(), nullable=True),
    sa.Column('boot', sa.String(length=200), nullable=True),
    sa.Column('system', sa.Text(), nullable=True),
    sa.Column('latency_ms', sa.Double(), nullable=True),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('detail', sa.Text(), nullable=True),
    sa.Column('checked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('test_requested', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('practice', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('interpreter', sa.Text(), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_hosts')),
    sa.UniqueConstraint('name', name=op.f('uq_hosts_name'))
    )
    op.create_table('journal',
    sa.Column('seq', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('type', sa.String(length=32), nullable=False),
    sa.Column('about', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=True),
    sa.Column('host', sa.String(length=64), nullable=True),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('data', sa.JSON(), nullable=False),
    sa.PrimaryKeyConstraint('seq', name=op.f('pk_journal'))
    )
    with op.batch_alter_table('journal', schema=None) as batch_op:
        batch_op.create_index('ix_journal_session_id_seq', ['session_id', 'seq'], unique=False)
        batch_op.create_index('ix_journal_type_about', ['type', 'about'], unique=False)

    op.create_table('journal_head',
    sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
    sa.Column('epoch', sa.String(length=16), nullable=False),
    sa.Column('seq', sa.BigInteger(), nullable=False),
    sa.Column('floor', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_journal_head'))
    )
    op.create_table('sessions',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('titled_by_operator', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('ending', sa.String(length=16), nullable=False),
    sa.Column('archived', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('last_word_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('due', sa.Integer(), server_default='0', nullable=False),
    sa.Column('handled', sa.Integer(), server_default='0', nullable=False),
    sa.Column('due_ticks', sa.Double(), nullable=True),
    sa.Column('due_boot', sa.String(length=64), nullable=True),
    sa.Column('stop_requested', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('claim', sa.Integer(), server_default='0', nullable=False),
    sa.Column('claim_owner', sa.String(length=128), nullable=True),
    sa.Column('claim_until', sa.Double(), nullable=True),
    sa.Column('claim_boot', sa.String(length=64), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_sessions'))
    )
    with op.batch_alter_table('sessions', schema=None) as batch_op:
        batch_op.create_index('ix_sessions_due', ['due', 'handled'], unique=False)

    op.create_table('tokens',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('name', sa.String(length=64), nullable=False),
    sa.Column('secret_hash', sa.String(length=64), nullable=False),
    sa.Column('scopes', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('used_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_tokens')),
    sa.UniqueConstraint('name', name=op.f('uq_tokens_name')),
    sa.UniqueConstraint('secret_hash', name=op.f('uq_tokens_secret_hash'))
    )
    op.create_table('users',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('name', sa.String(length=64), nullable=False),
    sa.Column('password_hash', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_users')),
    sa.UniqueConstraint('name', name=op.f('uq_users_name'))
    )
    op.create_table('workers',
    sa.Column('owner', sa.String(length=128), nullable=False),
    sa.Column('seen_ticks', sa.Double(), nullable=False),
    sa.Column('seen_boot', sa.String(length=64), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('model_state', sa.String(length=16), nullable=False),
    sa.Column('model_detail', sa.Text(), nullable=True),
    sa.PrimaryKeyConstraint('owner', name=op.f('pk_workers'))
    )
    op.create_table('approvals',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('kind', sa.String(length=16), nullable=False),
    sa.Column('execution_id', sa.String(length=36), nullable=True),
    sa.Column('plan_id', sa.String(length=36), nullable=True),
    sa.Column('risk', sa.String(length=16), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('command', sa.Text(), nullable=True),
    sa.Column('host', sa.String(length=64), nullable=True),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('digest', sa.String(length=64), nullable=False),
    sa.Column('bound', sa.JSON(), nullable=False),
    sa.Column('changed', sa.Text(), nullable=True),
    sa.Column('scopes', sa.JSON(), nullable=False),
    sa.Column('snapshot', sa.String(length=16), nullable=True),
    sa.Column('requested_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('number', sa.Integer(), nullable=False),
    sa.Column('decided_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('decided_by', sa.String(length=64), nullable=True),
    sa.Column('route', sa.String(length=16), nullable=True),
    sa.Column('scope', sa.String(length=16), nullable=True),
    sa.Column('note', sa.Text(), nullable=True),
    sa.Column('risk_why', sa.Text(), nullable=False),
    sa.Column('drift', sa.JSON(none_as_null=True), nullable=True),
    sa.Column('told_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('tells', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('used_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['session_id'], ['sessions.id'], name=op.f('fk_approvals_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_approvals'))
    )
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.create_index('ix_approvals_asked', ['execution_id'], unique=True, sqlite_where=sa.text("state = 'pending'"), postgresql_where=sa.text("state = 'pending'"))
        batch_op.create_index('ix_approvals_session_id_state', ['session_id', 'state'], unique=False)

    op.create_table('logins',
    sa.Column('secret_hash', sa.String(length=64), nullable=False),
    sa.Column('user_id', sa.String(length=36), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['user_id'], ['users.id'], name=op.f('fk_logins_user_id')),
    sa.PrimaryKeyConstraint('secret_hash', name=op.f('pk_logins'))
    )
    op.create_table('messages',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=False),
    sa.Column('position', sa.Integer(), nullable=False),
    sa.Column('role', sa.String(length=16), nullable=False),
    sa.Column('origin', sa.String(length=16), nullable=False),
    sa.Column('status', sa.String(length=16), nullable=False),
    sa.Column('client_id', sa.Text(), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tries', sa.Integer(), server_default='0', nullable=False),
    sa.Column('waits', sa.Integer(), server_default='0', nullable=False),
    sa.ForeignKeyConstraint(['session_id'], ['sessions.id'], name=op.f('fk_messages_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_messages')),
    sa.UniqueConstraint('session_id', 'client_id', name=op.f('uq_messages_session_id_client_id')),
    sa.UniqueConstraint('session_id', 'position', name=op.f('uq_messages_session_id_position'))
    )
    with op.batch_alter_table('messages', schema=None) as batch_op:
        batch_op.create_index('ix_messages_open_turn', ['session_id'], unique=True, sqlite_where=sa.text("status IN ('thinking', 'working')"), postgresql_where=sa.text("status IN ('thinking', 'working')"))

    op.create_table('windows',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=False),
    sa.Column('opened_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('cover_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('expires_ticks', sa.Double(), nullable=False),
    sa.Column('boot', sa.String(length=64), nullable=False),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('ended_why', sa.String(length=16), nullable=True),
    sa.Column('opened_by', sa.String(length=64), nullable=False),
    sa.Column('scope', sa.String(length=16), nullable=False),
    sa.Column('hosts', sa.JSON(), nullable=False),
    sa.Column('risk', sa.String(length=16), nullable=False),
    sa.Column('plan_id', sa.String(length=36), nullable=True),
    sa.Column('bound', sa.JSON(), nullable=False),
    sa.Column('plan_bound', sa.JSON(), nullable=False),
    sa.Column('continuations', sa.Integer(), server_default='0', nullable=False),
    sa.Column('number', sa.Integer(), nullable=False),
    sa.ForeignKeyConstraint(['session_id'], ['sessions.id'], name=op.f('fk_windows_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_windows'))
    )
    with op.batch_alter_table('windows', schema=None) as batch_op:
        batch_op.create_index('ix_windows_ended_at', ['ended_at'], unique=False)
        batch_op.create_index(batch_op.f('ix_windows_session_id'), ['session_id'], unique=False)

    op.create_table('answers',
    sa.Column('message_id', sa.String(length=36), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('content', sa.JSON(), nullable=False),
    sa.Column('stop_reason', sa.Text(), nullable=False),
    sa.Column('nudge', sa.Text(), nullable=True),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('input_tokens', sa.Integer(), nullable=True),
    sa.Column('output_tokens', sa.Integer(), nullable=True),
    sa.Column('cache_read_tokens', sa.Integer(), nullable=True),
    sa.Column('cache_creation_tokens', sa.Integer(), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['message_id'], ['messages.id'], name=op.f('fk_answers_message_id')),
    sa.PrimaryKeyConstraint('message_id', 'step', name=op.f('pk_answers'))
    )
    op.create_table('blocks',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('message_id', sa.String(length=36), nullable=False),
    sa.Column('position', sa.Integer(), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(length=16), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('code', sa.String(length=64), nullable=True),
    sa.Column('name', sa.Text(), nullable=True),
    sa.Column('call_id', sa.Text(), nullable=True),
    sa.Column('input', sa.JSON(), nullable=True),
    sa.Column('execution_id', sa.String(length=36), nullable=True),
    sa.Column('result', sa.Text(), nullable=True),
    sa.Column('is_error', sa.Boolean(), server_default='0', nullable=False),
    sa.ForeignKeyConstraint(['message_id'], ['messages.id'], name=op.f('fk_blocks_message_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_blocks')),
    sa.UniqueConstraint('message_id', 'position', name=op.f('uq_blocks_message_id_position'))
    )
    op.create_table('executions',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=False),
    sa.Column('message_id', sa.String(length=36), nullable=False),
    sa.Column('block_id', sa.String(length=36), nullable=False),
    sa.Column('host', sa.String(length=64), nullable=False),
    sa.Column('command', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('risk', sa.String(length=16), nullable=False),
    sa.Column('risk_why', sa.Text(), nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('digest', sa.String(length=64), nullable=False),
    sa.Column('asynchronous', sa.Boolean(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('queued_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('continued_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('exit_code', sa.Integer(), nullable=True),
    sa.Column('output_bytes', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('host_bytes', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('fed_bytes', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('fed_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('omitted_from', sa.BigInteger(), nullable=True),
    sa.Column('omitted_to', sa.BigInteger(), nullable=True),
    sa.Column('truncated', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('last_output_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('question', sa.Text(), nullable=True),
    sa.Column('question_told', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('parallel', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('asked', sa.Text(), nullable=True),
    sa.Column('approval_id', sa.String(length=36), nullable=True),
    sa.Column('plan_id', sa.String(length=36), nullable=True),
    sa.Column('window_id', sa.String(length=36), nullable=True),
    sa.Column('detail', sa.Text(), nullable=True),
    sa.Column('host_boot', sa.String(length=200), nullable=True),
    sa.Column('cancel_requested_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('undo', sa.Text(), nullable=True),
    sa.Column('undoes', sa.String(length=36), nullable=True),
    sa.Column('after_id', sa.String(length=36), nullable=True),
    sa.Column('guard_revert', sa.Text(), nullable=True),
    sa.Column('guard_seconds', sa.Integer(), nullable=True),
    sa.Column('claim', sa.Integer(), server_default='0', nullable=False),
    sa.Column('claim_owner', sa.String(length=128), nullable=True),
    sa.Column('claim_until', sa.Double(), nullable=True),
    sa.Column('claim_boot', sa.String(length=64), nullable=True),
    sa.ForeignKeyConstraint(['block_id'], ['blocks.id'], name=op.f('fk_executions_block_id')),
    sa.ForeignKeyConstraint(['message_id'], ['messages.id'], name=op.f('fk_executions_message_id')),
    sa.ForeignKeyConstraint(['session_id'], ['sessions.id'], name=op.f('fk_executions_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_executions')),
    sa.UniqueConstraint('block_id', name=op.f('uq_executions_block_id'))
    )
    with op.batch_alter_table('executions', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_executions_after_id'), ['after_id'], unique=False)
        batch_op.create_index('ix_executions_host_created_at', ['host', 'created_at'], unique=False)
        batch_op.create_index('ix_executions_session_id_created_at', ['session_id', 'created_at'], unique=False)
        batch_op.create_index('ix_executions_state', ['state'], unique=False)
        batch_op.create_index(batch_op.f('ix_executions_undoes'), ['undoes'], unique=False)

    op.create_table('plans',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('session_id', sa.String(length=36), nullable=False),
    sa.Column('message_id', sa.String(length=36), nullable=False),
    sa.Column('block_id', sa.String(length=36), nullable=False),
    sa.Column('goal', sa.Text(), nullable=False),
    sa.Column('verify', sa.Text(), nullable=False),
    sa.Column('steps', sa.JSON(), nullable=False),
    sa.Column('snapshots', sa.Boolean(), server_default='0', nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['block_id'], ['blocks.id'], name=op.f('fk_plans_block_id')),
    sa.ForeignKeyConstraint(['message_id'], ['messages.id'], name=op.f('fk_plans_message_id')),
    sa.ForeignKeyConstraint(['session_id'], ['sessions.id'], name=op.f('fk_plans_session_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_plans'))
    )
    with op.batch_alter_table('plans', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_plans_session_id'), ['session_id'], unique=False)

    op.create_table('inputs',
    sa.Column('id', sa.String(length=36), nullable=False),
    sa.Column('execution_id', sa.String(length=36), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('secret', sa.Boolean(), nullable=False),
    sa.Column('by', sa.String(length=64), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('sent_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['execution_id'], ['executions.id'], name=op.f('fk_inputs_execution_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_inputs'))
    )
    with op.batch_alter_table('inputs', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_inputs_execution_id'), ['execution_id'], unique=False)

    op.create_table('output_pieces',
    sa.Column('execution_id', sa.String(length=36), nullable=False),
    sa.Column('offset', sa.BigInteger(), nullable=False),
    sa.Column('end', sa.BigInteger(), nullable=False),
    sa.Column('bytes', sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(['execution_id'], ['executions.id'], name=op.f('fk_output_pieces_execution_id')),
    sa.PrimaryKeyConstraint('execution_id', 'offset', name=op.f('pk_output_pieces'))
    )



def downgrade() -> None:

    op.drop_table('output_pieces')
    with op.batch_alter_table('inputs', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_inputs_execution_id'))

    op.drop_table('inputs')
    with op.batch_alter_table('plans', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_plans_session_id'))

    op.drop_table('plans')
    with op.batch_alter_table('executions', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_executions_undoes'))
        batch_op.drop_index('ix_executions_state')
        batch_op.drop_index('ix_executions_session_id_created_at')
        batch_op.drop_index('ix_executions_host_created_at')
        batch_op.drop_index(batch_op.f('ix_executions_after_id'))

    op.drop_table('executions')
    op.drop_table('blocks')
    op.drop_table('answers')
    with op.batch_alter_table('windows', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_windows_session_id'))
        batch_op.drop_index('ix_windows_ended_at')

    op.drop_table('windows')
    with op.batch_alter_table('messages', schema=None) as batch_op:
        batch_op.drop_index('ix_messages_open_turn', sqlite_where=sa.text("status IN ('thinking', 'working')"), postgresql_where=sa.text("status IN ('thinking', 'working')"))

    op.drop_table('messages')
    op.drop_table('logins')
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.drop_index('ix_approvals_session_id_state')
        batch_op.drop_index('ix_approvals_asked', sqlite_where=sa.text("state = 'pending'"), postgresql_where=sa.text("state = 'pending'"))

    op.drop_table('approvals')
    op.drop_table('workers')
    op.drop_table('users')
    op.drop_table('tokens')
    with op.batch_alter_table('sessions', schema=None) as batch_op:
        batch_op.drop_index('ix_sessions_due')

    op.drop_table('sessions')
    op.drop_table('journal_head')
    with op.batch_alter_table('journal', schema=None) as batch_op:
        batch_op.drop_index('ix_journal_type_about')
        batch_op.drop_index('ix_journal_session_id_seq')

    op.drop_table('journal')
    op.drop_table('hosts')
    op.drop_table('audit_head')
    with op.batch_alter_table('audit', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_audit_at'))

    op.drop_table('audit')

