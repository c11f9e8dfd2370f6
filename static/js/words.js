/** States and facts in words, all in one place. No DOM. A tone is `ok`, `bad`, `wait`, `work` or `quiet`. */

import { clock, duration, secondsBetween } from "./time.js";

const list = new Intl.ListFormat("en", { type: "conjunction" });

/** A session's state. */
export const SESSION = {
  idle: { label: "ready", tone: "quiet", icon: "idle" },
  working: { label: "working", tone: "work", icon: "working" },
  waiting: { label: "waiting for you", tone: "wait", icon: "waiting" },
  parked: { label: "results are in", tone: "wait", icon: "parked" },
  done: { label: "goal verified", tone: "ok", icon: "done" },
  blocked: { label: "blocked", tone: "bad", icon: "blocked" },
  failed: { label: "failed", tone: "bad", icon: "failed" },
  stopped: { label: "stopped", tone: "quiet", icon: "stopped" },
};

/** A host's state. */
export const HOST = {
  untrusted: { label: "key not trusted yet", tone: "wait", icon: "key" },
  untested: { label: "not tested yet", tone: "quiet", icon: "idle" },
  reachable: { label: "reachable", tone: "ok", icon: "done" },
  unreachable: { label: "unreachable", tone: "bad", icon: "failed" },
  key_changed: { label: "shows another key", tone: "bad", icon: "blocked" },
};

/** What the operator does next about a host; null where nothing is to be done. */
export function hostNext(host) {
  if (host.state === "key_changed") return "Nothing runs there until its key is trusted again. If you did not set it up anew, somebody may stand between.";
  if (host.state === "untrusted" && !host.offered_fingerprint) return "Test it: it then shows its key, for you to compare and trust.";
  if (host.state === "untested") return "Test it, to see that Nomos can sign in.";
  return null;
}

/** Session states that need the operator, for list, title and favicon. */
export const NEEDS_YOU = new Set(["waiting", "parked"]);

const UNDER_WAY = new Set(["queued", "starting", "running"]);
/** Whether an execution is on its way or running. */
export const underWay = (execution) => UNDER_WAY.has(execution.state);
/** Whether the way back from an execution is open: known, and not taken already. `all` are the session's executions. */
export function canUndo(execution, all) {
  const gaveUp = new Set(["denied", "withdrawn", "unreachable", "failed", "timed_out", "cancelled"]);
  return Boolean(execution.undo) && !all.some(({ undoes, state }) => undoes === execution.id && !gaveUp.has(state));
}
/** Whether an execution has never been and will never be started. */
export const neverStarts = (execution) => ["denied", "withdrawn"].includes(execution.state);

/** How an execution stands: `{tone, text}`. */
export function executionWords(execution) {
  const { state, exit_code: code, started_at: started, ended_at: ended } = execution;
  const took = started && ended ? ` · ${duration(secondsBetween(started, ended))}` : "";
  const stopping = execution.cancel_requested_at && underWay(execution);
  if (stopping) return { tone: "wait", text: "stopping…" };
  switch (state) {
    case "waiting":
      return { tone: "wait", text: "waits for approval" };
    case "queued":
      return { tone: "work", text: "queued" };
    case "starting":
      return { tone: "work", text: "starting" };
    case "running":
      return { tone: "work", text: `running · ${duration(started ? secondsBetween(started) : 0, { live: true })}` };
    case "succeeded":
      return { tone: "ok", text: `exit ${code ?? 0}${took}` };
    case "failed":
      return { tone: "bad", text: `${code === null || code === undefined ? "failed" : `exit ${code}`}${took}` };
    case "timed_out":
      return { tone: "bad", text: `timed out${took && ` after ${took.slice(3)}`}` };
    case "cancelled":
      return { tone: "quiet", text: `stopped${took}` };
    case "unknown":
      return { tone: "bad", text: "outcome unknown" };
    case "unreachable":
      return { tone: "bad", text: "host unreachable, not started" };
    default:
      return { tone: "quiet", text: state };
  }
}

/** Whether the answer to a command's question must not be shown while it is typed. */
export const asksForSecret = (question) => /password|passphrase|passcode|\bpin\b|token|\botp\b|verification code/i.test(question);

/** What is known beyond the state, for the card's body; null where the state says it all. */
export function executionDetail(execution) {
  if (execution.detail) return execution.detail;
  if (execution.state === "unknown") return "It was started, or may have been. What became of it cannot be known: look before it is run again.";
  if (execution.state === "unreachable") return "Nothing was started on the host. It is safe to try again.";
  return null;
}

/** A decided approval in a sentence; `steps` are those of its plan, if it is one. */
export function decisionWords(approval, steps = []) {
  if (approval.state === "withdrawn") return "Withdrawn: this is no longer asked.";
  const some = approval.state === "approved" ? someOf(steps) : "";
  const verb = approval.state === "approved" ? `Approved${some && ` ${some}`}` : "Denied";
  const once = approval.state === "approved" && approval.scope === "once" ? " once" : "";
  const open = approval.state === "approved" && approval.scope === "window" ? ", with a window" : "";
  const by = approval.decided_by ? ` by ${approval.decided_by}` : "";
  const route = approval.route && approval.route !== "button" ? ` (${approval.route})` : "";
  const at = approval.decided_at ? ` at ${clock(approval.decided_at)}` : "";
  return `${verb}${once}${by}${route}${at}${open}${approval.note ? `: “${approval.note}”` : ""}`;
}

/** `1 command`, `3 commands`. */
export const commands = (count) => (count === 1 ? "1 command" : `${count} commands`);

/** Names joined as in a sentence. */
export const names = (all) => list.format(all);

/** `2 of 3 steps` where not all are approved, else nothing. */
function someOf(steps) {
  const approved = steps.filter((step) => step.approved).length;
  return approved && approved < steps.length ? `${approved} of ${steps.length} steps` : "";
}

/** What approving these steps of a plan allows, by scope. `until` is a time of day. */
export function planAllows(plan, until, chosen = plan.steps) {
  if (!chosen.length) return { plan: "Nothing: choose a step, or deny.", window: "Nothing: choose a step, or deny." };
  const hosts = names([...new Set(chosen.map((step) => step.host))]);
  const all = chosen.length === plan.steps.length;
  const many = all ? `these ${chosen.length} commands` : `the ${commands(chosen.length)} chosen of ${plan.steps.length}`;
  const exactly = `Exactly ${all && chosen.length === 1 ? "this command" : many}.`;
  const again = all ? "destroying asks again" : "what you left out, and destroying, asks again";
  return {
    plan: exactly,
    window: `${exactly} Until ${until}, other commands that change something on ${hosts} run without asking; ${again}.`,
  };
}

/** What approving a command allows, by scope. */
export function commandAllows(approval, until) {
  return {
    once: `Exactly this command on ${approval.host}, once.`,
    window: `Until ${until}, other commands that change something on ${approval.host} run without asking; destroying asks again.`,
  };
}

/** What an open window allows at a time (milliseconds): `{text, until}`, `until` being when that ends. */
export function windowWords({ covers, expires_at: expires }, at) {
  if (covers.risk !== "read" && covers.hosts.length && covers.until && Date.parse(covers.until) > at) {
    return { text: `Changes on ${names(covers.hosts)} run without asking`, until: covers.until };
  }
  if (covers.plan_id) return { text: "The approved plan goes on by itself; anything else asks", until: expires };
  return { text: "Nomos goes on by itself; every change still asks", until: expires };
}

/** Why a window ended. */
const WINDOW_OVER = {
  expired: "its time was up",
  revoked: "revoked",
  denied: "you denied a question",
  replaced: "a later approval took its place",
  clock: "the machine was restarted and its clock cannot be trusted",
};

const EVENT_PREFIX = "Nomos event, not the operator's words: ";

/** An event message's block as a short line: `{tone, text, command?, host?}`. */
export function eventWords(text) {
  let event = null;
  try {
    event = JSON.parse(text.startsWith(EVENT_PREFIX) ? text.slice(EVENT_PREFIX.length) : text);
  } catch {
    return { tone: "quiet", text };
  }
  switch (event.event) {
    case "execution_ended": {
      const ok = event.state === "succeeded";
      const how = event.exit_code === null || event.exit_code === undefined ? event.state.replaceAll("_", " ") : `exit ${event.exit_code}`;
      return { tone: ok ? "ok" : "bad", text: `Result came in: ${how}`, command: event.command, host: event.host };
    }
    case "plan_decided": {
      const some = someOf(event.steps ?? []);
      return event.verdict === "approve" ? { tone: "ok", text: `Plan approved${some && `: ${some}`}` } : { tone: "quiet", text: "Plan denied" };
    }
    case "approval_decided":
      return {
        tone: event.verdict === "approve" ? "ok" : "quiet",
        text: event.verdict === "approve" ? "Approved" : "Denied",
        command: event.command,
        host: event.host,
      };
    case "window_ended": {
      const used = (event.used?.length ?? 0) + (event.more ?? 0);
      return { tone: "quiet", text: `Assent window over: ${WINDOW_OVER[event.why] ?? event.why} · ${used ? `${commands(used)} ran under it` : "nothing ran under it"}` };
    }
    case "snapshot_first":
      return { tone: "quiet", text: "A snapshot first", command: event.command, host: event.host };
    case "no_snapshot":
      return { tone: "wait", text: `No snapshot can be taken (${event.said}). Run it without one?` };
    case "undo_asked":
      return { tone: "quiet", text: "To undo a step", command: event.command, host: event.host };
    case "execution_asks":
      return { tone: "wait", text: `A command seems to ask: ${event.question}`, command: event.command, host: event.host };
    case "changed_since_shown":
      return { tone: "wait", text: "What was asked about changed since it was shown; it is asked anew" };
    case "not_approved_by_chat":
      return { tone: "wait", text: "Not approved by chat: what destroys is only approved on its card" };
    case "continuations_used_up":
      return { tone: "wait", text: "The agent went on by itself as often as this window allows" };
    case "turn_interrupted":
      return { tone: "wait", text: `Interrupted: ${event.detail}` };
    default:
      return { tone: "quiet", text: (event.event ?? "event").replaceAll("_", " ") };
  }
}

/** A tool call without a command of its own, as a short line. */
export function toolWords(name, input) {
  switch (name) {
    case "list_hosts":
      return "Looked at the list of hosts";
    case "get_execution_status":
      return "Looked how a command stands";
    case "read_output":
      return "Read more of an output";
    case "propose_plan":
      return `Proposed a plan: ${input?.goal ?? ""}`;
    default:
      return `${name.replaceAll("_", " ")}${input?.host ? ` on ${input.host}` : ""}`;
  }
}

/** What the connection is like: `{tone, text, title}`. `health` is `{worker, model, since}` or null. */
export function connectionWords(status, health) {
  const since = (at) => clock(typeof at === "number" ? at : Date.parse(at));
  if (status.state === "ended" && status.reason === "signed_out") return { tone: "bad", text: "signed out" };
  if (status.state === "ended" && status.reason !== "closed") return { tone: "bad", text: "feed ended" };
  if (status.state === "reconnecting") return { tone: "wait", text: "reconnecting", title: `No live feed since ${since(status.since)}` };
  if (status.state === "connecting") return { tone: "quiet", text: "connecting" };
  if (health && health.worker !== "ok") {
    return { tone: "bad", text: "worker away", title: `Nothing can be started or answered${health.since ? ` since ${since(health.since)}` : ""}.` };
  }
  if (health?.model && health.model !== "ok") return { tone: "wait", text: "model away", title: health.detail ?? "The model does not answer. Nomos tries again by itself." };
  return { tone: "ok", text: "live", title: "Everything on this page is up to date." };
}
