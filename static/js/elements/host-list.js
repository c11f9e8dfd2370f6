/** The inventory: every host with how it stands, what to do next, and a form for another one. */

import { announce } from "../announce.js";
import { call } from "../api.js";
import { h, icon, keyed, setText } from "../dom.js";
import { quiet, tick } from "../ticker.js";
import { age } from "../time.js";
import { HOST, hostNext } from "../words.js";
import { hostBadge } from "./parts.js";

export class HostList extends HTMLElement {
  #app = null;
  #list = h("ul", { class: "hosts" });
  #problems = new Map();
  #tick = () => this.#draw();

  connect(app) {
    this.#app = app;
    this.querySelector("[data-part=list]").replaceWith(this.#list);
    const form = this.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add(form);
    });
    for (const button of this.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", () => this.#copy(button));
    }
    app.addEventListener("change", ({ detail }) => [...detail].some((key) => key === "all" || key.startsWith("host:")) && this.#draw());
    tick(this.#tick);
  }

  disconnectedCallback() {
    quiet(this.#tick);
  }

  #draw() {
    const hosts = [...this.#app.state.hosts.values()].sort((a, b) => a.name.localeCompare(b.name));
    this.querySelector("[data-part=none]").hidden = hosts.length > 0;
    keyed(this.#list, hosts, ({ id }) => id, () => h("li", { class: "card" }), (node, host) => this.#row(node, host));
  }

  #row(node, host) {
    const problem = this.#problems.get(host.id);
    const seen = host.checked_at ? `looked at ${age(host.checked_at)} ago`.replace("now ago", "just now") : "";
    const key = JSON.stringify([host, problem, seen]);
    if (node.dataset.drawn === key) return;
    node.dataset.drawn = key;
    const words = HOST[host.state] ?? HOST.untested;
    const facts = [`${host.user}@${host.address}:${host.port}`, host.system, host.latency_ms !== null && `${host.latency_ms} ms`, seen];
    const test = h("button", { type: "button", class: "button small", disabled: host.testing, on: { click: () => this.#ask(host, "test") } }, host.testing ? "Testing…" : "Test");
    node.replaceChildren(
      h(
        "div",
        { class: "line" },
        hostBadge(host.name),
        h("span", { class: `chip ${words.tone}` }, icon(words.icon), words.label),
        host.practice && h("span", { class: "chip" }, "practice host"),
        test,
      ),
      h("p", { class: "hint mono" }, facts.filter(Boolean).join(" · ")),
      ...[problem ?? host.detail].filter(Boolean).map((text) => h("p", { class: "problem" }, text)),
      ...[hostNext(host)].filter(Boolean).map((text) => h("p", { class: "hint" }, text)),
      ...(host.offered_fingerprint ? [this.#trust(host)] : []),
      ...(host.fingerprint && !host.offered_fingerprint ? [h("p", { class: "hint" }, "Trusted key ", h("code", {}, host.fingerprint))] : []),
    );
  }

  #trust(host) {
    const act = () => this.#ask(host, "trust", { fingerprint: host.offered_fingerprint });
    return h(
      "div",
      { class: "trust" },
      h("p", {}, host.fingerprint ? "It now shows " : "It shows ", h("code", {}, host.offered_fingerprint)),
      h("p", { class: "hint" }, "Compare this with what the host itself says: ", h("code", {}, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")),
      h("button", { type: "button", class: "button primary", on: { click: act } }, icon("key"), "It is the same: trust this key"),
    );
  }

  async #ask(host, what, body) {
    this.#problems.delete(host.id);
    try {
      this.#app.putHosts([await call("POST", `/hosts/${host.id}/${what}`, body)]);
      announce(what === "trust" ? `The key of ${host.name} is trusted` : `Testing ${host.name}`);
    } catch (problem) {
      this.#problems.set(host.id, problem.message);
      this.#draw();
    }
  }

  async #add(form) {
    const says = form.querySelector(".problem");
    says.hidden = true;
    const { name, address } = Object.fromEntries(new FormData(form));
    try {
      const host = await call("POST", "/hosts", { name: name.trim(), address: address.trim() });
      this.#app.putHosts([host]);
      form.reset();
      announce(`${host.name} was added`);
    } catch (problem) {
      setText(says, problem.message);
      says.hidden = false;
    }
  }

  async #copy(button) {
    const { copy } = await import("../clipboard.js");
    const label = button.textContent;
    setText(button, (await copy(document.getElementById(button.dataset.copy).textContent)) ? "Copied" : "Press Ctrl+C");
    setTimeout(() => setText(button, label), 1600);
  }
}

customElements.define("host-list", HostList);
