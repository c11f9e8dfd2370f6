/** One entry of the timeline: the operator's words, an event, or a turn of the agent with all its blocks. */

import { h, icon, keyed, setText } from "../dom.js";
import { MarkdownView } from "../markdown-view.js";
import { quiet, tick } from "../ticker.js";
import { duration, full, secondsBetween } from "../time.js";
import { eventWords, toolWords, underWay } from "../words.js";
import "./approval-card.js";
import "./command-card.js";
import "./plan-card.js";
import { commandCode, hostBadge } from "./parts.js";

const OPEN = new Set(["thinking", "working"]);

export class MessageItem extends HTMLElement {
  #app = null;
  #message = null;
  #article = null;
  #blocks = null;
  #since = null;
  #tick = () => this.#age();

  connectedCallback() {
    if (this.#message) this.update(this.#app, this.#message);
  }

  disconnectedCallback() {
    quiet(this.#tick);
  }

  update(app, message) {
    this.#app = app;
    this.#message = message;
    if (message.role === "agent") this.#agent();
    else if (message.role === "event") this.#event();
    else this.#operator();
  }

  #operator() {
    const { blocks = [], created_at: at } = this.#message;
    if (!this.#article) {
      this.#article = h("article", { class: "said", "aria-label": "You" }, h("p", { class: "bubble" }), h("div", { class: "delivery" }));
      this.append(this.#article);
    }
    const [bubble, delivery] = this.#article.children;
    setText(bubble, this.#message.text ?? blocks.map(({ text }) => text).join("\n"));
    if (at) bubble.title = full(at);
    this.#delivery(delivery);
  }

  /** Words that are not with the server yet carry `status` `sending` or `failed`. */
  #delivery(node) {
    const { client_id: id, status, detail, text } = this.#message;
    const now = status === "sending" || status === "failed" ? status : "";
    if (node.dataset.status === now) return;
    node.dataset.status = now;
    node.replaceChildren();
    this.#article.classList.toggle("unsent", Boolean(now));
    if (now === "sending") node.append("sending…");
    if (now !== "failed") return;
    const again = h("button", { type: "button", class: "button small", on: { click: () => this.#app.send(text, id) } }, "Try again");
    const edit = () => this.dispatchEvent(new CustomEvent("nomos:edit", { bubbles: true, detail: this.#app.withdraw(id) }));
    node.append(h("span", { class: "bad" }, `Not sent. ${detail} `), again, h("button", { type: "button", class: "button small quiet", on: { click: edit } }, "Edit"));
  }

  #event() {
    const { blocks = [] } = this.#message;
    const said = blocks.filter((block) => block.kind !== "tool_call");
    if (!this.#article) {
      this.#article = h("article", { class: "events", "aria-label": "Event" }, h("div"), h("div"));
      this.append(this.#article);
    }
    // A command that Nomos itself put before the operator has its card here.
    keyed(this.#article.lastChild, blocks.filter(({ execution_id: id }) => id), ({ id }) => id, VIEWS.execution.make, (node, block) =>
      VIEWS.execution.update(node, block, this.#app),
    );
    const text = said.map((block) => block.text).join("\n");
    if (this.dataset.text === text) return;
    this.dataset.text = text;
    const lines = said.map((block) => {
      const words = eventWords(block.text);
      return h(
        "p",
        { class: `event ${words.tone}`, title: full(this.#message.created_at) },
        h("span", { class: "event-text" }, words.text),
        words.command && commandCode(words.command, { class: "command" }),
        words.host && h("span", { class: "on" }, `on ${words.host}`),
      );
    });
    this.#article.firstChild.replaceChildren(...lines);
  }

  #agent() {
    if (!this.#article) {
      this.#blocks = h("div", { class: "blocks" });
      this.#since = h("p", { class: "thinking", hidden: true }, dots(), h("span"));
      this.#article = h("article", { class: "turn", "aria-label": "Nomos" }, this.#blocks, this.#since);
      this.append(this.#article);
    }
    const { blocks, status } = this.#message;
    keyed(this.#blocks, blocks.filter(shown), (block) => `${block.id} ${viewOf(block)}`, (block) => VIEWS[viewOf(block)].make(), (node, block) =>
      VIEWS[viewOf(block)].update(node, block, this.#app),
    );
    this.#article.setAttribute("aria-busy", String(OPEN.has(status)));
    this.#since.hidden = !OPEN.has(status) && status !== "stopped";
    this.#since.classList.toggle("ended", !OPEN.has(status));
    if (OPEN.has(status)) tick(this.#tick);
    else quiet(this.#tick);
    this.#age();
  }

  #age() {
    const { status, created_at: at, blocks } = this.#message;
    const words = this.#since?.lastChild;
    if (!words) return;
    if (status === "stopped") setText(words, "Stopped.");
    else if (OPEN.has(status)) {
      const runs = blocks.some(({ execution_id: id }) => id && underWay(this.#app.state.executions.get(id) ?? {}));
      const doing = status === "thinking" ? "Thinking" : runs ? "Waiting for the command" : "Working";
      setText(words, `${doing} · ${duration(secondsBetween(at), { live: true })}`);
    }
  }
}

const dots = () => h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"));

/** A text block is there before its first word; nothing is drawn of it yet. */
const shown = (block) => block.kind === "tool_call" || Boolean(block.text);

/** The plan that a call proposed; undefined until the server has told of it. */
function planOf(block, state) {
  return state.plans.get(block.result?.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/)?.[0]);
}

function viewOf(block) {
  if (block.kind !== "tool_call") return block.kind in VIEWS ? block.kind : "text";
  if (block.name === "conclude") return "conclusion";
  if (block.name === "propose_plan" && !block.is_error) return "plan";
  return block.execution_id ? "execution" : "tool";
}

const VIEWS = {
  text: {
    make: () => {
      const node = h("div", { class: "markdown" });
      node.view = new MarkdownView(node);
      return node;
    },
    update: (node, block) => node.view.set(block.text),
  },
  thinking: {
    make: () => h("details", { class: "thought" }, h("summary", {}, icon("thought"), "Thought", icon("chevron")), h("p")),
    update: (node, block) => setText(node.lastChild, block.text),
  },
  notice: {
    make: () => h("section", { class: "card notice", role: "note" }, icon("notice"), h("div", { class: "markdown" })),
    update: (node, block) => {
      node.dataset.code = block.code ?? "";
      node.view ??= new MarkdownView(node.lastChild);
      node.view.set(block.text);
    },
  },
  conclusion: {
    make: () => h("section", { class: "card conclusion" }, h("header", {}, h("span"), h("h2")), h("div", { class: "markdown" })),
    update: (node, { input }) => {
      const verified = input?.outcome === "verified";
      if (node.dataset.outcome !== input?.outcome) {
        node.dataset.outcome = input?.outcome ?? "";
        node.firstChild.firstChild.replaceChildren(icon(verified ? "done" : "blocked"));
        setText(node.firstChild.lastChild, verified ? "Goal verified" : "Blocked");
      }
      node.view ??= new MarkdownView(node.lastChild);
      node.view.set(input?.evidence ?? "");
    },
  },
  plan: {
    make: () => h("div", {}, document.createElement("plan-card"), h("p", { class: "tool" })),
    update: (node, block, app) => {
      const [card, line] = node.children;
      const plan = planOf(block, app.state);
      card.hidden = !plan;
      line.hidden = Boolean(plan);
      setText(line, toolWords(block.name, block.input));
      if (!plan) return;
      const ran = [...app.state.executions.values()].filter(({ plan_id: id }) => id === plan.id);
      card.update(app, plan, app.state.approvalFor("plan", plan.id), ran);
    },
  },
  execution: {
    make: () => h("div", { class: "execution" }, document.createElement("approval-card"), document.createElement("command-card")),
    update: (node, block, app) => {
      const [question, card] = node.children;
      const execution = app.state.executions.get(block.execution_id);
      const approval = app.state.approvalFor("execution", block.execution_id);
      question.hidden = !approval;
      if (approval) question.update(app, approval, execution);
      if (execution) card.update(app, execution);
      else card.hidden = true;
    },
  },
  tool: {
    make: () =>
      h(
        "details",
        { class: "tool" },
        h("summary", {}, h("span"), icon("chevron")),
        h("pre", { role: "group", tabindex: "0", "aria-label": "Result" }),
      ),
    update: (node, block) => {
      const { name, input, result, is_error: failed } = block;
      const line = node.firstChild.firstChild;
      const command = input?.command;
      const key = `${name} ${command} ${result === null || result === undefined}`;
      if (node.dataset.drawn !== key) {
        node.dataset.drawn = key;
        const words = command ? [hostBadge(input.host ?? "?"), commandCode(command, { class: "command" })] : [toolWords(name, input)];
        line.replaceChildren(...words);
      }
      node.classList.toggle("failed", Boolean(failed));
      if (failed && !node.dataset.seen) node.open = true;
      if (failed) node.dataset.seen = "yes";
      node.classList.toggle("empty", !result);
      setText(node.lastChild, result ?? "");
    },
  },
};

customElements.define("message-item", MessageItem);
