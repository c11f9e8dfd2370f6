/** The list of sessions, grouped by what they need. */

import { h, keyed, setIcon, setText } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { age, full } from "../time.js";
import { NEEDS_YOU, SESSION } from "../words.js";

const GROUPS = [
  { key: "needs", label: "Needs you", holds: ({ state }) => NEEDS_YOU.has(state) },
  { key: "working", label: "Working", holds: ({ state }) => state === "working" },
  { key: "earlier", label: "Earlier", holds: ({ state }) => !NEEDS_YOU.has(state) && state !== "working" },
];

export class SessionList extends HTMLElement {
  #app = null;
  #tick = () => new Date().getSeconds() < 1 && this.#draw();

  connect(app) {
    this.#app = app;
    app.addEventListener("change", ({ detail }) => (detail.has("all") || detail.has("sessions")) && this.#draw());
    tick(this.#tick);
  }

  disconnectedCallback() {
    quiet(this.#tick);
  }

  #draw() {
    const sessions = [...this.#app.state.sessions.values()].filter(({ archived }) => !archived);
    sessions.sort((a, b) => b.updated_at.localeCompare(a.updated_at));
    const groups = GROUPS.map((group) => ({ ...group, sessions: sessions.filter(group.holds) })).filter((group) => group.sessions.length);
    // the oldest wait is the most urgent one
    for (const group of groups) if (group.key === "needs") group.sessions.reverse();
    const make = ({ key, label }) => h("section", { "aria-labelledby": `group-${key}` }, h("h2", { id: `group-${key}` }, label), h("ul"));
    keyed(this, groups, ({ key }) => key, make, (node, group) => this.#drawGroup(node.lastChild, group.sessions));
  }

  #drawGroup(list, sessions) {
    keyed(list, sessions, ({ id }) => id, (session) => this.#row(session), (node, session) => this.#drawRow(node, session));
  }

  #row({ id }) {
    const go = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("nomos:open", { bubbles: true, detail: id }));
    };
    const row = h("a", { href: this.#app.address(id), on: { click: go } }, h("span", { class: "mark" }), h("span", { class: "title" }), h("time"), h("small"));
    return h("li", {}, row);
  }

  #drawRow(item, session) {
    const [row] = item.children;
    const [mark, title, time, small] = row.children;
    const words = SESSION[session.state] ?? SESSION.idle;
    setIcon(mark, words.icon);
    mark.className = `mark ${words.tone}`;
    setText(title, session.title || "New session");
    title.title = session.title;
    setText(time, age(session.updated_at));
    time.title = full(session.updated_at);
    setText(small, words.label);
    if (session.id === this.#app.id) row.setAttribute("aria-current", "page");
    else row.removeAttribute("aria-current");
  }
}

customElements.define("session-list", SessionList);
