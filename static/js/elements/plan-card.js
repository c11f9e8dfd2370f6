/** The card of a plan: the goal, every step's exact command, which of them to allow, and what approving allows. */

import { h, icon, setIcon, setText } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { clock, duration, now, secondsBetween } from "../time.js";
import { decisionWords, planAllows, underWay } from "../words.js";
import { commandEdit } from "./command-edit.js";
import { Decision } from "./decision.js";
import { commandCode, commandDiff, decidedRow, facts, guardWords, hostBadge, riskBadge, snapshotChoice } from "./parts.js";

const EDITING = "An edit is open: save it, or leave it.";

export class PlanCard extends HTMLElement {
  #app = null;
  #plan = null;
  #approval = null;
  #drawn = null;
  #decision = null;
  /** Numbers of the steps that the operator has left out; they stay so while the card asks. */
  #left = new Set();
  #edits = 0;
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
    if (this.#plan?.id !== plan.id) this.#left.clear();
    this.#plan = plan;
    this.#approval = approval;
    // a new digest must never stand under old commands, in whatever order the news comes
    const key = JSON.stringify([plan.id, plan.state, plan.steps, approval?.state, approval?.digest]);
    if (key !== this.#drawn) {
      this.#drawn = key;
      this.#edits = 0;
      this.#decision?.close();
      this.#decision = null;
      this.replaceChildren(this.#card());
      this.#decision?.watch(this.querySelectorAll(".exact"));
      this.#chosen();
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
    const steps = h("ol", { class: "steps" }, ...plan.steps.map((step, number) => this.#step(step, number, pending)));
    const verify = facts([["Verified by", plan.verify]]);
    const changed = facts([["Changed", pending && approval.changed]]);
    if (pending) return h("section", { class: `card approval plan ${approval.risk}`, "aria-labelledby": title }, header, changed, steps, verify, this.#ask(approval));
    const words = approval ? decisionWords(approval, plan.steps) : `The plan is ${plan.state}.`;
    return h(
      "section",
      { class: `card plan settled ${plan.state}`, "aria-labelledby": title },
      header,
      h("details", {}, h("summary", {}, decidedRow(approval ?? { state: plan.state }, words), icon("chevron")), steps, verify),
    );
  }

  #ask(approval) {
    const way = snapshotChoice(approval, "each guest before its first change");
    const labels = { window: "Approve plan", plan: this.#plan.steps.length === 1 ? "Only this command" : "Only these commands" };
    const choices = ["window", "plan"].filter((scope) => approval.scopes.includes(scope)).map((scope) => ({ scope, label: labels[scope] }));
    const more = () => ({ ...way.more(), ...(this.#left.size ? { steps: this.#numbers() } : {}) });
    this.#decision = new Decision(this.#app, approval, choices, { more });
    return h("div", {}, way.node, this.#decision.node);
  }

  #step(step, number, pending) {
    const exact = h("pre", { class: "exact", role: "group", tabindex: "0", "aria-label": `Exact command on ${step.host}` }, commandCode(step.command));
    const out = this.#plan.state === "approved" && step.approved === false;
    const tag = (words) => h("span", { class: "tag" }, words);
    const item = h(
      "li",
      { class: out ? "left" : null, data: { host: step.host, command: step.command } },
      h("span", { class: "mark", data: { part: "mark" } }),
      h(
        "div",
        {},
        h("div", { class: "line" }, hostBadge(step.host), step.risk && riskBadge(step.risk), h("span", { class: "why" }, step.why), step.edited && tag("edited by you"), out && tag("left out")),
        exact,
        pending && this.#acts(step, number, exact),
        facts([
          ["Effect", step.risk_why],
          ["Undo", step.undo],
          ["Snapshot", step.no_snapshot],
          ["Lock-out", guardWords(step.guard)],
          ["Proposed", step.asked && commandDiff(step.asked, step.command)],
        ]),
      ),
    );
    if (pending) item.classList.toggle("left", this.#left.has(number));
    return item;
  }

  /** What the operator can do to a step: leave it out, or edit its command. */
  #acts(step, number, exact) {
    const include = h("input", { type: "checkbox", checked: !this.#left.has(number), on: { change: () => this.#choose(number, include.checked) } });
    const acts = h(
      "div",
      { class: "step-acts" },
      this.#plan.steps.length > 1 && h("label", {}, include, h("span", {}, "Include step ", String(number + 1))),
      h("button", { type: "button", class: "button small quiet", "aria-label": `Edit step ${number + 1}`, on: { click: () => this.#edit(step, number, exact, acts) } }, icon("pencil"), "Edit"),
    );
    return acts;
  }

  #choose(number, included) {
    if (included) this.#left.delete(number);
    else this.#left.add(number);
    this.querySelectorAll(".steps > li")[number].classList.toggle("left", !included);
    this.#chosen();
  }

  #edit(step, number, exact, acts) {
    const close = () => {
      if (!form.isConnected) return;
      form.replaceWith(exact);
      acts.hidden = false;
      acts.querySelector("button").focus();
      this.#edits -= 1;
      this.#chosen();
    };
    const save = (command) => this.#app.editStep(this.#approval, number, command);
    const form = commandEdit(`Command of step ${number + 1}, on ${step.host}`, step.command, { save, close });
    exact.replaceWith(form);
    acts.hidden = true;
    this.#edits += 1;
    this.#chosen();
  }

  #numbers() {
    return [...this.#plan.steps.keys()].filter((number) => !this.#left.has(number));
  }

  /** What follows from the choice of steps: what must be typed, what the button says, whether it can be pressed. */
  #chosen() {
    if (!this.#decision) return;
    const numbers = this.#numbers();
    const { steps } = this.#plan;
    const destroys = numbers.map((number) => steps[number]).filter(({ risk }) => risk === "destroy");
    this.#decision.require([...new Set(destroys.map(({ host }) => host))]);
    this.#decision.label(this.#left.size ? `Approve ${numbers.length} of ${steps.length} steps` : "Approve plan");
    this.#decision.hold(this.#edits ? EDITING : numbers.length ? null : "No step is chosen: choose one, or deny.");
    this.#age();
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
    setText(age, `asked ${duration(secondsBetween(this.#approval.requested_at), { live: true })} ago`);
    const until = clock(now() + this.#app.assentMinutes * 60000);
    const allows = planAllows(this.#plan, until, this.#numbers().map((number) => this.#plan.steps[number]));
    this.#decision.allows(this.#approval.scopes.includes("window") ? allows.window : allows.plan);
  }
}

customElements.define("plan-card", PlanCard);
