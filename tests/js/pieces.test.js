import assert from "node:assert/strict";
import { test } from "node:test";
import { Pieces } from "../../static/js/pieces.js";

const encoder = new TextEncoder();
const size = (text) => encoder.encode(text).length;

/** An output as the server stores it, and a reader of it. */
function output(stored, { largest = Infinity } = {}) {
  const bytes = encoder.encode(stored);
  const seen = { text: "", fetched: [] };
  const range = async (offset, limit) => {
    const end = Math.min(bytes.length, offset + Math.min(limit, largest));
    seen.fetched.push(offset);
    return { offset, end, text: new TextDecoder().decode(bytes.subarray(offset, end)) };
  };
  seen.pieces = new Pieces({ range, write: (text) => (seen.text += text) });
  return seen;
}

const piece = (offset, text) => ({ offset, end: offset + size(text), text });

test("pieces in order are handed on as they come", async () => {
  const seen = output("");
  seen.pieces.open();
  await seen.pieces.push(piece(0, "größe "));
  await seen.pieces.push(piece(size("größe "), "1"));
  assert.equal(seen.text, "größe 1");
  assert.deepEqual(seen.fetched, []);
});

test("a repeat is dropped, an overlap cut off by bytes", async () => {
  const seen = output("");
  seen.pieces.open();
  await seen.pieces.push(piece(0, "äöü"));
  await seen.pieces.push(piece(0, "äöü"));
  await seen.pieces.push(piece(2, "öüx"));
  assert.equal(seen.text, "äöüx");
});

test("a gap is fetched, in parts", async () => {
  const seen = output("0123456789", { largest: 3 });
  seen.pieces.open({ offset: 0, end: 2, text: "01" });
  await seen.pieces.push(piece(8, "89"));
  assert.equal(seen.text, "0123456789");
  assert.deepEqual(seen.fetched, [2, 5, 8]);
});

test("pieces that arrive while a gap is fetched come once and in order", async () => {
  const seen = output("abcdefghij");
  seen.pieces.open();
  await Promise.all([seen.pieces.push(piece(4, "ef")), seen.pieces.push(piece(6, "gh")), seen.pieces.push(piece(8, "ij"))]);
  assert.equal(seen.text, "abcdefghij");
});

test("a tail says what is before it", () => {
  const seen = output("");
  seen.pieces.open({ offset: 5000, end: 5003, text: "end" });
  assert.equal(seen.pieces.skipped, 5000);
  assert.equal(seen.text, "end");
});

test("what cannot be fetched rejects, and is fetched the next time", async () => {
  let works = false;
  let text = "";
  const range = async (offset) => {
    if (!works) throw new Error("no answer");
    return { offset, end: 2, text: "ok" };
  };
  const pieces = new Pieces({ range, write: (more) => (text += more) });
  pieces.open();
  await assert.rejects(pieces.reach(2));
  works = true;
  await pieces.reach(2);
  assert.equal(text, "ok");
});

test("a server that has less than was said does not make it ask for ever", async () => {
  const seen = output("ab");
  seen.pieces.open();
  await seen.pieces.reach(9);
  assert.equal(seen.text, "ab");
  assert.deepEqual(seen.fetched, [0, 2]);
});
