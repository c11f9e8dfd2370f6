import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../../static/js/markdown.js";

const trees = (source) => blocks(source).map(({ tree }) => tree);
const tags = (tree) => (typeof tree === "string" ? [] : [tree.tag, ...tree.children.flatMap(tags)]);
const text = (tree) => (typeof tree === "string" ? tree : tree.children.map(text).join(""));
const attributes = (tree) => (typeof tree === "string" ? [] : [tree.attributes, ...tree.children.flatMap(attributes)]);

test("what people write becomes the elements they mean", () => {
  const [heading, paragraph, list, code, table] = trees("# Title\n\nSome **bold** `code`\n\n3. a\n4. b\n\n```sh\nls <x>\n```\n\n|a|b|\n|-|-:|\n|1|2|");
  assert.equal(heading.tag, "h3");
  assert.deepEqual(tags(paragraph), ["p", "strong", "code"]);
  assert.deepEqual(list.attributes, { start: 3 });
  assert.equal(text(code), "ls <x>");
  assert.deepEqual(tags(table).slice(0, 4), ["div", "table", "thead", "tr"]);
});

test("markup in the source is text", () => {
  for (const source of ["<script>alert(1)</script>", "a <img src=x onerror=alert(1)> b", "<b>bold</b>", "<div onclick=x>\n\nhi\n\n</div>"]) {
    const all = trees(source);
    const known = new Set(["p", "span", "em", "strong", "code", "pre"]);
    assert.ok(all.flatMap(tags).every((tag) => known.has(tag)), source);
    assert.ok(all.map(text).join("").includes("<"), source);
  }
});

test("only web and mail addresses become links", () => {
  for (const href of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//other.host/x", "file:///etc/passwd"]) {
    assert.ok(!trees(`[x](${href})`).flatMap(attributes).some((each) => "href" in each), href);
  }
  assert.ok(trees("[x](https://example.org/)").flatMap(attributes).some(({ href }) => href === "https://example.org/"));
});

test("pictures are links: nothing is fetched", () => {
  const all = trees("![a picture](https://example.org/x.png)");
  assert.deepEqual(all.flatMap(tags), ["p", "a"]);
});

test("entities and escapes are read once", () => {
  assert.equal(text(trees("AT&amp;T & \\*x\\* &lt;b&gt;")[0]), "AT&T & *x* <b>");
  assert.equal(text(trees("`<a> &lt;`")[0]), "<a> &lt;");
});

test("growing text keeps the blocks before its end", () => {
  const source = "First paragraph.\n\n- one\n- two\n\nLast words";
  const whole = blocks(source);
  for (let at = 20; at < source.length; at += 1) {
    assert.equal(blocks(source.slice(0, at))[0].raw.trim(), whole[0].raw.trim());
  }
});
