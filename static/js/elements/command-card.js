/** The card of one execution: where, what, how it goes, its output as it comes. */

import { announce } from "../announce.js";
import { apiUrl } from "../api.js";
import { copy } from "../clipboard.js";
import { h, icon, setText } from "../dom.js";
import { OutputView, selecting } from "../output-view.js";
import { Pieces } from "../pieces.js";
import { quiet, tick } from "../ticker.js";
import { duration, secondsBetween } from "../time.js";
import { canUndo, executionDetail, executionWords, neverStarts, underWay } from "../words.js";
import "./command-question.js";
import { commandCode, guardWords, hostBadge } from "./parts.js";

/** A command that went well shrinks to one row after this long, unless it was touched. */
const SHRINK_AFTER = 4000;
/** Silence worth a word, in seconds. */
const SILENT = 30;

export class CommandCard extends HTMLElement {
  #app = null;
  #execution = null;
  #parts = null;
  #pieces = null;
  #hush = null;
  #heard = 0;
  #touched = false;
  #shrink = null;
  #tick = () => this.#words();

  connectedCallback() {
    if (this.#execution) this.update(this.#app, this.#execution);
  }

  disconnectedCallback() {
    quiet(this.#tick);
    clearTimeout(this.#shrink);
    this.#hush?.();
    this.#hush = null;
  }

  update(app, execution) {
    const before = this.#execution;
    this.#app = app;
    this.#execution = execution;
    if (this.#parts && before.command !== execution.command) this.#clear();
    if (!this.#parts) this.#build();
    this.hidden = execution.state === "waiting" || neverStarts(execution);
    if (underWay(execution)) this.#listen();
    else quiet(this.#tick);
    if (!before || before.state !== execution.state) this.#stateChanged(before);
    this.#pieces?.reach(execution.output_bytes).catch(() => {});
    this.#words();
  }

  /** The operator edited the command while it waited: nothing of the old one may stay. */
  #clear() {
    this.#parts.details.remove();
    this.#parts = null;
  }

  #build() {
    const { host, command, reason, id, guard } = this.#execution;
    const parts = {
      state: h("span", { class: "state" }),
      detail: h("p", { class: "detail", hidden: true }),
      earlier: h("p", { class: "earlier", hidden: true }),
      out: h("div", { class: "out", role: "region", tabindex: "0", "aria-label": `Output of ${command} on ${host}` }),
      note: h("span", { class: "note" }),
      stop: h("button", { type: "button", class: "button small danger", on: { click: () => this.#stop() } }, icon("stop"), "Stop"),
    };
    parts.undo = h("button", { type: "button", class: "button small", hidden: true, on: { click: () => this.#undo() } }, icon("undo"), "Undo this step");
    const button = (label, act) => h("button", { type: "button", class: "button small quiet", on: { click: act } }, label);
    const raw = h("a", { class: "button small quiet", href: apiUrl(`/executions/${id}/output.txt`), target: "_blank", rel: "noopener" }, "Raw log");
    const copyOutput = button("Copy output", (event) => this.#copy(event.currentTarget, parts.view.text()));
    const copyCommand = button("Copy command", (event) => this.#copy(event.currentTarget, command));
    parts.question = h("command-question");
    parts.question.serve((text) => this.#app.input(this.#execution, text));
    parts.details = h(
      "details",
      { class: "card command" },
      h("summary", { on: { click: () => (this.#touched = true) } }, hostBadge(host), commandCode(command, { class: "command" }), parts.state, icon("chevron")),
      reason && h("p", { class: "reason" }, reason),
      guard && h("p", { class: "reason" }, guardWords(guard)),
      parts.detail,
      parts.earlier,
      parts.out,
      parts.question,
      h("div", { class: "foot" }, copyOutput, copyCommand, raw, parts.note, parts.undo, parts.stop),
    );
    parts.details.addEventListener("toggle", () => parts.details.open && this.#listen());
    parts.view = new OutputView(parts.out, (lines) => this.#dropped(lines));
    this.#parts = parts;
    this.append(parts.details);
  }

  #listen() {
    if (underWay(this.#execution)) tick(this.#tick);
    this.#hush ??= this.#app.onOutput(this.#execution.id, (piece) => this.#pieces?.push(piece).catch(() => {}));
    if (this.#pieces) return;
    const { id, output_bytes: size } = this.#execution;
    const { view, out } = this.#parts;
    const last = this.#execution.last_output_at ?? this.#execution.started_at;
    this.#heard = last ? Date.now() - secondsBetween(last) * 1000 : Date.now();
    this.#pieces = new Pieces({
      range: (offset, limit) => this.#app.output(id, offset, limit),
      write: (text) => {
        if (text) this.#heard = Date.now();
        view.write(text);
        out.hidden = false;
      },
    });
    this.#pieces.open(this.#app.state.outputs.get(id));
    this.#pieces.reach(size).catch(() => {});
    if (this.#pieces.skipped) this.#dropped(0);
  }

  #stateChanged(before) {
    const { state, host } = this.#execution;
    const { details } = this.#parts;
    const active = underWay(this.#execution);
    const good = state === "succeeded" || state === "cancelled";
    clearTimeout(this.#shrink);
    if (!this.#touched && (active || !good)) details.open = !this.hidden;
    else if (good && before) this.#shrink = setTimeout(() => this.#shrinks(), SHRINK_AFTER);
    if (before && underWay(before) && !active) announce(`Command on ${host} ended: ${executionWords(this.#execution).text}`);
    details.dataset.tone = executionWords(this.#execution).tone;
  }

  #shrinks() {
    const { details } = this.#parts;
    if (this.#touched || details.contains(document.activeElement) || selecting(details)) return;
    details.open = false;
  }

  #words() {
    const { state, stop, undo, note, details, out, detail, question } = this.#parts;
    const execution = this.#execution;
    const { tone, text } = executionWords(execution);
    setText(state, text);
    state.className = `state ${tone}`;
    const more = executionDetail(execution);
    setText(detail, more ?? "");
    detail.hidden = !more;
    question.ask(execution.state === "running" ? execution.question : null);
    const active = underWay(execution);
    const stopping = Boolean(execution.cancel_requested_at);
    stop.hidden = !active;
    undo.hidden = !canUndo(execution, [...this.#app.state.executions.values()]);
    undo.title = execution.undo ? `Asks about: ${execution.undo}` : "";
    stop.disabled = stopping;
    const silent = (Date.now() - this.#heard) / 1000;
    if (execution.state === "running" && silent > SILENT) setText(note, `quiet for ${duration(silent, { live: true })}`);
    else setText(note, !active && !execution.output_bytes ? "no output" : execution.truncated ? "shortened: middle left out" : "");
    out.hidden = !execution.output_bytes && !out.querySelector(".l")?.textContent;
    details.classList.toggle("active", active);
  }

  #dropped(lines) {
    const { earlier } = this.#parts;
    this.gone = (this.gone ?? 0) + lines;
    const what = this.gone ? `${this.gone.toLocaleString()} earlier lines` : "Earlier output";
    const link = h("a", { href: apiUrl(`/executions/${this.#execution.id}/output.txt`), target: "_blank", rel: "noopener" }, "open the full log");
    earlier.replaceChildren(`${what} not shown here · `, link);
    earlier.hidden = false;
  }

  async #stop() {
    this.#parts.stop.disabled = true;
    try {
      await this.#app.cancel(this.#execution);
      setText(this.#parts.note, "stopping…");
    } catch (problem) {
      setText(this.#parts.note, problem.message);
      this.#parts.stop.disabled = false;
    }
  }

  async #undo() {
    this.#parts.undo.disabled = true;
    try {
      await this.#app.undo(this.#execution);
      setText(this.#parts.note, "asked below");
      this.#parts.undo.hidden = true;
    } catch (problem) {
      setText(this.#parts.note, problem.message);
    }
    this.#parts.undo.disabled = false;
  }

  async #copy(button, text) {
    const label = button.textContent;
    button.textContent = (await copy(text)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = label), 1600);
  }
}

customElements.define("command-card", CommandCard);
