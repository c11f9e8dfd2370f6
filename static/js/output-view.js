/** Draws an Output: once a frame, in blocks of lines, the newest WINDOW lines only. */

import { h } from "./dom.js";
import { Output } from "./output.js";

export const WINDOW = 5000;
const BLOCK = 100;

export class OutputView {
  #box;
  #tail = h("div");
  #output = new Output();
  #blocks = [];
  #count = 0;
  #frame = 0;
  #follow = true;
  #onDropped;

  /** @param {HTMLElement} box the scrolling box. @param {(lines: number) => void} onDropped lines no longer shown. */
  constructor(box, onDropped) {
    this.#box = box;
    this.#onDropped = onDropped;
    box.append(this.#tail);
    box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
  }

  write(text) {
    this.#output.write(text);
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  /** The plain text that is shown. */
  text() {
    return [...this.#box.querySelectorAll(".l")].map((line) => line.textContent).join("\n").trimEnd();
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.#box;
    this.#follow = scrollHeight - scrollTop - clientHeight < 24;
  }

  #paint() {
    this.#frame = 0;
    const { settled, dirty } = this.#output.take();
    this.#settle(settled.slice(-WINDOW), Math.max(0, settled.length - WINDOW));
    const { live } = this.#output;
    const nodes = this.#tail.children;
    while (nodes.length > live.length) nodes[nodes.length - 1].remove();
    while (nodes.length < live.length) this.#tail.append(line([]));
    for (const row of dirty) if (live[row]) fill(nodes[row], live[row]);
    if (this.#follow && !selecting(this.#box)) this.#box.scrollTop = this.#box.scrollHeight;
  }

  #settle(lines, skipped) {
    let dropped = skipped;
    for (let at = 0; at < lines.length; ) {
      let block = this.#blocks.at(-1);
      if (!block || block.count >= BLOCK) {
        block = { count: 0, node: h("div", { class: "block" }) };
        this.#blocks.push(block);
        this.#tail.before(block.node);
      }
      const part = lines.slice(at, at + BLOCK - block.count);
      block.node.append(...part.map(line));
      block.count += part.length;
      this.#count += part.length;
      at += part.length;
    }
    while (this.#blocks.length && this.#count - this.#blocks[0].count >= WINDOW) {
      const { node, count } = this.#blocks.shift();
      node.remove();
      this.#count -= count;
      dropped += count;
    }
    if (dropped) this.#onDropped(dropped);
  }
}

function line(runs) {
  return fill(h("div", { class: "l" }), runs);
}

function fill(node, runs) {
  node.replaceChildren(...runs.map(({ text, style }) => (style ? h("span", { class: style }, text) : text)));
  return node;
}

/** Whether text inside is selected: it must not be moved away under the pointer. */
export function selecting(box) {
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && box.contains(selection.anchorNode));
}
