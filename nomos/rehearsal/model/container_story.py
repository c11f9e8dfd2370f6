"""The story of a new container: look round, propose a plan, create, start, check, report."""

from __future__ import annotations

import re
from typing import Any

from nomos.rehearsal.model.history import Call, Outcome
from nomos.rehearsal.model.protocol import Say
from nomos.rehearsal.model.story import HOST, Guest, Story, denied, guests, say, waiting
from nomos.rehearsal.model.wishes import Wanted, wanted

_FIRST_ID = 105
_LOOKS: tuple[tuple[str, tuple[tuple[str, dict[str, Any]], ...]], ...] = (
    (
        "I will look round first: which hosts there are, and what the practice host runs.",
        (
            ("list_hosts", {}),
            ("run", {"host": HOST, "command": "pveversion", "reason": "Which Proxmox this is"}),
        ),
    ),
    (
        "A Proxmox node, good. Which containers are there already, so that I pick a free id?",
        (("pct_list", {"host": HOST}),),
    ),
    (
        "Next: is there room for a new disk, and which template can I use?",
        (
            ("run", {"host": HOST, "command": "pvesm status", "reason": "Free space on the storages"}),
            ("run", {"host": HOST, "command": "pveam list local", "reason": "Templates that are here already"}),
        ),
    ),
)


def play(story: Story) -> Say:
    """Return what comes next in the story."""
    for words, calls in _LOOKS:
        missing = [(name, given) for name, given in calls if story.last(name, **_key(given)) is None]
        if missing:
            return story.call(words, *missing)
    listing, templates = story.last("pct_list"), story.last("run", command="pveam list local")
    assert listing is not None
    assert templates is not None
    for call in (listing, templates):
        outcome = story.outcome(call)
        if outcome.open:
            return waiting(outcome, "looking round")
        if not outcome.ok:
            return story.blocked(f"I could not look round on {HOST}: {outcome.last_line}. Nothing was changed.")
    template = _template(story.outcome(templates).output)
    if template is None:
        return story.blocked(f"There is no Debian template on {HOST}. Download one first: pveam available shows them.")
    plan = story.last("propose_plan")
    now = wanted(story.texts())
    if plan is None or (
        story.history.plan_outcome(plan).state != "approved" and now != wanted(story.texts(until=plan.place))
    ):
        return _propose(story, now, guests(story.outcome(listing).output), template)
    return _decided(story, plan, wanted(story.texts(until=plan.place)))


def _propose(story: Story, want: Wanted, there: list[Guest], template: str) -> Say:
    same = next((guest for guest in there if guest.name == want.name), None)
    if same is not None:
        return say(
            f"There is already a container called {want.name}: {same.vmid}, {same.status}. Tell me another name, "
            f"or ask me to destroy {want.name} first."
        )
    vmid = _free(there)
    arguments = _create(vmid, template, want)
    steps = [
        (
            _command(arguments),
            f"Create the container from the template that is here: {want.memory} MiB, {want.disk} GiB",
        ),
        (f"pct start {vmid}", "Start it"),
        (f"pct exec {vmid} -- hostname", "Ask it for its name: that shows that it runs and answers"),
    ]
    plan = {
        "goal": f"A small Debian container called {want.name} (id {vmid}) on {HOST}, running",
        "steps": [
            {"host": HOST, "command": command, "risk": "change", "why": why, "undo": f"pct destroy {vmid}"}
            if number == 0
            else {"host": HOST, "command": command, "risk": "change", "why": why}
            for number, (command, why) in enumerate(steps)
        ],
        "verify": f"pct status {vmid} says running, and the container answers with its name",
    }
    words = f"Id {vmid} is free, there is room on local-lvm, and the Debian template is here. This is my plan."
    return story.call(words, ("propose_plan", plan))


def _decided(story: Story, plan: Call, want: Wanted) -> Say:
    outcome = story.history.plan_outcome(plan)
    if outcome.state == "waiting":
        return say(
            "The plan waits for you: press Approve on the card, or write “go ahead”. Nothing has been changed so far."
        )
    if outcome.state == "error":
        return story.blocked(f"The plan could not be proposed: {outcome.last_line}. Nothing was changed.")
    if outcome.state != "approved":
        note = f" You wrote: “{outcome.note}”." if outcome.note else ""
        return say(
            f"Understood, I leave it.{note} Nothing was changed. What should be different: the name, the memory, "
            "the disk, the cores?"
        )
    return _create_it(story, plan, want)


def _create_it(story: Story, plan: Call, want: Wanted) -> Say:
    created = story.last("pct_create", after=plan.place)
    if created is None:
        arguments = _planned(plan)
        return story.call("Approved. I create the container now.", ("pct_create", arguments))
    outcome = story.outcome(created)
    vmid = created.vmid or 0
    if outcome.open:
        return waiting(outcome, f"creating container {vmid}")
    if outcome.state == "denied":
        return denied(outcome, f"creating container {vmid}")
    if not outcome.ok:
        again = _create_failed(story, plan, created, outcome)
        if again is not None:
            return again
    return _start_it(story, created, want)


def _create_failed(story: Story, plan: Call, created: Call, outcome: Outcome) -> Say | None:
    """Say what follows a creation that did not succeed; None where the container is there all the same."""
    vmid = created.vmid or 0
    look = story.last("pct_list", after=created.place)
    if look is None:
        return story.call(
            f"That did not end well: {outcome.last_line}. I look at what is there now.", ("pct_list", {"host": HOST})
        )
    seen = story.outcome(look)
    if seen.open:
        return waiting(seen, "looking what is there")
    if not seen.ok:
        return story.blocked(f"Creating failed ({outcome.last_line}), and I cannot look: {seen.last_line}.")
    there = guests(seen.output)
    is_there = any(guest.vmid == vmid for guest in there)
    if outcome.state == "unknown" and is_there:
        return None
    if story.tries("pct_create", after=plan.place) >= 2:
        return story.blocked(f"Creating the container failed twice. The last time: {outcome.last_line}.")
    if is_there:
        free = _free(there)
        return story.call(
            f"Id {vmid} is taken meanwhile, {free} is free. I take that one.",
            ("pct_create", {**created.arguments, "vmid": free}),
        )
    if "400" in outcome.output:
        return story.blocked(f"Proxmox does not accept this container: {outcome.last_line}.")
    return story.call(f"There is no container {vmid}, so I try once more.", ("pct_create", created.arguments))


def _start_it(story: Story, created: Call, want: Wanted) -> Say:
    vmid = created.vmid or 0
    started = story.last("pct_start", after=created.place, vmid=vmid)
    if started is None:
        arguments = {"host": HOST, "vmid": vmid, "reason": f"Start {want.name}"}
        return story.call(f"Container {vmid} is created. I start it.", ("pct_start", arguments))
    outcome = story.outcome(started)
    if outcome.open:
        return waiting(outcome, f"starting container {vmid}")
    if outcome.state == "denied":
        return denied(outcome, f"starting container {vmid}")
    command = f"pct status {vmid}"
    status = story.last("run", after=started.place, command=command)
    if status is None:
        words = "Started. Does it run?" if outcome.ok else f"The start said: {outcome.last_line}. Does it run?"
        return story.run(words, command, "Whether the container runs")
    seen = story.outcome(status)
    if seen.open:
        return waiting(seen, "looking at its state")
    if "status: running" not in seen.output:
        if story.tries("pct_start", after=created.place, vmid=vmid) >= 2:
            return story.blocked(f"Container {vmid} does not start: {outcome.last_line}.")
        arguments = {"host": HOST, "vmid": vmid, "reason": f"Start {want.name} once more"}
        return story.call(f"It does not run ({seen.last_line}). I start it once more.", ("pct_start", arguments))
    return _check_it(story, status, vmid, want)


def _check_it(story: Story, status: Call, vmid: int, want: Wanted) -> Say:
    command = f"pct exec {vmid} -- hostname"
    asked = story.last("run", after=status.place, command=command)
    if asked is None:
        return story.run("It runs. Last check: does it answer from inside?", command, "Whether it answers, and as whom")
    outcome = story.outcome(asked)
    if outcome.open:
        return waiting(outcome, "asking the container for its name")
    if outcome.state == "denied":
        return denied(outcome, "asking the container for its name")
    if want.name not in outcome.output.split():
        if story.tries("run", after=status.place, command=command) >= 2:
            return story.blocked(f"Container {vmid} runs, but does not answer with its name: {outcome.last_line}.")
        return story.run(f"It did not answer as it should ({outcome.last_line}). Once more.", command, "Ask again")
    return story.conclude(
        f"Done. **{want.name}** is container {vmid} on {HOST}: Debian 12, {want.memory} MiB of memory, "
        f"{want.disk} GiB of disk, unprivileged, address by DHCP. It runs and answers with its name.",
        verified=True,
        evidence=f"pct status {vmid}: running. pct exec {vmid} -- hostname: {want.name}",
    )


def _create(vmid: int, template: str, want: Wanted) -> dict[str, Any]:
    return {
        "host": HOST,
        "vmid": vmid,
        "ostemplate": template,
        "hostname": want.name,
        "memory": want.memory,
        "cores": want.cores,
        "rootfs": f"local-lvm:{want.disk}",
        "net0": "name=eth0,bridge=vmbr0,ip=dhcp",
        "unprivileged": 1,
        "reason": f"Create the container {want.name} as planned",
    }


def _command(arguments: dict[str, Any]) -> str:
    options = [name for name in arguments if name not in {"host", "vmid", "ostemplate", "reason"}]
    words = [f"--{name} {arguments[name]}" for name in options]
    return " ".join([f"pct create {arguments['vmid']} {arguments['ostemplate']}", *words])


def _planned(plan: Call) -> dict[str, Any]:
    """Return the arguments that make the command of the plan's first step."""
    words = plan.arguments["steps"][0]["command"].split()
    names = (word.removeprefix("--") for word in words[4::2])
    values = (int(word) if word.isdecimal() else word for word in words[5::2])
    options = dict(zip(names, values, strict=True))
    return {"host": HOST, "vmid": int(words[2]), "ostemplate": words[3], **options, "reason": "Step 1 of the plan"}


def _free(there: list[Guest]) -> int:
    return max([_FIRST_ID - 1, *(guest.vmid for guest in there)]) + 1


def _template(listing: str) -> str | None:
    found = sorted(re.findall(r"\S+:vztmpl/debian-\S+", listing))
    return found[-1] if found else None


def _key(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"command": arguments["command"]} if "command" in arguments else {}
