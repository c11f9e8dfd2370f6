/** Draws markdown that grows: settled blocks keep their nodes, only the last ones are made again. */

import { h } from "./dom.js";
import { blocks } from "./markdown.js";

export class MarkdownView {
  #host;
  #source = null;
  #raw = [];

  constructor(host) {
    this.#host = host;
  }

  /** Show exactly this source. */
  set(source) {
    if (source === this.#source) return;
    this.#source = source;
    const now = blocks(source);
    let same = 0;
    while (same < now.length && now[same].raw === this.#raw[same]) same += 1;
    while (this.#host.childElementCount > same) this.#host.lastElementChild.remove();
    this.#host.append(...now.slice(same).map(({ tree }) => build(tree)));
    this.#raw = now.map(({ raw }) => raw);
  }
}

function build(tree) {
  return typeof tree === "string" ? tree : h(tree.tag, tree.attributes, ...tree.children.map(build));
}
