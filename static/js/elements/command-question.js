/** A running command that seems to ask: its question, a line for the answer, and the two other ways. */

import { announce } from "../announce.js";
import { h, icon, setText } from "../dom.js";
import { asksForSecret } from "../words.js";

export class CommandQuestion extends HTMLElement {
  #send = null;
  #question = null;
  #left = null;
  #parts = null;

  /** @param {(text: string) => Promise<unknown>} send hands a line to the command */
  serve(send) {
    this.#send = send;
  }

  /** Show a question, or nothing for null. What was already typed stays while the question does. */
  ask(question) {
    if (question === this.#question && this.#parts) return;
    this.#question = question;
    if (!this.#parts) this.#build();
    this.hidden = !question || question === this.#left;
    if (!question) return;
    const { words, line, note } = this.#parts;
    setText(words, question);
    line.value = "";
    line.type = asksForSecret(question) ? "password" : "text";
    setText(note, "");
    if (!this.hidden) announce(`The command seems to ask: ${question}`);
  }

  #build() {
    const line = h("input", { class: "input", autocomplete: "off", autocapitalize: "none", spellcheck: "false", "aria-label": "Answer for the command" });
    const parts = { words: h("code", { class: "words" }), line, note: h("p", { class: "hint", role: "status" }) };
    const wait = h("button", { type: "button", class: "button small quiet", on: { click: () => this.#keepWaiting() } }, "Keep waiting");
    const form = h(
      "form",
      { class: "row", on: { submit: (event) => this.#answer(event) } },
      line,
      h("button", { class: "button small primary" }, icon("send"), "Answer"),
      wait,
    );
    this.#parts = parts;
    this.append(h("p", {}, h("b", {}, "It seems to wait for an answer: "), parts.words), form, parts.note);
  }

  #keepWaiting() {
    this.#left = this.#question;
    this.hidden = true;
  }

  async #answer(event) {
    event.preventDefault();
    const { line, note } = this.#parts;
    setText(note, "sending…");
    try {
      await this.#send(line.value);
      line.value = "";
      setText(note, "sent");
    } catch (problem) {
      setText(note, problem.message);
    }
  }
}

customElements.define("command-question", CommandQuestion);
