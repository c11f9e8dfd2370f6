"""The rehearsal model's stories, played on the practice host's own stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomos.rehearsal.model.scenarios import next_words
from nomos.rehearsal.model.story import guests
from nomos.rehearsal.model.wishes import Wanted, Wish, wanted, wish_of
from tests.harness.table import Table

ASKED = "give me a small Debian container called web, and check that it runs"
CREATE = (
    "pct create 105 local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst --hostname web --memory 512 --cores 1 "
    "--rootfs local-lvm:4 --net0 name=eth0,bridge=vmbr0,ip=dhcp --unprivileged 1"
)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, next_words)


def created(table: Table) -> Table:
    table.say(ASKED)
    table.decide("approve")
    table.land()
    assert table.concluded
    return table


def test_a_container_from_the_wish_to_the_proof(table: Table) -> None:
    assert "plan waits for you" in table.say(ASKED)
    assert table.ran == ["pveversion", "pct list", "pvesm status", "pveam list local"]
    steps = [(step["command"], step["risk"]) for step in table.plans[0][1]["steps"]]
    assert steps == [(CREATE, "change"), ("pct start 105", "change"), ("pct exec 105 -- hostname", "change")]
    assert "go on by myself" in table.decide("approve")
    report = table.land()
    assert table.ran[4:] == [CREATE, "pct start 105", "pct status 105", "pct exec 105 -- hostname"]
    assert table.concluded == {
        "outcome": "verified",
        "evidence": "pct status 105: running. pct exec 105 -- hostname: web",
    }
    assert "**web** is container 105" in report
    assert "web" in table.guest_names()


def test_it_destroys_it_and_gets_past_the_failure_by_itself(table: Table) -> None:
    created(table)
    table.allowed = False
    before = len(table.ran)
    assert "cannot be undone" in table.say("destroy it")
    assert [step["command"] for step in table.plans[-1][1]["steps"]] == ["pct destroy 105"]
    assert table.plans[-1][1]["steps"][0]["risk"] == "destroy"
    report = table.decide("approve")
    assert table.ran[before:] == [
        "pct list",
        "pct destroy 105",
        "pct stop 105",
        "pct destroy 105",
        "pct list",
    ]
    assert any("is still running" in said for said in words_of(table))
    assert table.concluded == {"outcome": "verified", "evidence": "pct list no longer shows 105"}
    assert "gone" in report
    assert "web" not in table.guest_names()


def test_every_step_may_take_long(table: Table) -> None:
    table.slow = ("pct create", "pct start", "pct status", "pct exec", "pct stop", "pct destroy")
    table.say(ASKED)
    table.decide("approve")
    for _ in range(4):
        assert table.concluded is None
        table.land()
    assert table.concluded
    table.say("destroy web")
    table.decide("approve")
    for _ in range(3):
        table.land()
    assert table.concluded
    assert "web" not in table.guest_names()


def test_a_denied_plan_is_left_and_can_be_changed(table: Table) -> None:
    table.say(ASKED)
    assert "What should be different" in table.decide("deny", "not so small")
    assert table.ran[4:] == []
    assert "plan waits for you" in table.say("1 GB and 2 cores, and call it shop")
    command = table.plans[-1][1]["steps"][0]["command"]
    assert "--hostname shop --memory 1024 --cores 2" in command
    table.decide("approve")
    table.land()
    assert "shop" in table.guest_names()


def test_the_note_of_a_denial_is_enough_for_another_plan(table: Table) -> None:
    table.say(ASKED)
    assert "plan waits for you" in table.decide("deny", "use 2 GB")
    assert "--memory 2048" in table.plans[-1][1]["steps"][0]["command"]


def test_chatter_while_the_plan_waits_changes_nothing(table: Table) -> None:
    table.say(ASKED)
    assert "plan waits for you" in table.say("hm, let me think")
    assert len(table.plans) == 1


def test_a_word_while_a_command_runs_changes_nothing(table: Table) -> None:
    table.say(ASKED)
    table.decide("approve")
    assert "go on by myself" in table.say("how long will that be")
    table.land()
    assert table.ran.count(CREATE) == 1
    assert table.concluded


def test_an_id_that_was_taken_meanwhile(table: Table) -> None:
    table.say(ASKED)
    table.script(CREATE, ("failed", 255, "unable to create CT 105 - CT 105 already exists on node 'pve1'"))
    table.take_id(105)
    table.decide("approve")
    table.land()
    table.land()
    assert "pct create 106 " in "".join(table.ran)
    assert table.concluded
    assert "106" in table.concluded["evidence"]


def test_an_unknown_outcome_is_looked_at_before_anything_is_run_again(table: Table) -> None:
    table.say(ASKED)
    table.script(CREATE, ("unknown", None, "the link was lost"))
    table.decide("approve")
    said = table.land()
    assert table.ran[-1] == "pct list", "it looks first"
    assert "go on by myself" in said
    table.land()
    assert table.concluded


def test_an_unknown_outcome_that_had_taken_effect_is_not_repeated(table: Table) -> None:
    table.say(ASKED)
    table.script(CREATE, ("unknown", None, ""))
    table.take_id(105)
    table.decide("approve")
    table.land()
    assert not any(command.startswith("pct create 105") for command in table.ran)
    assert "pct start 105" in table.ran


@pytest.mark.parametrize(
    ("command", "outcomes"),
    [
        (CREATE, [("failed", 255, "400 Parameter verification failed.")]),
        (CREATE, [("failed", 5, "lvcreate failed: no space")] * 2),
        (CREATE, [("unreachable", None, "")] * 2),
        ("pct start 105", [("failed", 255, "startup for container '105' failed")] * 2),
        ("pct exec 105 -- hostname", [("failed", 255, "container '105' not running!")] * 2),
        ("pct list", [("unreachable", None, "no connection")]),
        ("pveam list local", [("succeeded", 0, "NAME SIZE")]),
    ],
    ids=["parameters", "no space", "unreachable", "no start", "no answer", "no look", "no template"],
)
def test_what_cannot_be_mended_is_named(
    table: Table, command: str, outcomes: list[tuple[str, int | None, str]]
) -> None:
    table.script(command, *outcomes)
    table.say(ASKED)
    if table.plans:
        table.decide("approve")
    for _ in range(4):
        if table.concluded is None:
            table.land()
    assert table.concluded
    assert table.concluded["outcome"] == "blocked"


def test_a_name_that_is_taken_is_asked_about(table: Table) -> None:
    created(table)
    assert "already a container called web" in table.say(ASKED)
    assert "plan waits for you" in table.say("then call it web2")
    assert "--hostname web2" in table.plans[-1][1]["steps"][0]["command"]


def test_destroying_what_is_not_there_asks_which(table: Table) -> None:
    assert "I cannot tell which container you mean" in table.say("destroy it")
    assert "media" in table.say("sorry, I mean media, destroy media") or table.plans
    assert table.plans[-1][1]["steps"][0]["command"] == "pct destroy 103"
    table.decide("approve")
    assert "media" not in table.guest_names()


def test_a_denied_destruction_leaves_it(table: Table) -> None:
    created(table)
    table.say("delete web")
    assert "does not happen" in table.decide("deny")
    assert "web" in table.guest_names()


def test_what_needs_attention(table: Table) -> None:
    report = table.say("what needs attention? is the disk filling?")
    assert table.ran == ["uptime", "df -h", "free -m", "pct list"]
    assert "Nothing on practice is urgent" in report
    assert "media (103) is stopped" in report
    assert table.concluded
    assert table.concluded["outcome"] == "verified"


def test_an_update_runs_outside_the_turn(table: Table) -> None:
    table.slow = ("pct exec",)
    table.allowed = True
    assert "go on by myself" in table.say("update the container")
    assert "is updated" in table.land()
    assert table.ran == ["pct list", "pct exec 101 -- apt-get -y dist-upgrade", "pct status 101"]


def test_an_update_waits_for_its_approval(table: Table) -> None:
    assert "waits for your approval" in table.say("update the container")
    denied: dict[str, Any] = {"event": "approval_decided", "verdict": "deny", "note": "later"}
    said = table.tell(execution=table.executions[-1].id, **denied)
    assert "You wrote: “later”" in said
    assert table.ran == ["pct list"]


def test_anything_else_is_answered_honestly(table: Table) -> None:
    assert "rehearsal model" in table.say("write me a poem")
    assert table.ran == []


def test_after_the_end_an_event_is_noted_and_a_word_answered(table: Table) -> None:
    created(table)
    assert "Noted" in table.tell(event="turn_interrupted", detail="Nomos restarted")
    assert "rehearsal model" in table.say("thanks")


def test_an_interrupted_turn_goes_on_where_it_was(table: Table) -> None:
    table.say(ASKED)
    table.decide("approve")
    table.tell(event="turn_interrupted", detail="Nomos restarted")
    table.land()
    assert table.concluded
    assert table.ran.count(CREATE) == 1


def test_it_decides_from_the_messages_alone(table: Table) -> None:
    created(table)
    for length in range(1, len(table.messages) + 1, 2):
        request = {"messages": table.messages[:length]}
        first, second = next_words(request), next_words(request)
        assert [block.get("text") for block in first.blocks] == [block.get("text") for block in second.blocks]
        assert [block.get("input") for block in first.blocks] == [block.get("input") for block in second.blocks]
        ids = [block["id"] for answer in (first, second) for block in answer.blocks if block["type"] == "tool_use"]
        assert len(set(ids)) == len(ids)


def test_arguments_take_the_types_that_a_tool_asks_for(table: Table) -> None:
    table.say(ASKED)
    table.decide("approve")
    properties = {
        "host": {"type": "string"},
        "vmid": {"type": "string"},
        "memory": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "unprivileged": {"type": "boolean"},
        "hostname": {},
    }
    tools = [{"name": "pct_create", "input_schema": {"type": "object", "properties": properties}}]
    answer = next_words({"messages": table.messages[:-3], "tools": tools})
    assert answer.blocks[1]["input"] == {
        "host": "practice",
        "vmid": "105",
        "hostname": "web",
        "memory": 512,
        "unprivileged": True,
    }


def test_a_conclusion_that_is_refused_waits_for_what_still_runs(table: Table) -> None:
    created(table)
    result = table.messages[-1]["content"][-1]
    result |= {"content": "Not concluded: 1 still runs.", "is_error": True}
    table.messages[-1]["content"].append({"type": "text", "text": "Nomos to the agent: go on."})
    table.concluded = None
    assert "still runs" in table.turn()
    table.tell(event="execution_ended", execution="1", state="succeeded", exit_code=0, output="")
    assert table.concluded


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        (ASKED, Wish.CONTAINER),
        ("Please create an LXC named db-1 with 2 GB", Wish.CONTAINER),
        ("i need a debian container", Wish.CONTAINER),
        ("Destroy it.", Wish.DESTROY),
        ("please delete web", Wish.DESTROY),
        ("Update the container", Wish.UPDATE),
        ("Is the disk filling up?", Wish.ATTENTION),
        ("what needs attention", Wish.ATTENTION),
        ("go ahead", None),
        ("yes", None),
        ("hello", None),
    ],
)
def test_wishes(text: str, wish: Wish | None) -> None:
    assert wish_of(text) is wish


def test_what_is_wanted() -> None:
    assert wanted(["a container"]) == Wanted("web", 512, 1, 4)
    assert wanted(['named "Shop", 2 GB of memory, 8 GB disk, 2 cores']) == Wanted("shop", 2048, 2, 8)
    assert wanted(["called web", "256 MB", "no, 1GiB ram"]) == Wanted("web", 1024, 1, 4)


def test_guests_are_read_with_and_without_a_lock() -> None:
    listing = (
        "VMID       Status     Lock         Name                \n"
        "101        running                 dns                 \n"
        "103        stopped    backup       media               \n"
    )
    assert [(guest.vmid, guest.status, guest.name) for guest in guests(listing)] == [
        (101, "running", "dns"),
        (103, "stopped", "media"),
    ]


def words_of(table: Table) -> list[str]:
    return [
        block["text"]
        for message in table.messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "text"
    ]
