/** The card of a plan: the goal, every step's exact command, and what approving allows. */

import { h, icon, setIcon } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, duration, now, secondsBetween } from "../time.js";
import { decisionWords, planAllows, underWay } from "../words.js";
import { Decision } from "./decision.js";
import { commandCode, decidedRow, facts, hostBadge, riskBadge } from "./parts.js";

export class PlanCard extends HTMLElement {
  #app = null;
  #plan = null;
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

  /** `executions` are those that ran this plan's commands. */
  update(app, plan, approval, executions) {
    this.#app = app;
    this.#plan = plan;
    this.#approval = approval;
    const key = `${plan.id} ${plan.state} ${approval?.state} ${approval?.digest}`;
    if (key !== this.#drawn) {
      this.#drawn = key;
      this.#decision?.close();
      this.#decision = null;
      this.replaceChildren(this.#card());
      this.#decision?.watch(this.querySelectorAll(".exact"));
      this.#age();
    }
    this.#progress(executions);
  }

  #card() {
    const plan = this.#plan;
    const approval = this.#approval;
    const pending = approval?.state === "pending";
    const title = `plan-${plan.id}`;
    const header = h(
      "header",
      {},
      pending ? riskBadge(approval.risk) : icon("plan"),
      h("h2", { id: title }, plan.goal),
      pending && h("span", { class: "age" }),
    );
    const steps = h("ol", { class: "steps" }, ...plan.steps.map((step) => this.#step(step)));
    const verify = facts([["Verified by", plan.verify]]);
    if (pending) return h("section", { class: `card approval plan ${approval.risk}`, "aria-labelledby": title }, header, steps, verify, this.#ask(approval));
    const words = approval ? decisionWords(approval) : `The plan is ${plan.state}.`;
    return h(
      "section",
      { class: `card plan settled ${plan.state}`, "aria-labelledby": title },
      header,
      h("details", {}, h("summary", {}, decidedRow(approval ?? { state: plan.state }, words), icon("chevron")), steps, verify),
    );
  }

  #ask(approval) {
    const plan = this.#plan;
    const labels = { window: "Approve plan", plan: plan.steps.length === 1 ? "Only this command" : "Only these commands" };
    const choices = ["window", "plan"].filter((scope) => approval.scopes.includes(scope)).map((scope) => ({ scope, label: labels[scope] }));
    const hosts = new Set(plan.steps.filter((step) => step.risk === "destroy").map((step) => step.host));
    this.#decision = new Decision(this.#app, approval, choices, { typed: [...hosts] });
    return this.#decision.node;
  }

  #step(step) {
    return h(
      "li",
      { data: { host: step.host, command: step.command } },
      h("span", { class: "mark", data: { part: "mark" } }),
      h(
        "div",
        {},
        h("div", { class: "line" }, hostBadge(step.host), step.risk === "change" ? null : riskBadge(step.risk), h("span", { class: "why" }, step.why)),
        h("pre", { class: "exact", role: "group", tabindex: "0", "aria-label": `Exact command on ${step.host}` }, commandCode(step.command)),
        step.undo && h("p", { class: "undo" }, "Undo: ", step.undo),
      ),
    );
  }

  #progress(executions) {
    for (const item of this.querySelectorAll(".steps > li")) {
      const ran = executions.filter(({ host, command }) => host === item.dataset.host && command === item.dataset.command).at(-1);
      const mark = item.querySelector("[data-part=mark]");
      if (!ran) continue;
      if (ran.state === "succeeded") setIcon(mark, "check", "done");
      else if (underWay(ran)) setIcon(mark, "working", "running");
      else if (["failed", "timed_out", "unknown"].includes(ran.state)) setIcon(mark, "cross", "failed");
      mark.dataset.state = ran.state;
    }
  }

  #age() {
    const age = this.querySelector(".age");
    if (!age) return;
    age.textContent = `asked ${duration(secondsBetween(this.#approval.requested_at), { live: true })} ago`;
    const until = clock(now() + this.#app.assentMinutes * 60000);
    const allows = planAllows(this.#plan, until);
    this.#decision.allows(this.#approval.scopes.includes("window") ? allows.window : allows.plan);
  }
}

customElements.define("plan-card", PlanCard);
