import assert from "node:assert/strict";
import { test } from "node:test";
import { State, seqOf } from "../../static/js/state.js";

const block = (id, position, text = "") => ({ id, message_id: "m1", position, kind: "text", text });
const message = (id, blocks = [], extra = {}) => ({ id, session_id: "s1", role: "agent", status: "working", blocks, ...extra });
const session = (id, state = "working") => ({ id, title: id, state, archived: false });
const snapshot = (extra = {}) => ({
  session: session("s1"), messages: [message("m1", [block("b1", 0, "Hé😀")])], executions: [], approvals: [], outputs: [],
  plan: null, plans: [], window: null, older: false, seq: "e1.10", ...extra,
});

function loaded(extra) {
  const state = new State();
  state.load(snapshot(extra));
  return state;
}

const feed = (state, seq, type, data) => state.apply({ type: `nomos.${type}`, data }, `e1.${seq}`);
const text = (state, id = "b1") => state.messages.get("m1").blocks.find((each) => each.id === id)?.text;

test("what the snapshot holds already is not applied again", () => {
  const state = loaded();
  assert.deepEqual(feed(state, 10, "message.changed", message("m1", [])), { changed: [] });
  assert.equal(text(state), "Hé😀");
  assert.equal(state.cursor, "e1.10");
});

test("a thing is replaced by its present state", () => {
  const state = loaded();
  assert.deepEqual(feed(state, 11, "execution.changed", { id: "x1", state: "running" }).changed, ["execution:x1"]);
  feed(state, 12, "execution.changed", { id: "x1", state: "succeeded" });
  assert.equal(state.executions.get("x1").state, "succeeded");
  assert.deepEqual(feed(state, 12, "execution.changed", { id: "x1", state: "running" }).changed, []);
});

test("text grows by code points: equal appends, less drops the overlap, greater is a gap", () => {
  const state = loaded();
  const delta = (seq, offset, piece) => feed(state, seq, "message.delta", { message_id: "m1", block_id: "b1", offset, text: piece });
  assert.deepEqual(delta(11, 3, " wörld").changed, ["message:m1"]);
  assert.equal(text(state), "Hé😀 wörld");
  assert.deepEqual(delta(12, 2, "😀 wörld!").changed, ["message:m1"]);
  assert.equal(text(state), "Hé😀 wörld!");
  assert.deepEqual(delta(13, 0, "Hé").changed, []);
  assert.equal(delta(14, 11, "x").gap, true);
  assert.equal(text(state), "Hé😀 wörld!");
});

test("growth of what is not known is a gap", () => {
  const state = loaded();
  assert.equal(feed(state, 11, "message.delta", { message_id: "m1", block_id: "b9", offset: 0, text: "x" }).gap, true);
  assert.equal(feed(state, 12, "block.changed", { ...block("b9", 0), message_id: "m9" }).gap, true);
});

test("blocks come, change, keep their order and go", () => {
  const state = loaded();
  feed(state, 11, "block.changed", block("b3", 2, "three"));
  feed(state, 12, "block.changed", block("b2", 1, "two"));
  feed(state, 13, "block.changed", block("b3", 2, "three!"));
  assert.deepEqual(state.messages.get("m1").blocks.map((each) => each.text), ["Hé😀", "two", "three!"]);
  feed(state, 14, "block.changed", { ...block("b2", 1), removed: true });
  assert.deepEqual(state.messages.get("m1").blocks.map((each) => each.id), ["b1", "b3"]);
});

test("after a block was replaced, growth counts from its new text", () => {
  const state = loaded();
  feed(state, 11, "message.delta", { message_id: "m1", block_id: "b1", offset: 3, text: "abc" });
  feed(state, 12, "block.changed", block("b1", 0, "N"));
  feed(state, 13, "message.delta", { message_id: "m1", block_id: "b1", offset: 1, text: "ew" });
  assert.equal(text(state), "New");
});

test("the operator's words are there at once and settle under their client_id", () => {
  const state = loaded();
  state.say("c1", "hello", "s1");
  state.failed("c1", "no answer");
  assert.equal(state.unsent.get("c1").status, "failed");
  state.say("c1", "hello", "s1");
  feed(state, 11, "message.changed", message("m2", [], { role: "operator", client_id: "c1" }));
  assert.equal(state.unsent.size, 0);
  state.confirm(message("m2", [], { role: "operator", client_id: "c1" }));
  assert.equal(state.messages.size, 2);
});

test("an answer that arrives before the feed does is kept, and not doubled", () => {
  const state = loaded();
  state.say("c1", "hello", "s1");
  state.confirm(message("m2", [], { role: "operator", client_id: "c1" }));
  assert.equal(state.unsent.size, 0);
  feed(state, 11, "message.changed", message("m2", [], { role: "operator", client_id: "c1" }));
  assert.deepEqual([...state.messages.keys()], ["m1", "m2"]);
});

test("other sessions change only the list", () => {
  const state = loaded();
  assert.deepEqual(feed(state, 11, "session.changed", session("s2", "waiting")).changed, ["sessions"]);
  assert.deepEqual(feed(state, 12, "session.changed", session("s1", "done")).changed, ["sessions", "session"]);
  assert.equal(state.session.state, "done");
  assert.equal(state.sessions.get("s2").state, "waiting");
});

test("an older page goes before what is here, and never over it", () => {
  const state = loaded({ older: true });
  const plans = [{ id: "p0", goal: "old" }];
  state.prepend({ messages: [message("m0"), message("m1")], executions: [], outputs: [], plans, older: false });
  assert.deepEqual([...state.plans.keys()], ["p0"]);
  assert.deepEqual([...state.messages.keys()], ["m0", "m1"]);
  assert.equal(text(state), "Hé😀");
  assert.equal(state.older, false);
});

test("the state reached by events is the state of a later snapshot, wherever the stream was cut", () => {
  const events = [
    ["block.changed", block("b2", 1)],
    ["message.delta", { message_id: "m1", block_id: "b2", offset: 0, text: "naïve " }],
    ["execution.changed", { id: "x1", state: "running" }],
    ["message.delta", { message_id: "m1", block_id: "b2", offset: 6, text: "👩‍🚀 café" }],
    ["execution.changed", { id: "x1", state: "failed" }],
    ["message.delta", { message_id: "m1", block_id: "b2", offset: 14, text: "." }],
  ];
  const whole = loaded();
  events.forEach(([type, data], at) => feed(whole, 11 + at, type, structuredClone(data)));
  for (let cut = 0; cut <= events.length; cut += 1) {
    const state = loaded();
    const send = (from, to) => events.slice(from, to).forEach(([type, data], at) => feed(state, 11 + from + at, type, structuredClone(data)));
    send(0, cut);
    send(0, events.length); // a resumed stream may repeat
    assert.deepEqual([...state.messages.values()], [...whole.messages.values()]);
    assert.deepEqual([...state.executions.values()], [...whole.executions.values()]);
  }
});

test("the seq of a cursor", () => {
  assert.equal(seqOf("a-b.c.12"), 12);
  assert.equal(seqOf(null), -1);
  assert.equal(seqOf("junk"), -1);
});
