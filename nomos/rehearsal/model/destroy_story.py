"""The story of a container that goes: it still runs, so destroying it fails at first, and the agent sees to that."""

from __future__ import annotations

from nomos.rehearsal.model.history import Call, Outcome
from nomos.rehearsal.model.protocol import Say
from nomos.rehearsal.model.story import HOST, Guest, Story, denied, guests, say, waiting
from nomos.rehearsal.model.wishes import target_of


def play(story: Story) -> Say:
    """Return what comes next in the story."""
    look = story.last("pct_list")
    if look is None:
        return story.call("Let me see what is there.", ("pct_list", {"host": HOST}))
    plan = story.last("propose_plan")
    if plan is None:
        return _propose(story, look)
    outcome = story.history.plan_outcome(plan)
    if outcome.state == "waiting":
        return say("This cannot be undone, so it waits for your approval. Nothing has been changed so far.")
    if outcome.state == "error":
        return story.blocked(f"The plan could not be proposed: {outcome.last_line}. Nothing was changed.")
    vmid = int(plan.arguments["steps"][0]["command"].split()[2])
    if outcome.state != "approved":
        return denied(outcome, f"destroying container {vmid}")
    return _destroy(story, plan, vmid)


def _propose(story: Story, look: Call) -> Say:
    outcome = story.outcome(look)
    if outcome.open:
        return waiting(outcome, "looking what is there")
    if not outcome.ok:
        return story.blocked(f"I could not look at {HOST}: {outcome.last_line}. Nothing was changed.")
    there = guests(outcome.output)
    guest = meant(story, there)
    if guest is None:
        listed = ", ".join(f"{guest.name} ({guest.vmid}, {guest.status})" for guest in there) or "none"
        return say(f"I cannot tell which container you mean. There are: {listed}. Tell me its name or id.")
    plan = {
        "goal": f"Container {guest.vmid} ({guest.name}) on {HOST} is gone",
        "steps": [
            {
                "host": HOST,
                "command": f"pct destroy {guest.vmid}",
                "risk": "destroy",
                "why": f"Removes {guest.name} and its disk for good",
            }
        ],
        "verify": f"pct list no longer shows {guest.vmid}",
    }
    words = f"You mean **{guest.name}**, container {guest.vmid}. Its disk goes with it, and that cannot be undone."
    return story.call(words, ("propose_plan", plan))


def meant(story: Story, there: list[Guest]) -> Guest | None:
    """Return the container that the operator means: named in the request or since, or the one made last."""
    names, ids = [guest.name for guest in there], [guest.vmid for guest in there]
    for text in reversed(story.texts()):
        named = target_of(text, names, ids)
        if named is not None:
            return next(guest for guest in there if named in {guest.vmid, guest.name})
    made = [call.vmid for call in story.history.calls("pct_create") if story.outcome(call).ok]
    return next((guest for guest in there if made and guest.vmid == made[-1]), None)


def _destroy(story: Story, plan: Call, vmid: int) -> Say:
    arguments = {"host": HOST, "vmid": vmid, "reason": f"Destroy container {vmid} as planned"}
    tried = story.last("pct_destroy", after=plan.place)
    if tried is None:
        return story.call("Approved. I destroy it now.", ("pct_destroy", arguments))
    outcome = story.outcome(tried)
    if outcome.open:
        return waiting(outcome, f"destroying container {vmid}")
    if outcome.state == "denied":
        return denied(outcome, f"destroying container {vmid}")
    if not outcome.ok and "is running" in outcome.output:
        return _stop_first(story, plan, tried, outcome)
    return _verify(story, plan, tried, outcome)


def _stop_first(story: Story, plan: Call, tried: Call, failed: Outcome) -> Say:
    vmid = tried.vmid or 0
    if story.tries("pct_destroy", after=plan.place) >= 3:
        return story.blocked(f"Container {vmid} cannot be destroyed: {failed.last_line}.")
    stopped = story.last("pct_stop", after=tried.place)
    if stopped is None:
        arguments = {"host": HOST, "vmid": vmid, "reason": "It has to be stopped before it can be destroyed"}
        words = f"That failed: {failed.last_line}. It is still running, so I stop it first and then try again."
        return story.call(words, ("pct_stop", arguments))
    outcome = story.outcome(stopped)
    if outcome.open:
        return waiting(outcome, f"stopping container {vmid}")
    if outcome.state == "denied":
        return denied(outcome, f"stopping container {vmid}")
    if not outcome.ok and "not running" not in outcome.output:
        return story.blocked(f"Container {vmid} cannot be stopped: {outcome.last_line}. It is still there.")
    arguments = {"host": HOST, "vmid": vmid, "reason": "Destroy it now that it is stopped"}
    return story.call("It is stopped. Once more.", ("pct_destroy", arguments))


def _verify(story: Story, plan: Call, tried: Call, outcome: Outcome) -> Say:
    vmid = tried.vmid or 0
    look = story.last("pct_list", after=tried.place)
    if look is None:
        words = "It says that it is done. I check." if outcome.ok else f"It said: {outcome.last_line}. I check."
        return story.call(words, ("pct_list", {"host": HOST}))
    seen = story.outcome(look)
    if seen.open:
        return waiting(seen, "looking what is left")
    there = guests(seen.output)
    if not seen.ok or any(guest.vmid == vmid for guest in there):
        if outcome.state == "unknown" and seen.ok and story.tries("pct_destroy", after=plan.place) < 3:
            arguments = {"host": HOST, "vmid": vmid, "reason": "It is still there; the last outcome is not known"}
            return story.call("It is still there, so I try once more.", ("pct_destroy", arguments))
        return story.blocked(f"Container {vmid} is still there: {outcome.last_line}.")
    left = ", ".join(f"{guest.name} ({guest.vmid})" for guest in there) or "none"
    return story.conclude(
        f"Container {vmid} is gone, and its disk with it. Left on {HOST}: {left}.",
        verified=True,
        evidence=f"pct list no longer shows {vmid}",
    )
