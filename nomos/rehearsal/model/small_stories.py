"""Two short stories: a look at what needs attention, and an update that takes a while."""

from __future__ import annotations

import re

from nomos.rehearsal.model.destroy_story import meant
from nomos.rehearsal.model.history import Call
from nomos.rehearsal.model.protocol import Say
from nomos.rehearsal.model.story import HOST, Guest, Story, denied, guests, say, waiting

_FULL = 85  # percent of a file system from which on it needs attention


def attention(story: Story) -> Say:
    """Look at load, disks, memory and containers, and say what matters."""
    rounds = (
        ("I look at load and disks first.", ("uptime", "df -h")),
        ("And at memory and the containers.", ("free -m", "pct list")),
    )
    seen: dict[str, Call] = {}
    for words, commands in rounds:
        missing = [command for command in commands if _looked(story, command) is None]
        if missing:
            return story.call(words, *(_look(command) for command in missing))
        for command in commands:
            call = _looked(story, command)
            assert call is not None
            if story.outcome(call).open:
                return waiting(story.outcome(call), command)
            seen[command] = call
    failed = [(command, story.outcome(call)) for command, call in seen.items() if not story.outcome(call).ok]
    if failed:
        command, outcome = failed[0]
        return story.blocked(f"I could not see everything: {command} said {outcome.last_line}.")
    return _summary(story, {command: story.outcome(call).output for command, call in seen.items()})


def _summary(story: Story, outputs: dict[str, str]) -> Say:
    disks = re.findall(r"(\d+)% (/\S*)$", outputs["df -h"], re.MULTILINE)
    fullest = max(((int(used), mount) for used, mount in disks), default=(0, "/"))
    full = [f"{mount} is {used} % full" for used, mount in disks if int(used) >= _FULL]
    stopped = [
        f"{guest.name} ({guest.vmid}) is stopped" for guest in guests(outputs["pct list"]) if guest.status == "stopped"
    ]
    load = re.search(r"load average: ([\d.]+)", outputs["uptime"])
    facts = [f"load {load[1]}"] if load else []
    facts.append(f"the fullest file system is {fullest[1]} with {fullest[0]} %")
    found = "; ".join([*full, *stopped])
    words = f"Nothing on {HOST} is urgent" if not full else f"On {HOST} the disk needs you"
    detail = f" Worth knowing: {found}." if found else ""
    return story.conclude(f"{words}: {', '.join(facts)}.{detail}", verified=True, evidence=", ".join(facts))


def _look(command: str) -> tuple[str, dict[str, str]]:
    if command == "pct list":
        return "pct_list", {"host": HOST}
    return "run", {"host": HOST, "command": command, "reason": "A look at how the host does"}


def _looked(story: Story, command: str) -> Call | None:
    return story.last("pct_list") if command == "pct list" else story.last("run", command=command)


def update(story: Story) -> Say:
    """Update a container: a command that runs for a while, outside the turn."""
    look = story.last("pct_list")
    if look is None:
        return story.call("Let me see which container that is.", ("pct_list", {"host": HOST}))
    seen = story.outcome(look)
    if seen.open:
        return waiting(seen, "looking what is there")
    if not seen.ok:
        return story.blocked(f"I could not look at {HOST}: {seen.last_line}. Nothing was changed.")
    there = guests(seen.output)
    guest = meant(story, there) or next((guest for guest in there if guest.status == "running"), None)
    if guest is None:
        return say(f"There is no running container on {HOST} that I could update.")
    if guest.status != "running":
        return story.blocked(f"{guest.name} ({guest.vmid}) is {guest.status}. Start it first, then it can be updated.")
    return _upgrade(story, guest)


def _upgrade(story: Story, guest: Guest) -> Say:
    command = f"pct exec {guest.vmid} -- apt-get -y dist-upgrade"
    what = f"updating {guest.name}"
    begun = story.last("run", command=command)
    if begun is None:
        words = f"I update {guest.name} ({guest.vmid}). That takes a while."
        return story.run(words, command, f"Bring {guest.name} up to date")
    outcome = story.outcome(begun)
    if outcome.open:
        return waiting(outcome, what)
    if outcome.state == "denied":
        return denied(outcome, what)
    status = f"pct status {guest.vmid}"
    checked = story.last("run", after=begun.place, command=status)
    if checked is None:
        words = (
            "That is through. Does the container still run?" if outcome.ok else f"It said: {outcome.last_line}. I look."
        )
        return story.run(words, status, "Whether the container still runs")
    seen = story.outcome(checked)
    if seen.open:
        return waiting(seen, "looking at its state")
    if not outcome.ok:
        return story.blocked(
            f"The update of {guest.name} ended as {outcome.state}: {outcome.last_line}. {seen.last_line}."
        )
    counted = re.search(r"(\d+) upgraded", outcome.output)
    amount = f"{counted[1]} packages were upgraded" if counted else "all packages are up to date"
    return story.conclude(
        f"{guest.name} ({guest.vmid}) is updated: {amount}, and it still runs.",
        verified=True,
        evidence=f"{command}: exit 0. {status}: {seen.last_line}",
    )
