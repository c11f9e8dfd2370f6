/** The header: which session, how it stands, and Stop. */

import { announce } from "../announce.js";
import { h, icon, setIcon, setText } from "../dom.js";
import { NEEDS_YOU, SESSION, underWay } from "../words.js";

const FAVICON = { waiting: "waiting", parked: "waiting", working: "working", failed: "failed", blocked: "failed" };

export class PageHeader extends HTMLElement {
  #app = null;
  #stopping = null;
  #told = null;

  connect(app) {
    this.#app = app;
    this.querySelector("[data-part=stop]").addEventListener("click", () => this.#stop());
    app.addEventListener("change", ({ detail }) => this.#draw(detail));
  }

  #part(name) {
    return this.querySelector(`[data-part=${name}]`);
  }

  #draw(what) {
    const all = what.has("all");
    if (all) this.#stopping = null;
    if (all || what.has("session") || what.has("sessions")) this.#drawTitle();
    this.#drawStop();
  }

  #drawTitle() {
    const { session, sessions } = this.#app.state;
    const words = SESSION[session?.state ?? "idle"] ?? SESSION.idle;
    setText(this.#part("title"), session ? session.title || "New session" : "New session");
    const state = this.#part("state");
    state.hidden = !session || session.state === "idle";
    state.className = `chip ${words.tone}`;
    setIcon(state.firstElementChild, words.icon);
    setText(state.lastElementChild, words.label);
    const waiting = [...sessions.values()].filter((each) => NEEDS_YOU.has(each.state) && !each.archived).length;
    document.title = `${waiting ? `(${waiting}) ` : ""}${session?.title || "New session"} · Nomos`;
    this.#drawFavicon(session?.state);
    if (session && this.#told && this.#told !== session.state) this.#tell(session.state, words.label);
    this.#told = session?.state ?? null;
  }

  #tell(state, label) {
    if (state === "waiting") announce("Nomos waits for your approval", { urgent: true });
    else announce(`Nomos: ${label}`);
  }

  #drawFavicon(state) {
    const link = document.querySelector("link[rel=icon]");
    const name = FAVICON[state] ? `favicon-${FAVICON[state]}.svg` : "favicon.svg";
    const href = new URL(name, link.href).href;
    if (link.href !== href) link.href = href;
  }

  #drawStop() {
    const { session, executions } = this.#app.state;
    const running = [...executions.values()].filter(underWay);
    const active = session?.state === "working" || running.length > 0;
    const button = this.#part("stop");
    button.hidden = !active && !this.#stopping;
    if (!active) this.#stopping = null;
    button.hidden = !active;
    button.disabled = Boolean(this.#stopping);
    const ended = this.#stopping ? this.#stopping.filter((id) => !underWay(executions.get(id) ?? {})).length : 0;
    const count = this.#stopping?.length ? ` (${ended} of ${this.#stopping.length} ended)` : "";
    setText(button.lastElementChild, this.#stopping ? `Stopping…${count}` : "Stop");
  }

  async #stop() {
    const { executions } = this.#app.state;
    this.#stopping = [...executions.values()].filter(underWay).map(({ id }) => id);
    this.#drawStop();
    try {
      await this.#app.stop();
    } catch (problem) {
      this.#stopping = null;
      this.#drawStop();
      announce(`Not stopped: ${problem.message}`, { urgent: true });
      this.#complain(problem.message);
    }
  }

  #complain(text) {
    const note = h("p", { class: "complaint", role: "alert" }, icon("notice"), `Not stopped. ${text}`);
    this.append(note);
    setTimeout(() => note.remove(), 8000);
  }
}

customElements.define("page-header", PageHeader);
