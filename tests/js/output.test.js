import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LIVE, Output } from "../../static/js/output.js";

const CASES = JSON.parse(readFileSync(new URL("./cases/output.json", import.meta.url)));
const plain = (line) => line.map(({ text }) => text).join("").trimEnd();

/** All lines of an output that is written in pieces of `size` characters. */
function shown(input, size = Infinity) {
  const output = new Output();
  const settled = [];
  for (let at = 0; at < input.length; at += size) {
    output.write(input.slice(at, at + size));
    settled.push(...output.take().settled);
  }
  return [...settled, ...output.live];
}

const lines = (input, size) => {
  const all = shown(input, size).map(plain);
  while (all.length && !all.at(-1)) all.pop();
  return all;
};

for (const { name, input, screen } of CASES) {
  test(`${name}: what a terminal shows, however it is cut`, () => {
    for (const size of [1, 2, 3, 7, 64, 1000]) assert.deepEqual(lines(input, size), screen, `pieces of ${size}`);
  });
}

test("colours become classes, true colours the nearest of the sixteen", () => {
  const [line] = shown("a\x1b[1;31mb\x1b[0;38;5;46mc\x1b[38;2;250;20;20md\x1b[7;4me\x1b[0mf\x1b[48;5;4mg\x1b[49mh");
  assert.deepEqual(
    line.map(({ text, style }) => [text, style]),
    [["a", ""], ["b", "f1 b"], ["c", "f2"], ["d", "f1"], ["e", "f1 u v"], ["f", ""], ["g", "g4"], ["h", ""]],
  );
});

test("titles, links and device strings are dropped, and nothing of them becomes text", () => {
  assert.deepEqual(lines("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bPq123\x1b\\b\x1b[?25l\x1b(B"), ["alinkb"]);
});

test("a sequence that never ends is given up", () => {
  assert.match(lines(`\x1b[${"1;".repeat(3000)}`)[0], /^\[1;1;/);
});

test("settled lines come once, and only what changed is drawn again", () => {
  const output = new Output();
  output.write(Array.from({ length: LIVE + 10 }, (_, at) => `line ${at}\n`).join(""));
  const first = output.take();
  assert.equal(first.settled.length, 11);
  assert.equal(plain(first.settled[0]), "line 0");
  assert.equal(output.live.length, LIVE);
  output.write("x");
  assert.deepEqual(output.take(), { settled: [], dirty: [LIVE - 1] });
});

test("100,000 lines in well under five seconds", () => {
  const output = new Output();
  const started = performance.now();
  let count = 0;
  for (let at = 0; at < 100_000; at += 500) {
    output.write(Array.from({ length: 500 }, (_, n) => `\x1b[32mok\x1b[0m ${at + n} some words of output\n`).join(""));
    count += output.take().settled.length;
  }
  assert.equal(count, 100_001 - LIVE);
  assert.ok(performance.now() - started < 5000);
});
