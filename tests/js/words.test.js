import assert from "node:assert/strict";
import { test } from "node:test";
import { readable } from "../../static/js/text.js";
import { duration, left } from "../../static/js/time.js";
import { connectionWords, decisionWords, eventWords, executionWords, planAllows, SESSION, windowWords } from "../../static/js/words.js";

const execution = (state, extra = {}) => ({ state, exit_code: null, started_at: "2026-12-01T10:00:00Z", ended_at: "2026-12-01T10:00:04.200Z", ...extra });

test("every end of an execution is said in words", () => {
  const said = (...args) => executionWords(execution(...args)).text;
  assert.equal(said("succeeded", { exit_code: 0 }), "exit 0 · 4.2 s");
  assert.equal(said("failed", { exit_code: 255 }), "exit 255 · 4.2 s");
  assert.equal(said("timed_out"), "timed out after 4.2 s");
  assert.equal(said("cancelled"), "stopped · 4.2 s");
  assert.equal(said("unknown"), "outcome unknown");
  assert.equal(said("unreachable", { started_at: null, ended_at: null }), "host unreachable, not started");
  assert.equal(said("running", { cancel_requested_at: "2026-12-01T10:00:01Z", ended_at: null }), "stopping…");
  assert.equal(said("waiting", { started_at: null }), "waits for approval");
});

test("every state of a session has words, a tone and an icon", () => {
  for (const state of ["idle", "working", "waiting", "parked", "done", "blocked", "failed", "stopped"]) {
    assert.deepEqual(Object.keys(SESSION[state]), ["label", "tone", "icon"]);
  }
});

test("an event is told as a fact, never as it was stored", () => {
  const stored = (event) => `Nomos event, not the operator's words: ${JSON.stringify(event)}`;
  assert.deepEqual(eventWords(stored({ event: "execution_ended", state: "failed", exit_code: 2, command: "ls", host: "nas" })), {
    tone: "bad", text: "Result came in: exit 2", command: "ls", host: "nas",
  });
  assert.equal(eventWords(stored({ event: "plan_decided", verdict: "deny" })).text, "Plan denied");
  assert.equal(eventWords(stored({ event: "something_new" })).text, "something new");
  assert.equal(eventWords("not json").text, "not json");
});

test("a plan's card says what its answers allow", () => {
  const plan = { steps: [{ host: "a" }, { host: "b" }, { host: "a" }] };
  assert.equal(planAllows(plan, "14:02").plan, "Exactly these 3 commands.");
  assert.match(planAllows(plan, "14:02").window, /^Exactly these 3 commands\. Until 14:02, .* on a and b run without asking; destroying asks again\.$/);
});

test("a plan's card says what follows from leaving steps out", () => {
  const plan = { steps: [{ host: "a" }, { host: "b" }, { host: "a" }] };
  const some = planAllows(plan, "14:02", [plan.steps[0], plan.steps[2]]);
  assert.equal(some.plan, "Exactly the 2 commands chosen of 3.");
  assert.match(some.window, /Until 14:02, .* on a run without asking; what you left out, and destroying, asks again\.$/);
  assert.match(planAllows(plan, "14:02", []).window, /^Nothing/);
  assert.equal(planAllows({ steps: [{ host: "a" }] }, "14:02").plan, "Exactly this command.");
});

test("a decision on some of a plan says how many", () => {
  const decided = { state: "approved", decided_by: "ann", decided_at: null, route: "button", scope: "plan" };
  assert.equal(decisionWords(decided, [{ approved: true }, { approved: false }]), "Approved 1 of 2 steps by ann");
  assert.equal(decisionWords(decided, [{ approved: true }, { approved: true }]), "Approved by ann");
});

test("the receipt of a window is one line", () => {
  const told = (event) => eventWords(JSON.stringify({ event: "window_ended", ...event })).text;
  assert.equal(told({ why: "expired", used: [{}, {}] }), "Assent window over: its time was up · 2 commands ran under it");
  assert.equal(told({ why: "revoked", used: [] }), "Assent window over: revoked · nothing ran under it");
  assert.equal(told({ why: "replaced", used: Array(50).fill({}), more: 3 }).split(" · ")[1], "53 commands ran under it");
  const steps = [{ approved: true }, { approved: false }];
  assert.equal(eventWords(JSON.stringify({ event: "plan_decided", verdict: "approve", steps })).text, "Plan approved: 1 of 2 steps");
});

test("a window says what it covers, and until when", () => {
  const at = Date.parse("2026-12-01T10:00:00Z");
  const covers = { hosts: ["a"], risk: "change", plan_id: "p", until: "2026-12-01T10:10:00Z" };
  const window = { covers, expires_at: "2026-12-01T10:30:00Z" };
  assert.deepEqual(windowWords(window, at), { text: "Changes on a run without asking", until: "2026-12-01T10:10:00Z" });
  const later = windowWords(window, at + 11 * 60000);
  assert.deepEqual(later, { text: "The approved plan goes on by itself; anything else asks", until: "2026-12-01T10:30:00Z" });
  assert.match(windowWords({ ...window, covers: { hosts: [], risk: "read", plan_id: null, until: null } }, at).text, /every change still asks/);
});

test("a decision says who, how and what for", () => {
  const words = decisionWords({ state: "denied", decided_by: "ann", decided_at: "2026-12-01T10:00:00Z", route: "chat", note: "not now" });
  assert.match(words, /^Denied by ann \(chat\) at .*: “not now”$/);
});

test("the connection says what is true", () => {
  const said = (status, health = null) => connectionWords({ since: 0, reason: null, ...status }, health).text;
  assert.equal(said({ state: "live" }), "live");
  assert.equal(said({ state: "live" }, { worker: "away", model: "ok", since: null }), "worker away");
  assert.equal(said({ state: "live" }, { worker: "ok", model: "away" }), "model away");
  assert.equal(said({ state: "reconnecting" }, { worker: "ok" }), "reconnecting");
  assert.equal(said({ state: "ended", reason: "signed_out" }), "signed out");
});

test("a command cannot hide anything", () => {
  assert.deepEqual(readable("ls \u202egpj.x\u200b"), [
    { text: "ls ", hidden: false },
    { text: "U+202E", hidden: true },
    { text: "gpj.x", hidden: false },
    { text: "U+200B", hidden: true },
  ]);
  assert.deepEqual(readable("a\n\tb é😀"), [{ text: "a\n\tb é😀", hidden: false }]);
  assert.deepEqual(readable(""), [{ text: "", hidden: false }]);
});

test("times are short and plain", () => {
  assert.deepEqual([0.44, 9.96, 12.9, 65, 120, 3840, 7200].map((s) => duration(s)), ["0.4 s", "10.0 s", "12 s", "1 min 5 s", "2 min", "1 h 4 min", "2 h"]);
  assert.deepEqual([1800, 61, 60, 1].map(left), ["30 min", "2 min", "60 s", "1 s"]);
});
