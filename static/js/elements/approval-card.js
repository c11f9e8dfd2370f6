/** The card that asks about one command. */

import { h, icon } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, duration, now, secondsBetween } from "../time.js";
import { commandAllows, decisionWords } from "../words.js";
import { commandEdit } from "./command-edit.js";
import { Decision } from "./decision.js";
import { commandCode, commandDiff, decidedRow, facts, guardWords, hostBadge, riskBadge, snapshotChoice } from "./parts.js";

export class ApprovalCard extends HTMLElement {
  #app = null;
  #approval = null;
  #drawn = null;
  #decision = null;
  #tick = () => this.#age();

  connectedCallback() {
    tick(this.#tick);
  }

  disconnectedCallback() {
    quiet(this.#tick);
  }

  update(app, approval, execution) {
    this.#app = app;
    this.#approval = approval;
    const key = JSON.stringify([approval.id, approval.state, approval.digest, approval.command, execution?.asked]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.#decision?.close();
    this.#decision = null;
    this.replaceChildren(approval.state === "pending" ? this.#pending(approval, execution) : this.#decided(approval));
    this.#decision?.watch(this.querySelectorAll(".exact"));
    this.#age();
  }

  #pending(approval, execution) {
    const choices = [{ scope: "once", label: "Approve once" }];
    if (approval.scopes.includes("window")) {
      choices.push({ scope: "window", label: `Approve, and allow changes on ${approval.host} for ${this.#app.assentMinutes} min` });
    }
    const typed = approval.risk === "destroy" ? [approval.host] : [];
    const way = snapshotChoice(approval);
    this.#decision = new Decision(this.#app, approval, choices, { typed, more: way.more });
    const title = `approval-${approval.id}`;
    const { drift } = approval;
    const asked = execution?.asked;
    const exact = h("pre", { class: "exact", role: "group", tabindex: "0", "aria-label": `Exact command on ${approval.host}` }, commandCode(approval.command));
    const edit = () => this.#edit(approval, exact, acts);
    const acts = h("div", { class: "step-acts" }, asked && h("span", { class: "tag" }, "edited by you"), h("button", { type: "button", class: "button small quiet", on: { click: edit } }, icon("pencil"), "Edit command"));
    return h(
      "section",
      { class: `card approval ${approval.risk}`, "aria-labelledby": title },
      h("header", {}, riskBadge(approval.risk), h("h2", { id: title }, approval.title), hostBadge(approval.host), h("span", { class: "age" })),
      exact,
      acts,
      facts([
        ["Changed", approval.changed],
        ["Plan", drift && driftWords(drift)],
        ["Asked for", asked && commandDiff(asked, approval.command)],
        ["Why", approval.reason],
        ["Effect", approval.risk_why],
        ["Lock-out", guardWords(approval.guard)],
      ]),
      way.node,
      this.#decision.node,
    );
  }

  #edit(approval, exact, acts) {
    const close = () => {
      if (!form.isConnected) return;
      form.replaceWith(exact);
      acts.hidden = false;
      acts.querySelector("button").focus();
      this.#decision?.hold(null);
    };
    const save = (command) => this.#app.editCommand(this.#approval, command);
    const form = commandEdit(`Command on ${approval.host}`, approval.command, { save, close });
    exact.replaceWith(form);
    acts.hidden = true;
    this.#decision.hold("An edit is open: save it, or leave it.");
  }

  #decided(approval) {
    const row = decidedRow(approval, decisionWords(approval));
    if (approval.state === "approved") return row;
    return h(
      "div",
      { class: "card settled" },
      h("div", { class: "line" }, hostBadge(approval.host), commandCode(approval.command, { class: "command" })),
      row,
    );
  }

  #age() {
    const age = this.querySelector(".age");
    if (!age) return;
    age.textContent = `asked ${duration(secondsBetween(this.#approval.requested_at), { live: true })} ago`;
    const until = clock(now() + this.#app.assentMinutes * 60000);
    this.#decision.allows(commandAllows(this.#approval, until).once);
  }
}

/** How the command departs from the plan that was approved. */
function driftWords({ step, approved, asked }) {
  if (approved === null) return h("span", {}, `You left step ${step + 1} of the plan out; this is it, or is close to it.`);
  return h("span", {}, `Not as you approved it in step ${step + 1}: `, commandDiff(approved, asked));
}

customElements.define("approval-card", ApprovalCard);
