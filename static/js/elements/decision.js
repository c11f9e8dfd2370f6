/** The last part of an approval's card: what the answer allows, and the buttons. */

import { announce } from "../announce.js";
import { h, setText } from "../dom.js";

/** A card that has only just appeared must not catch a click that was meant for something else. */
const ARM_AFTER = 800;

/**
 * The buttons of one pending approval. They arm once every command of the card has been on the screen and the
 * first of them has been for ARM_AFTER; they never take the focus.
 *
 * `choices` is `[{scope, label}]`, the first one primary. `typed` are host names of which one must be typed first.
 * `more()` gives what else goes with an approval.
 */
export class Decision {
  node;
  #app;
  #approval;
  #more;
  #buttons;
  #says = h("p", { class: "says", role: "status" });
  #allows = h("dd");
  #reason = h("input", { class: "input", placeholder: "Tell Nomos why, or what to do instead", maxlength: "2000", "aria-label": "Reason" });
  #denial;
  #typed = h("input", { class: "input mono", autocomplete: "off", autocapitalize: "none", spellcheck: "false", on: { input: () => this.#arm() } });
  #typing = h("label", { class: "typed" }, h("span"), this.#typed);
  #hosts = [];
  #held = false;
  #armed = false;
  #busy = false;
  #timer = null;
  #observer = null;
  #unread = new Set();
  #inView = false;

  constructor(app, approval, choices, { typed = [], more = () => ({}) } = {}) {
    this.#app = app;
    this.#more = more;
    this.#approval = approval;
    this.#buttons = choices.map(({ scope, label }, at) =>
      h("button", { type: "button", class: at ? "button" : "button primary", on: { click: () => this.#approve(scope) } }, label),
    );
    const deny = h("button", { type: "button", class: "button danger", on: { click: () => this.#toggleDenial(true) } }, "Deny…");
    const acts = h("div", { class: "acts" }, ...this.#buttons, deny);
    this.#denial = this.#denialForm();
    const allows = h("dl", { class: "facts" }, h("dt", {}, "Allows"), this.#allows);
    this.node = h("div", { class: "decision" }, allows, this.#typing, acts, this.#denial, this.#says);
    this.require(typed);
  }

  /** Begin to watch what has been on the screen: the buttons, and the commands. To be called once the card is whole. */
  watch(commands) {
    this.#unread = new Set(commands);
    this.#observer = new IntersectionObserver((entries) => this.#looked(entries), { threshold: [0, 0.2, 0.4, 0.6, 0.8, 0.9, 1] });
    for (const node of [...commands, this.#buttons[0]]) this.#observer.observe(node);
  }

  /** Say what the primary answer allows; it names a time, so it changes. */
  allows(text) {
    setText(this.#allows, text);
  }

  /** Say on the primary button what it does. */
  label(text) {
    setText(this.#buttons[0], text);
  }

  /** Let one of these host names be typed before the buttons arm; none for no hosts. */
  require(hosts) {
    this.#hosts = hosts;
    this.#typing.hidden = !hosts.length;
    const which = hosts.flatMap((host, at) => [at ? " or " : "", h("code", {}, host)]);
    this.#typing.firstChild.replaceChildren("This cannot be undone. Type ", ...which, " to arm the button.");
    this.#arm();
  }

  /** Keep the buttons from being pressed, and say why; null lets them go. */
  hold(why) {
    this.#held = Boolean(why);
    setText(this.#says, why ?? "");
    this.#arm();
  }

  /** The card is taken away. */
  close() {
    this.#observer?.disconnect();
    clearTimeout(this.#timer);
  }

  #denialForm() {
    const back = h("button", { type: "button", class: "button quiet", on: { click: () => this.#toggleDenial(false) } }, "Back");
    const send = h("button", { class: "button danger" }, "Deny");
    const submit = (event) => {
      event.preventDefault();
      this.#answer("deny", { note: this.#reason.value.trim() });
    };
    const keydown = (event) => event.key === "Escape" && this.#toggleDenial(false);
    return h("form", { class: "denial", hidden: true, on: { submit, keydown } }, this.#reason, send, back);
  }

  #toggleDenial(open) {
    this.#denial.hidden = !open;
    if (open) this.#reason.focus();
  }

  #looked(entries) {
    for (const { target, intersectionRatio: ratio, intersectionRect: seen, boundingClientRect: whole } of entries) {
      if (target === this.#buttons[0]) this.#inView = ratio >= 0.9;
      // of one that is taller than the screen, the end must have been seen
      else if (ratio >= 0.9 || (ratio > 0 && seen.bottom >= whole.bottom - 1)) this.#unread.delete(target);
    }
    clearTimeout(this.#timer);
    if (this.#armed || !this.#inView) return;
    if (this.#unread.size) {
      setText(this.#says, "The buttons arm once every command above has been on your screen.");
      return;
    }
    this.#timer = setTimeout(() => {
      this.#armed = true;
      if (!this.#held) setText(this.#says, "");
      this.#arm();
    }, ARM_AFTER);
  }

  #arm() {
    const typed = !this.#hosts.length || this.#hosts.includes(this.#typed.value.trim());
    for (const button of this.#buttons) button.disabled = !this.#armed || !typed || this.#held || this.#busy;
    this.node.classList.toggle("armed", this.#armed);
  }

  #approve(scope) {
    if (this.#armed && !this.#held) this.#answer("approve", { scope, ...this.#more() });
  }

  async #answer(verdict, options) {
    if (this.#busy) return;
    this.#setBusy(true);
    setText(this.#says, verdict === "approve" ? "Approving…" : "Denying…");
    try {
      await this.#app.decide(this.#approval, verdict, options);
      setText(this.#says, verdict === "approve" ? "Approved." : "Denied.");
      announce(verdict === "approve" ? "Approved" : "Denied");
    } catch (problem) {
      setText(this.#says, problem.status === 0 ? `${problem.message} Nothing was decided; press again.` : problem.message);
      if (problem.status !== 409 && problem.status !== 410) this.#setBusy(false);
    }
  }

  #setBusy(busy) {
    this.#busy = busy;
    for (const control of this.node.querySelectorAll("button, input")) control.disabled = busy;
    this.#arm();
  }
}
