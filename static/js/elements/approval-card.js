/** The card that asks about one command. */

import { h } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, duration, now, secondsBetween } from "../time.js";
import { commandAllows, decisionWords } from "../words.js";
import { Decision } from "./decision.js";
import { commandCode, decidedRow, facts, hostBadge, riskBadge } from "./parts.js";

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
    const key = `${approval.id} ${approval.state} ${approval.digest}`;
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
    this.#decision = new Decision(this.#app, approval, choices, { typed });
    const title = `approval-${approval.id}`;
    return h(
      "section",
      { class: `card approval ${approval.risk}`, "aria-labelledby": title },
      h("header", {}, riskBadge(approval.risk), h("h2", { id: title }, approval.title), hostBadge(approval.host), h("span", { class: "age" })),
      h("pre", { class: "exact", role: "group", tabindex: "0", "aria-label": `Exact command on ${approval.host}` }, commandCode(approval.command)),
      facts([["Why", approval.reason], ["Effect", execution?.risk_why]]),
      this.#decision.node,
    );
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

customElements.define("approval-card", ApprovalCard);
