import assert from "node:assert/strict";
import { test } from "node:test";
import { wordDiff } from "../../static/js/diff.js";

const said = (before, after) => wordDiff(before, after).map(({ kind, text }) => `${{ same: "=", gone: "-", new: "+" }[kind]}${text}`);
const side = (parts, ...kinds) => parts.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text).join("");

test("only the words that differ are marked", () => {
  assert.deepEqual(said("systemctl restart web", "systemctl restart db"), ["=systemctl restart ", "-web", "+db"]);
  assert.deepEqual(said("pct start 105", "pct start 105 --debug"), ["=pct start 105", "+ --debug"]);
  assert.deepEqual(said("rm -rf /srv/old", "rm -rf /"), ["=rm -rf ", "-/srv/old", "+/"]);
  assert.deepEqual(said("a b c d e", "a x c y e"), ["=a ", "-b", "+x", "= c ", "-d", "+y", "= e"]);
});

test("the same command has no difference, and another one is all different", () => {
  assert.deepEqual(said("uptime -p", "uptime -p"), ["=uptime -p"]);
  assert.deepEqual(said("uptime", "reboot"), ["-uptime", "+reboot"]);
  assert.deepEqual(said("", "reboot"), ["+reboot"]);
  assert.deepEqual(said("", ""), []);
});

test("a blank more is a difference", () => {
  assert.deepEqual(said("rm -rf /srv/old", "rm -rf /srv /old"), ["=rm -rf ", "-/srv/old", "+/srv /old"]);
  assert.deepEqual(said("a b", "a  b"), ["=a", "- ", "+  ", "=b"]);
});

test("both sides come out to the byte, whatever they hold", () => {
  const words = ["a", "b", "-x", "  ", " ", "\n", "é😀", "\u202e"];
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  const command = () => Array.from({ length: random(14) }, () => words[random(words.length)]).join("");
  for (let round = 0; round < 3000; round += 1) {
    const [before, after] = [command(), command()];
    const parts = wordDiff(before, after);
    assert.equal(side(parts, "same", "gone"), before);
    assert.equal(side(parts, "same", "new"), after);
    assert.ok(parts.every(({ kind }, at) => kind !== parts[at + 1]?.kind && parts[at].text));
  }
});

test("very long commands take no time", () => {
  const long = (word) => Array.from({ length: 4000 }, (_, at) => `${word}${at % 7}`).join(" ");
  const began = performance.now();
  const parts = wordDiff(`cat ${long("a")} x`, `cat ${long("b")} x`);
  assert.ok(performance.now() - began < 500);
  assert.deepEqual(parts.map(({ kind }) => kind), ["same", "gone", "new", "same"]);
});
