"""Approvals: which answers fit which question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nomos.domain.approvals import TRANSITIONS, ApprovalKind, ApprovalState, Route, Verdict, decide, scopes_for
from nomos.domain.digests import command_digest, digest
from nomos.domain.executions import Risk
from nomos.domain.hosts import Identity
from nomos.domain.plans import TRANSITIONS as PLAN_TRANSITIONS
from nomos.domain.plans import PlanState, Step, plan_digest
from nomos.domain.windows import Scope
from nomos.errors import AlreadyDecided, DigestMismatch, InvalidInput, Withdrawn
from tests.harness.values import NOW, approval, plan

SHOWN = "d" * 64


def test_only_a_pending_approval_has_arrows() -> None:
    ways = {state: set(after) for state, after in TRANSITIONS.items() if after}
    assert ways == {ApprovalState.PENDING: {ApprovalState.APPROVED, ApprovalState.DENIED, ApprovalState.WITHDRAWN}}


def test_the_arrows_of_a_plan() -> None:
    ways = {state: set(after) for state, after in PLAN_TRANSITIONS.items() if after}
    assert ways == {
        PlanState.PROPOSED: {PlanState.APPROVED, PlanState.DENIED, PlanState.WITHDRAWN},
        PlanState.APPROVED: {PlanState.WITHDRAWN},
    }


@pytest.mark.parametrize(
    ("kind", "risk", "scopes"),
    [
        (ApprovalKind.COMMAND, Risk.CHANGE, (Scope.ONCE, Scope.WINDOW)),
        (ApprovalKind.COMMAND, Risk.READ, (Scope.ONCE, Scope.WINDOW)),
        (ApprovalKind.COMMAND, Risk.DESTROY, (Scope.ONCE,)),
        (ApprovalKind.PLAN, Risk.CHANGE, (Scope.PLAN, Scope.WINDOW)),
        (ApprovalKind.PLAN, Risk.DESTROY, (Scope.PLAN, Scope.WINDOW)),
    ],
)
def test_what_may_be_granted(kind: ApprovalKind, risk: Risk, scopes: tuple[Scope, ...]) -> None:
    assert scopes_for(kind, risk) == scopes


def test_without_a_scope_the_widest_on_offer_is_taken() -> None:
    settled = decide(approval(), Verdict.APPROVE, None, SHOWN)
    assert (settled.scope, settled.repeat) == (Scope.WINDOW, False)


def test_the_narrow_scope_is_taken_when_asked_for() -> None:
    assert decide(approval(), Verdict.APPROVE, Scope.ONCE, SHOWN).scope is Scope.ONCE


def test_a_scope_that_is_not_offered_decides_nothing() -> None:
    with pytest.raises(InvalidInput, match="only once"):
        decide(approval(risk=Risk.DESTROY, scopes=(Scope.ONCE,)), Verdict.APPROVE, Scope.WINDOW, SHOWN)


def test_a_denial_has_no_scope() -> None:
    assert decide(approval(), Verdict.DENY, Scope.WINDOW, SHOWN).scope is None


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("state", [ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DENIED])
def test_another_digest_than_the_one_shown_is_refused(state: ApprovalState, verdict: Verdict) -> None:
    with pytest.raises(DigestMismatch):
        decide(approval(state), verdict, None, "e" * 64)


@pytest.mark.parametrize("verdict", Verdict)
def test_what_is_no_longer_asked_cannot_be_answered(verdict: Verdict) -> None:
    with pytest.raises(Withdrawn):
        decide(approval(ApprovalState.WITHDRAWN), verdict, None, SHOWN)


@pytest.mark.parametrize(
    ("state", "granted", "verdict", "scope", "repeat"),
    [
        (ApprovalState.APPROVED, Scope.ONCE, Verdict.APPROVE, None, True),
        (ApprovalState.APPROVED, Scope.ONCE, Verdict.APPROVE, Scope.ONCE, True),
        (ApprovalState.APPROVED, Scope.ONCE, Verdict.APPROVE, Scope.WINDOW, False),
        (ApprovalState.APPROVED, Scope.ONCE, Verdict.DENY, None, False),
        (ApprovalState.DENIED, None, Verdict.DENY, None, True),
        (ApprovalState.DENIED, None, Verdict.DENY, Scope.WINDOW, True),
        (ApprovalState.DENIED, None, Verdict.APPROVE, None, False),
    ],
)
def test_the_same_answer_again_is_fine_and_another_is_not(
    state: ApprovalState, granted: Scope | None, verdict: Verdict, scope: Scope | None, repeat: bool
) -> None:
    decided = approval(state, scope=granted, decided_at=NOW, decided_by="ada", route=Route.BUTTON)
    if repeat:
        settled = decide(decided, verdict, scope, SHOWN)
        assert settled.repeat
        assert settled.scope is granted
    else:
        with pytest.raises(AlreadyDecided, match=r"already (approved|denied) by ada \(button\) at 2026-12-01T13:00:00"):
            decide(decided, verdict, scope, SHOWN)


def test_there_are_two_verdicts_and_nothing_else_is_one() -> None:
    assert list(Verdict) == ["approve", "deny"]
    for word in ("yes", "Approve", "approved", "true", "1", "", "ok"):
        with pytest.raises(ValueError, match="is not a valid Verdict"):
            Verdict(word)


def test_a_digest_depends_on_each_part_and_on_nothing_else() -> None:
    base = ("s", "nas", "rm a", "destroy")
    assert command_digest(*base) == command_digest(*base)
    others = {
        ("t", *base[1:]),
        ("s", "nas2", "rm a", "destroy"),
        ("s", "nas", "rm a ", "destroy"),
        ("s", "nas", "rm a", "read"),
    }
    assert len({command_digest(*parts) for parts in {base, *others}}) == 5
    assert command_digest(*base, plan_id="p") != command_digest(*base)
    assert len({command_digest(*base, plan_id="p", step=step) for step in (None, 0, 1)}) == 3
    assert command_digest("s", "a", "b c", "read") != command_digest("s", "a b", "c", "read")
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": "\ud800"}) != digest({"a": "\udfff"})


def test_a_plans_digest_depends_on_all_that_its_card_shows() -> None:
    step = Step("nas", "uptime", Risk.READ, "to look", "nothing")
    others = [
        Step("nas2", "uptime", Risk.READ, "to look", "nothing"),
        Step("nas", "uptime -p", Risk.READ, "to look", "nothing"),
        Step("nas", "uptime", Risk.CHANGE, "to look", "nothing"),
        Step("nas", "uptime", Risk.READ, "to see", "nothing"),
        Step("nas", "uptime", Risk.READ, "to look", None),
        Step("nas", "uptime", Risk.READ, "to look", "nothing", parallel=True),
    ]
    there = {"nas": "a", "nas2": "b"}
    digests = {plan_digest(plan(one), there) for one in (step, *others)}
    assert len(digests) == 7
    assert plan_digest(plan(step, others[1]), there) != plan_digest(plan(others[1], step), there)
    assert plan_digest(plan(step, id_="another"), there) != plan_digest(plan(step), there)
    assert plan_digest(plan(step), {"nas": "another machine"}) != plan_digest(plan(step), there)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("id", "another", "nas: it is another entry of the inventory"),
        ("address", "10.0.0.2", "nas: its address was 10.0.0.1:22 and is 10.0.0.2:22 now"),
        ("port", 2222, "nas: its address was 10.0.0.1:22 and is 10.0.0.1:2222 now"),
        ("user", "ada", "nas: its user was root and is ada now"),
        ("host_key", None, "nas: its host key was SHA256:one and is SHA256:one now"),
    ],
)
def test_what_a_host_is_to_an_approval(field: str, value: object, words: str) -> None:
    before = Identity("h", "nas", "root", "10.0.0.1", 22, "ssh-ed25519 AAAA", "SHA256:one")
    after = replace(before, **{field: value})  # type: ignore[arg-type]  # the table gives each its type
    assert before.changes(before) == ()
    assert before.changes(after) == (words,)
    assert before.digest != after.digest


def test_a_plan_is_as_risky_as_its_riskiest_step() -> None:
    read, destroy = Step("a", "uptime", Risk.READ, ""), Step("b", "rm x", Risk.DESTROY, "")
    assert plan(read, destroy).risk is Risk.DESTROY
    assert plan(read).risk is Risk.READ
    assert plan(read, destroy, read).hosts == ("a", "b")


def test_a_plan_names_exact_bytes_on_the_exact_host() -> None:
    value = plan(Step("nas", "rm x", Risk.DESTROY, ""))
    assert value.step_for("nas", "rm x") is not None
    for host, command in (("nas2", "rm x"), ("nas", "rm x "), ("nas", "rm  x"), ("nas", "RM x"), ("nas", "rm")):
        assert value.step_for(host, command) is None
