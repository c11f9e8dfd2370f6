/** Markdown as a tree of plain objects, made from the lexer's tokens. No DOM, and never a string of HTML. */

import { lexer } from "../vendor/marked@18.2.1/marked.esm.js";

const SAFE = /^(https?:|mailto:)/i;
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** A node of the tree: text is a string, everything else `{tag, attributes, children}`. */
const node = (tag, children, attributes = {}) => ({ tag, attributes, children });
const plain = (text) => text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]);

/** @param {string} source @returns {{raw: string, tree: object}[]} the blocks, each with the source that it came from. */
export function blocks(source) {
  return lexer(source)
    .filter((token) => token.type !== "space")
    .map((token) => ({ raw: token.raw, tree: block(token) }));
}

function block(token) {
  switch (token.type) {
    case "heading":
      return node(`h${Math.min(6, token.depth + 2)}`, inlines(token.tokens));
    case "paragraph":
      return node("p", inlines(token.tokens));
    case "code":
      return node("pre", [node("code", [token.text])]);
    case "blockquote":
      return node("blockquote", many(token.tokens));
    case "hr":
      return node("hr", []);
    case "list":
      return list(token);
    case "table":
      return table(token);
    case "text":
      return node("p", inlines(token.tokens ?? [token]));
    default:
      return node("p", [token.raw.trimEnd()]);
  }
}

const many = (tokens) => tokens.filter((token) => token.type !== "space").map(block);

function list(token) {
  const items = token.items.map((item) => {
    const parts = item.tokens.filter((part) => part.type !== "space" && part.type !== "checkbox");
    const children = parts.map((part) => (part.type === "text" ? node("span", inlines(part.tokens ?? [part])) : block(part)));
    if (item.task) children.unshift(item.checked ? "☑ " : "☐ ");
    return node("li", children);
  });
  const start = token.ordered && token.start > 1 ? { start: token.start } : {};
  return node(token.ordered ? "ol" : "ul", items, start);
}

function table(token) {
  const row = (cells, tag) =>
    node("tr", cells.map((cell, at) => node(tag, inlines(cell.tokens), token.align[at] ? { class: `to-${token.align[at]}` } : {})));
  const head = node("thead", [row(token.header, "th")]);
  const body = node("tbody", token.rows.map((cells) => row(cells, "td")));
  return node("div", [node("table", [head, body])], { class: "table", tabindex: "0", role: "region", "aria-label": "Table" });
}

const inlines = (tokens) => (tokens ?? []).map(inline);

function inline(token) {
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return node(token.type, inlines(token.tokens));
    case "codespan":
      return node("code", [token.text]);
    case "br":
      return node("br", []);
    case "link":
      return link(token.href, inlines(token.tokens));
    case "image": // never fetched: a picture's address can carry data away
      return link(token.href, [token.text || token.href]);
    case "escape":
      return plain(token.text);
    case "text":
      return token.tokens ? node("span", inlines(token.tokens)) : plain(token.text);
    default:
      return token.raw;
  }
}

function link(href, children) {
  return SAFE.test(href) ? node("a", children, { href, rel: "noreferrer noopener", target: "_blank" }) : node("span", children);
}
