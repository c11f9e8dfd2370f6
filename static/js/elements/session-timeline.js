/** The timeline of a session: everything that was said and done, in order, and what goes on right now. */

import { h, icon, keyed, setText } from "../dom.js";
import { Follow } from "../follow.js";
import { underWay } from "../words.js";
import "./message-item.js";

const keyOf = (item) => (item.role === "agent" || item.role === "event" || !item.client_id ? item.id : `said ${item.client_id}`);

export class SessionTimeline extends HTMLElement {
  #app = null;
  #list = h("div", { class: "entries", role: "log", "aria-live": "off", "aria-label": "Timeline" });
  #tail = h("div", { class: "tail" });
  #earlier = h("button", { type: "button", class: "button small quiet earlier-messages", hidden: true, on: { click: () => this.#showEarlier() } }, "Show earlier messages");
  #touched = new Set();
  #frame = 0;
  #follow = null;
  #start = null;
  #drawn = null;

  /** @param {App} app whose session is shown from now on. */
  connect(app) {
    this.#app = app;
    this.#start = this.querySelector(".start");
    const content = h("div", { class: "column" }, this.#earlier, this.#list, this.#tail);
    this.append(content);
    const pill = h("button", { type: "button", class: "button newer", hidden: true, on: { click: () => this.#follow.toEnd({ past: true }) } }, icon("down"), "Newest");
    this.after(pill);
    this.#follow = new Follow(this, content, (on) => (pill.hidden = on), () => this.querySelector(".card.approval"));
    app.addEventListener("change", ({ detail }) => this.#schedule(detail));
    for (const node of this.#start?.querySelectorAll("[data-say]") ?? []) {
      node.addEventListener("click", () => app.send(node.dataset.say));
    }
  }

  #schedule(what) {
    for (const key of what) this.#touched.add(key);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(this.#messagesTouched());
    });
  }

  /** Ids of the messages to draw again; null for all of them. */
  #messagesTouched() {
    const { executions, approvals, plans } = this.#app.state;
    const ids = new Set();
    for (const key of this.#touched) {
      const [kind, id] = key.split(":");
      if (kind === "all") ids.all = true;
      else if (kind === "message" || kind === "unsent") ids.add(id);
      else if (kind === "execution") this.#executionTouched(ids, executions.get(id));
      else if (kind === "plan") ids.add(plans.get(id).message_id);
      else if (kind === "approval") {
        const { execution_id: execution, plan_id: plan } = approvals.get(id);
        ids.add(executions.get(execution)?.message_id).add(plans.get(plan)?.message_id);
      }
    }
    this.#touched.clear();
    return ids.all ? null : ids;
  }

  #executionTouched(ids, execution) {
    const { executions, plans } = this.#app.state;
    ids.add(execution.message_id).add(plans.get(execution.plan_id)?.message_id).add(executions.get(execution.undoes)?.message_id);
  }

  #draw(touched) {
    const { state, id } = this.#app;
    const unsent = [...state.unsent.values()].filter(({ session }) => session === id).map((words) => ({ role: "operator", id: words.client_id, ...words }));
    const items = [...state.messages.values(), ...unsent];
    const fresh = new Set();
    const make = (item) => {
      fresh.add(item);
      return document.createElement("message-item");
    };
    keyed(this.#list, items, keyOf, make, (node, item) => {
      if (touched === null || fresh.has(item) || touched.has(item.id) || touched.has(item.client_id)) node.update(this.#app, item);
    });
    this.#earlier.hidden = !state.older;
    if (this.#start) this.#start.hidden = Boolean(id) || items.length > 0;
    this.#drawTail();
    if (this.#drawn !== id || [...fresh].some((item) => item.status === "sending")) this.#follow.toEnd();
    this.#drawn = id;
  }

  async #showEarlier() {
    this.#earlier.disabled = true;
    try {
      await this.#app.earlier();
      setText(this.#earlier, "Show earlier messages");
    } catch (problem) {
      setText(this.#earlier, `${problem.message} Try again`);
    }
    this.#earlier.disabled = false;
  }

  /** What goes on between two turns: it is never left to guess. */
  #drawTail() {
    const { state } = this.#app;
    const kind = this.#tailKind(state);
    if (this.#tail.dataset.kind !== kind) {
      this.#tail.dataset.kind = kind;
      this.#tail.replaceChildren(...this.#tailNodes(kind));
    }
    if (kind !== "waits") return;
    const count = [...state.executions.values()].filter(underWay).length;
    setText(this.#tail.querySelector(".words"), `${count === 1 ? "1 command is" : `${count} commands are`} under way. Nomos goes on by itself when ${count === 1 ? "it ends" : "one ends"}.`);
  }

  #tailKind(state) {
    const now = state.session?.state;
    if (now === "parked") return "parked";
    if (now !== "working") return "";
    const open = [...state.messages.values()].some(({ status, role }) => role === "agent" && (status === "thinking" || status === "working"));
    if (open) return "";
    return [...state.executions.values()].some(underWay) ? "waits" : "due";
  }

  #tailNodes(kind) {
    const dots = () => h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
    if (kind === "waits") return [h("p", { class: "thinking" }, dots(), h("span", { class: "words" }))];
    if (kind === "due") return [h("p", { class: "thinking" }, dots(), h("span", {}, "Nomos goes on in a moment."))];
    if (kind !== "parked") return [];
    const says = h("p", { class: "says", role: "status" });
    const minutes = this.#app.assentMinutes;
    const press = async (event) => {
      event.currentTarget.disabled = true;
      try {
        await this.#app.extendWindow();
      } catch (problem) {
        setText(says, problem.message);
        this.#tail.querySelector("button").disabled = false;
      }
    };
    return [
      h(
        "section",
        { class: "card parked", "aria-label": "Parked" },
        h("div", {}, h("h2", {}, "Results are in, the window is over"), h("p", {}, "The assent window ended before Nomos could go on. Nothing is lost: it goes on from here when you say so.")),
        h("button", { type: "button", class: "button primary", on: { click: press } }, `Keep going ${minutes} min`),
        says,
      ),
    ];
  }
}

customElements.define("session-timeline", SessionTimeline);
