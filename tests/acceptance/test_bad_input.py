"""Whatever is sent, the answer is a clear problem, and nothing is lost or done by it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.harness import answers
from tests.harness.api import Answer, Api
from tests.harness.lab import Lab, Talk, asks, calls_of, proposes, run, turns
from tests.harness.sshd import free_port, running_sshd

NOBODY = str(uuid.uuid4())


def is_problem(answer: Answer, status: int, code: str) -> Any:
    """Check one answer in problem JSON, and return it."""
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, f"urn:nomos:{code}")
    assert problem["title"]
    assert problem["detail"].endswith(".")
    return problem


@pytest.mark.parametrize("session_id", [NOBODY, "not-an-id", "1", "..%2f..", "%00", "é"])
@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("POST", "/messages", {"client_id": "c", "text": "hello"}),
        ("POST", "/stop", {"executions": True}),
        ("PUT", "/window", {"minutes": 5}),
        ("DELETE", "/window", None),
        ("GET", "/events", None),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_an_unknown_session(lab: Lab, session_id: str, method: str, rest: str, body: Any) -> None:
    is_problem(lab.api.call(method, f"/sessions/{quote(session_id, safe='%')}{rest}", body), 404, "not_found")


@pytest.mark.parametrize("path", ["/executions/x", f"/executions/{NOBODY}/output", f"/approvals/{NOBODY}", "/hosts/x"])
def test_other_unknown_things(lab: Lab, path: str) -> None:
    is_problem(lab.api.get(path), 404, "not_found")


def test_an_address_that_does_not_exist_and_a_method_that_does_not_fit(lab: Lab) -> None:
    is_problem(lab.api.get("/nothing/here"), 404, "not_found")
    is_problem(lab.api.call("DELETE", "/sessions"), 405, "method_not_allowed")


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0"])
def test_a_blank_message(lab: Lab, text: str) -> None:
    talk = lab.silent()
    problem = is_problem(lab.api.say(talk.id, text), 400, "invalid_input")
    assert problem["field"] == "text"
    assert "empty" in problem["detail"]
    assert talk.snapshot["messages"] == []


def test_a_message_that_is_too_long_says_so_and_the_longest_is_taken(lab: Lab) -> None:
    talk = lab.silent(answers.text("Read."))
    problem = is_problem(lab.api.say(talk.id, "x" * 200_000), 413, "too_large")
    assert "200000" in problem["detail"]
    assert "100000" in problem["detail"]
    assert lab.api.say(talk.id, talk.word.ljust(100_000, "y")).status == 202
    talk.until_turns(1)
    problem = is_problem(lab.api.say(talk.id, "z" * 2_000_000), 413, "too_large")
    assert len(talk.snapshot["messages"]) == 2


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"client_id": "c", "text": ', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[1, 2]", "application/json"),
        (b"null", "application/json"),
        (b'"text"', "application/json"),
        (b"", "application/json"),
        (b'{"client_id": "c", "text": "hi"}', "text/plain"),
        (b"client_id=c&text=hi", "application/x-www-form-urlencoded"),
        (b'{"client_id": "c", "text": 5}', "application/json"),
        (b'{"client_id": "", "text": "hi"}', "application/json"),
        (b'{"client_id": "c", "text": "hi", "role": "agent"}', "application/json"),
        (b'{"text": "hi"}', "application/json"),
        (b"[" * 100_000, "application/json"),
    ],
)
def test_a_body_that_cannot_be_read(lab: Lab, raw: bytes, kind: str) -> None:
    talk = lab.silent()
    answer = lab.api.call("POST", f"/sessions/{talk.id}/messages", raw=raw, headers={"Content-Type": kind})
    problem = is_problem(answer, 400, "invalid_input")
    assert "Nothing was" in problem["detail"]
    assert talk.snapshot["messages"] == []


def test_odd_characters_are_kept_or_shown_as_unknown(lab: Lab) -> None:
    talk = lab.silent(answers.text("Read."))
    text = f"{talk.word} \x00 \ud800 \u202e 😀 <script>"
    assert lab.api.say(talk.id, text).status == 202
    talk.until_turns(1)
    [block] = talk.snapshot["messages"][0]["blocks"]
    assert block["text"].endswith(" 😀 <script>")


def test_the_same_client_id_is_one_message(lab: Lab) -> None:
    talk = lab.silent(answers.text("Once."))
    first = lab.api.say(talk.id, f"hello {talk.word}", "one")
    again = lab.api.say(talk.id, f"hello {talk.word}", "one")
    assert (again.status, again.json) == (202, first.json)
    is_problem(lab.api.say(talk.id, "something else", "one"), 409, "client_id_reused")
    talk.until_turns(1)
    assert len(talk.snapshot["messages"]) == 2


def gated(lab: Lab) -> tuple[Talk, Path]:
    """A session that waits for one command to be approved."""
    path = lab.file()
    talk = lab.talk("do", asks(lab.noting(path)), answers.text("I wait."), answers.text("Seen."))
    talk.until_turns(1)
    return talk, path


@pytest.mark.parametrize(
    "verdict", ["yes", "Approve", "APPROVE", "approved", "", " approve", True, 1, None, ["approve"]]
)
def test_only_the_listed_words_decide(lab: Lab, verdict: object) -> None:
    talk, path = gated(lab)
    approval = lab.api.pending(talk.id)
    answer = lab.api.put(f"/approvals/{approval['id']}/decision", {"verdict": verdict, "digest": approval["digest"]})
    problem = is_problem(answer, 400, "invalid_input")
    assert problem["field"] == "verdict"
    assert talk.snapshot["approvals"][0]["state"] == "pending"
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"digest": "0" * 64}, 409, "digest_mismatch"),
        ({"digest": "short"}, 400, "invalid_input"),
        ({"scope": "plan"}, 400, "invalid_input"),
        ({"scope": "for ever"}, 400, "invalid_input"),
        ({"note": 5}, 400, "invalid_input"),
        ({"force": True}, 400, "invalid_input"),
    ],
)
def test_a_decision_that_does_not_fit_decides_nothing(lab: Lab, more: Any, status: int, code: str) -> None:
    talk, path = gated(lab)
    approval = lab.api.pending(talk.id)
    body = {"verdict": "approve", "digest": approval["digest"], **more}
    is_problem(lab.api.put(f"/approvals/{approval['id']}/decision", body), status, code)
    assert talk.snapshot["approvals"][0]["state"] == "pending"
    assert not path.exists()


def test_a_decision_on_a_decided_approval(lab: Lab) -> None:
    talk, path = gated(lab)
    approval = lab.api.pending(talk.id)
    first = lab.api.decide(approval)
    again = lab.api.decide(approval)
    assert (first.status, again.status) == (200, 200)
    assert again.json["decided_at"] == first.json["decided_at"]
    problem = is_problem(lab.api.decide(approval, "deny"), 409, "already_decided")
    assert "approved by tests" in problem["detail"]
    assert first.json["decided_at"][:19] in problem["detail"]
    talk.until_turns(2)
    assert path.read_text() == "ran\n"


def test_a_decision_on_a_withdrawn_approval(lab: Lab) -> None:
    talk = lab.talk(
        "do", proposes("touch /nowhere/a"), answers.text("May I?"), proposes("touch /nowhere/b"), answers.text("Or so?")
    )
    talk.until_turns(1)
    old = lab.api.pending(talk.id)
    talk.say("another way please")
    talk.until_turns(2)
    is_problem(lab.api.decide(old), 410, "withdrawn")
    assert [a["state"] for a in talk.snapshot["approvals"]] == ["withdrawn", "pending"]
    assert talk.snapshot["executions"] == []


def test_a_call_with_an_unknown_host_or_tool_or_input_is_answered_in_words(lab: Lab) -> None:
    talk = lab.talk(
        "look",
        answers.calls(
            run("uptime", "nowhere"), ("format_disk", {}), ("run", {"host": "lab"}),
            ("pct_config", {"host": "lab", "vmid": 5}),
        ),
        answers.calls(("read_output", {"execution_id": NOBODY}), ("get_execution_status", {"execution_id": "x"})),
        answers.text("I see."),
    )  # fmt: skip
    [message] = talk.until_turns(1)
    results = [call["result"] for call in calls_of(message)]
    assert all(call["is_error"] for call in calls_of(message))
    assert results[0].startswith("There is no host called nowhere. Known hosts: ")
    assert "no tool called 'format_disk'" in results[1]
    assert all("Nothing was run" in result for result in results[:4])
    assert "no such execution" in results[4]
    assert talk.snapshot["executions"] == []


def refused_host(lab: Lab, name: str, address: str) -> Any:
    """Add a host that will not work; returns it once it was looked at."""
    made = lab.api.post("/hosts", {"name": name, "address": address})
    assert made.status == 201, made.text
    return lab.stack.until_host(made.json["id"], lambda host: not host["testing"])


def result_on(lab: Lab, host: str) -> Any:
    """Run a read-only command there; returns the execution and the call's result."""
    talk = lab.talk("look", asks("uptime", host=host), answers.text("I see."))
    [message] = talk.until_turns(1)
    assert message["status"] == "done"
    return talk.snapshot["executions"][0], calls_of(message)[0]["result"]


def test_a_host_without_trust_is_not_used(lab: Lab) -> None:
    host = refused_host(lab, "stranger", f"root@127.0.0.1:{lab.sshd.port}")
    assert host["state"] == "untrusted"
    assert host["offered_fingerprint"].startswith("SHA256:")
    execution, result = result_on(lab, "stranger")
    assert execution["state"] == "unreachable"
    assert "never started" in result
    assert "trust" in result.lower()
    wrong = lab.api.post(f"/hosts/{host['id']}/trust", {"fingerprint": "SHA256:" + "A" * 43})
    is_problem(wrong, 409, "conflict")
    is_problem(lab.api.post(f"/hosts/{host['id']}/trust", {"fingerprint": "yes"}), 400, "invalid_input")


def test_a_host_where_nobody_listens(lab: Lab) -> None:
    port = free_port()
    host = refused_host(lab, "closed", f"root@127.0.0.1:{port}")
    assert str(port) in host["detail"]
    execution, result = result_on(lab, "closed")
    assert execution["state"] == "unreachable"
    assert "never started" in result


def test_a_host_that_lets_nobody_in_and_one_whose_key_has_changed(lab: Lab, tmp_path: Path) -> None:
    with running_sshd(tmp_path / "other") as sshd:
        host = refused_host(lab, "other", f"root@127.0.0.1:{sshd.port}")
        trust = {"fingerprint": host["offered_fingerprint"]}
        assert lab.api.post(f"/hosts/{host['id']}/trust", trust).status == 200
        host = lab.stack.until_host(host["id"], lambda host: not host["testing"])
        assert host["state"] == "unreachable"
        assert "authorized_keys" in host["detail"] or "refused" in host["detail"]
        execution, result = result_on(lab, "other")
        assert execution["state"] == "unreachable"
        assert "never started" in result
        lab.stack.authorize(sshd)
        assert lab.api.post(f"/hosts/{host['id']}/test").status == 202
        lab.stack.until_host(host["id"], lambda host: host["state"] == "reachable")
        sshd.stop()
        sshd.new_host_key()
        sshd.start()
        execution, result = result_on(lab, "other")
        assert execution["state"] == "unreachable"
        assert "key" in result
        assert "never started" in result
        changed = lab.api.get(f"/hosts/{host['id']}").json
        assert changed["state"] == "key_changed"


def test_a_key_file_that_is_gone(lab: Lab, tmp_path: Path) -> None:
    with running_sshd(tmp_path / "keyed") as sshd:
        lab.stack.add_host("keyed", sshd.target())
        execution, _ = result_on(lab, "keyed")
        assert execution["state"] == "succeeded"
        sshd.kill_connections()
        sshd.key_path.unlink()
        execution, result = result_on(lab, "keyed")
        assert execution["state"] == "unreachable"
        assert str(sshd.key_path) in result


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Bad Name", "address": "root@127.0.0.1"},
        {"name": "ok", "address": "127.0.0.1"},
        {"name": "ok", "address": "-oProxyCommand=x@127.0.0.1"},
        {"name": "ok", "address": "root@127.0.0.1:99999"},
        {"name": "ok"},
    ],
)
def test_a_host_that_cannot_be_added(lab: Lab, body: Any) -> None:
    is_problem(lab.api.post("/hosts", body), 400, "invalid_input")


def test_a_host_whose_name_is_taken(lab: Lab) -> None:
    is_problem(lab.api.post("/hosts", {"name": "lab", "address": "root@127.0.0.1"}), 409, "conflict")


SCOPED = [
    ("GET", "/sessions", "read"),
    ("GET", "/summary", "read"),
    ("GET", "/events?after=0", "events"),
    ("POST", "/sessions", "chat"),
    ("PUT", f"/approvals/{NOBODY}/decision", "decide"),
    ("PUT", f"/approvals/{NOBODY}/command", "decide"),
    ("PUT", f"/approvals/{NOBODY}/steps/0", "decide"),
    ("PUT", f"/sessions/{NOBODY}/window", "decide"),
    ("POST", "/hosts", "admin"),
]


def test_a_token_may_do_what_its_scopes_say_and_no_more(lab: Lab) -> None:
    for scope in ("read", "events", "chat", "decide"):
        api = Api(lab.stack.url, lab.stack.new_token(scope, f"only-{scope}"))
        for method, path, needed in SCOPED:
            if needed == scope:
                continue
            problem = is_problem(api.call(method, path, {}), 403, "forbidden")
            assert needed in problem["detail"]
    reader = Api(lab.stack.url, lab.stack.new_token("read,chat", "no-assent"))
    talk, file = gated(lab)
    reader.say(talk.id, "go ahead")
    talk.until_turns(2)
    assert talk.snapshot["approvals"][0]["state"] == "pending", "a token without the scope cannot assent in chat"
    assert not file.exists()


def test_nobody_gets_in_without_sign_in(lab: Lab) -> None:
    for token in ("", "nomos_wrong", "wrong"):
        for method, path, _ in SCOPED:
            is_problem(Api(lab.stack.url, token).call(method, path, {}), 401, "not_signed_in")
    page = Api(lab.stack.url, "").get("//")
    assert page.status == 302
    assert page.headers["location"].startswith("/login")


@pytest.mark.parametrize(
    ("part", "variable", "value"),
    [("worker", "NOMOS_ASSENT_MINUTES", "soon"), ("web", "NOMOS_BIND", "everywhere"), ("serve", "DATABASE_URL", "x")],
)
def test_a_wrong_setting_refuses_to_start_and_names_the_variable(
    lab: Lab, tmp_path: Path, part: str, variable: str, value: str
) -> None:
    environment = {"PATH": lab.stack.environment["PATH"], "NOMOS_HOME": str(tmp_path), variable: value}
    done = subprocess.run(
        [sys.executable, "-m", "nomos", part], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert variable in done.stderr
    assert "Nothing was started." in done.stderr
    assert not list(tmp_path.iterdir()), "nothing was made"


def test_nothing_of_all_this_was_lost(lab: Lab) -> None:
    talk = lab.talk("look", asks("uptime"), answers.text("All is well."))
    assert turns(talk.until_state("idle"))[0]["status"] == "done"
