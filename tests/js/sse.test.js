import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser } from "../../static/js/sse.js";

const STREAM =
  "\ufeffretry: 2000\n: nomos\n\nid: e1.1\ndata: {\"a\":1}\n\nevent: current\ndata: {}\n\n: beat\n\nid: e1.2\n\n" +
  "data: first\r\ndata: second\r\n\r\ndata:no space\rdata\r\r";
const FRAMES = [
  { event: "message", data: '{"a":1}', id: "e1.1" },
  { event: "current", data: "{}", id: undefined },
  { event: "message", data: null, id: "e1.2" },
  { event: "message", data: "first\nsecond", id: undefined },
  { event: "message", data: "no space\n", id: undefined },
];

test("a stream gives the same frames however it is cut", () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const parser = new SseParser();
    const frames = [];
    for (let at = 0; at < STREAM.length; at += size) frames.push(...parser.push(STREAM.slice(at, at + size)));
    frames.push(...parser.push("x"));
    assert.deepEqual(frames, FRAMES, `pieces of ${size}`);
    assert.equal(parser.retry, 2000);
  }
});

test("a frame that the stream breaks off in is not given, nor its id", () => {
  const parser = new SseParser();
  assert.deepEqual(parser.push('id: e1.9\ndata: {"half":'), []);
});

test("an id with a NUL is ignored, as the format says", () => {
  assert.deepEqual(new SseParser().push("id: a\0b\ndata: x\n\n"), [{ event: "message", data: "x", id: undefined }]);
});
