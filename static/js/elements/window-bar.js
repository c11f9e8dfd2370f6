/**
 * The bar under the header while an assent window is open: what it covers, what ran under it, how long it stays, and how
 * to end it. Once it is revoked: what runs on all the same, and how to stop that.
 */

import { announce } from "../announce.js";
import { h, icon, keyed, setText } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, left, now } from "../time.js";
import { commands, executionWords, underWay, windowWords } from "../words.js";
import { commandCode, hostBadge } from "./parts.js";

export class WindowBar extends HTMLElement {
  #app = null;
  #open = false;
  #words = h("b");
  #time = h("span", { class: "left" });
  #says = h("span", { class: "says", role: "status" });
  #count = h("span");
  #list = h("ul");
  #used = h("details", { class: "used" }, h("summary", {}, this.#count, icon("chevron")), this.#list);
  #bar;
  #rest;
  /** Ids of what went on when the window was revoked. */
  #running = [];
  #of = null;
  #tick = () => this.#draw();

  connect(app) {
    this.#app = app;
    const button = (label, kind, act) => h("button", { type: "button", class: `button small ${kind}`, on: { click: act } }, label);
    const extend = button(`+${app.assentMinutes} min`, "quiet", () => this.#ask(() => app.extendWindow()));
    const revoke = button("Revoke", "", () => this.#ask(() => this.#revoke()));
    this.#bar = h(
      "div",
      { class: "window", role: "region", "aria-label": "Assent window" },
      icon("window"),
      h("div", { class: "about" }, h("p", {}, this.#words, " ", this.#time, this.#says), this.#used),
      h("div", { class: "acts" }, extend, revoke),
    );
    const stop = button("Stop them", "danger", () => this.#ask(() => this.#stop()));
    const leave = button("Let them run", "quiet", () => this.#forget());
    this.#rest = h(
      "div",
      { class: "window rest", role: "region", "aria-label": "Still running", hidden: true },
      icon("window"),
      h("div", { class: "about" }, h("p", { role: "status" })),
      h("div", { class: "acts" }, stop, leave),
    );
    this.append(this.#bar, this.#rest);
    app.addEventListener("change", ({ detail }) => {
      if (detail.has("all") || detail.has("window") || [...detail].some((what) => what.startsWith("execution:"))) this.#draw();
    });
  }

  #draw() {
    const { window } = this.#app.state;
    if (this.#of !== this.#app.id) this.#forget();
    this.#of = this.#app.id;
    const open = Boolean(window?.open) && Date.parse(window.expires_at) > now();
    if (open !== this.#open) this.#turn(open);
    this.#bar.hidden = !open;
    this.#drawRest();
    this.hidden = !open && this.#rest.hidden;
    if (!open) return;
    const { text, until } = windowWords(window, now());
    setText(this.#words, text);
    setText(this.#time, `· ${left((Date.parse(until) - now()) / 1000)} left`);
    this.#time.title = `until ${clock(until)}`;
    this.#drawUsed(window.used);
  }

  #drawUsed(used) {
    this.#used.hidden = !used.length;
    setText(this.#count, `${commands(used.length)} ran`);
    const known = used.map((id) => this.#app.state.executions.get(id) ?? { id });
    const make = ({ host, command }) =>
      h("li", {}, host ? [hostBadge(host), commandCode(command, { class: "command" }), h("span", { class: "state" })] : "an earlier command, further up");
    keyed(this.#list, known, ({ id, host }) => `${id} ${host ?? ""}`, make, (node, execution) => {
      if (execution.host) setText(node.lastChild, executionWords(execution).text);
    });
  }

  #drawRest() {
    const { executions } = this.#app.state;
    const going = this.#running.filter((id) => underWay(executions.get(id) ?? {}));
    const stopping = going.filter((id) => executions.get(id).cancel_requested_at);
    this.#rest.hidden = !going.length;
    if (!going.length) return;
    const words = going.length === 1 ? "1 command still runs" : `${going.length} commands still run`;
    setText(this.#rest.querySelector("p"), `Window revoked. ${words}${stopping.length ? `; stopping ${stopping.length}` : ""}.`);
    this.#rest.querySelector("button").disabled = stopping.length === going.length;
  }

  #turn(open) {
    this.#open = open;
    setText(this.#says, "");
    if (open) tick(this.#tick);
    else quiet(this.#tick);
    announce(open ? `Assent window open. ${windowWords(this.#app.state.window, now()).text}.` : "Assent window over.");
  }

  async #revoke() {
    this.#running = (await this.#app.revokeWindow()).map(({ id }) => id);
    this.#draw();
  }

  async #stop() {
    const { executions } = this.#app.state;
    await Promise.all(this.#running.filter((id) => underWay(executions.get(id) ?? {})).map((id) => this.#app.cancel({ id })));
  }

  #forget() {
    this.#running = [];
    this.#rest.hidden = true;
    this.hidden = this.#bar.hidden;
  }

  async #ask(act) {
    setText(this.#says, "");
    try {
      await act();
    } catch (problem) {
      const where = this.#open ? this.#says : this.#rest.querySelector("p");
      setText(where, ` ${problem.message}`);
    }
  }
}

customElements.define("window-bar", WindowBar);
