/** The bar under the header while an assent window is open: what it covers, how long, and how to end it. */

import { announce } from "../announce.js";
import { h, icon, setText } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, left, now } from "../time.js";
import { windowWords } from "../words.js";

export class WindowBar extends HTMLElement {
  #app = null;
  #open = false;
  #words = h("b");
  #time = h("span", { class: "left" });
  #used = h("span", { class: "used" });
  #says = h("span", { class: "says", role: "status" });
  #tick = () => this.#draw();

  connect(app) {
    this.#app = app;
    const revoke = h("button", { type: "button", class: "button small", on: { click: () => this.#ask(() => app.revokeWindow()) } }, "Revoke");
    const extend = h("button", { type: "button", class: "button small quiet", on: { click: () => this.#ask(() => app.extendWindow()) } }, `+${app.assentMinutes} min`);
    this.append(
      h(
        "div",
        { class: "window", role: "region", "aria-label": "Assent window" },
        icon("window"),
        h("p", {}, this.#words, " ", this.#time, this.#used, this.#says),
        h("div", { class: "acts" }, extend, revoke),
      ),
    );
    app.addEventListener("change", ({ detail }) => (detail.has("all") || detail.has("window")) && this.#draw());
  }

  #draw() {
    const { window } = this.#app.state;
    const open = Boolean(window?.open) && Date.parse(window.expires_at) > now();
    if (open !== this.#open) this.#turn(open);
    if (!open) return;
    const { text, until } = windowWords(window, now());
    setText(this.#words, text);
    setText(this.#time, `· ${left((Date.parse(until) - now()) / 1000)} left`);
    this.#time.title = `until ${clock(until)}`;
    const count = window.used.length;
    setText(this.#used, count ? ` · ${count} used` : "");
  }

  #turn(open) {
    this.#open = open;
    this.hidden = !open;
    setText(this.#says, "");
    if (open) tick(this.#tick);
    else quiet(this.#tick);
    announce(open ? `Assent window open. ${windowWords(this.#app.state.window, now()).text}.` : "Assent window over.");
  }

  async #ask(act) {
    setText(this.#says, "");
    try {
      await act();
    } catch (problem) {
      setText(this.#says, ` ${problem.message}`);
    }
  }
}

customElements.define("window-bar", WindowBar);
