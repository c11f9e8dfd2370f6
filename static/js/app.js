/** The page's one object: what is known, where it comes from, and what can be asked of the server. */

import { apiUrl, BASE, call } from "./api.js";
import { Feed } from "./feed.js";
import { uuid } from "./ids.js";
import { State } from "./state.js";

const RETRY = 2000;

/**
 * Emits `change` with a Set of what changed (`detail`: `message:<id>`, `execution:<id>`, `approval:<id>`, `plan:<id>`,
 * `unsent:<id>`, `session`, `sessions`, `window`, `connection`, or `all` after another session was opened).
 */
export class App extends EventTarget {
  state = new State();
  status = { state: "connecting", reason: null, since: Date.now() };
  /** `{worker, model, since}` as the feed last told; null before it did. */
  health = null;
  operator;
  assentMinutes;
  #feed = null;
  #visit = 0;
  #withHosts;
  #beginning = null;
  #outputs = new Map();

  constructor({ snapshot = null, sessions, hosts = null, operator, assent_minutes: minutes, seq = null }) {
    super();
    this.operator = operator;
    this.assentMinutes = minutes ?? 30;
    this.state.list(sessions);
    this.state.load(snapshot);
    this.state.cursor ??= seq;
    this.#withHosts = hosts !== null;
    for (const host of hosts ?? []) this.state.hosts.set(host.id, host);
  }

  /** Open the feed and follow the browser's history and the device's sleep. */
  start() {
    this.#changed(["all"]);
    this.#listen();
    addEventListener("popstate", () => this.#visitAddress());
    addEventListener("online", () => this.#feed?.wake());
    addEventListener("pageshow", () => this.#feed?.wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#feed?.wake());
    addEventListener("pagehide", () => this.#feed?.close());
  }

  /** The session that is shown; null on the start page. */
  get id() {
    return this.state.session?.id ?? null;
  }

  /** The address of a session's page; of the start page for null. */
  address(id) {
    return id ? `${BASE}/sessions/${id}` : `${BASE}/`;
  }

  /** Show another session (null: a new one). The old one's feed is closed first. @throws {Problem} */
  async open(id, { push = true } = {}) {
    const visit = this.#leave();
    const snapshot = id ? await call("GET", `/sessions/${id}`) : null;
    if (visit !== this.#visit) return;
    this.#changed(this.state.load(snapshot));
    if (push) history.pushState(null, "", this.address(id));
    this.#listen();
  }

  /**
   * Say something in the session, making one first on the start page. The words are on the page at once; whatever
   * fails is shown with them.
   */
  async send(text, client_id = uuid()) {
    this.#changed(this.state.say(client_id, text, this.id));
    try {
      const session = this.id ?? (await (this.#beginning ??= this.#begin().finally(() => (this.#beginning = null))));
      this.state.unsent.get(client_id).session = session;
      const message = await call("POST", `/sessions/${session}/messages`, { client_id, text });
      if (session === this.id) this.#changed(this.state.confirm(message));
      else this.#changed(this.state.withdraw(client_id));
    } catch (problem) {
      this.#changed(this.state.failed(client_id, problem.message));
    }
  }

  /** Take back words that were not sent; returns them. */
  withdraw(client_id) {
    const text = this.state.unsent.get(client_id)?.text ?? "";
    this.#changed(this.state.withdraw(client_id));
    return text;
  }

  /**
   * Decide an approval; `steps` are the numbers of those of a plan that are approved, null for all.
   * @throws {Problem} 409 and 410 where it has been decided or withdrawn.
   */
  async decide(approval, verdict, { scope = null, note = "", steps = null, snapshot = false } = {}) {
    const body = { verdict, digest: approval.digest };
    if (steps) body.steps = steps;
    if (scope) body.scope = scope;
    if (snapshot) body.snapshot = true;
    if (note) body.note = note;
    await call("PUT", `/approvals/${approval.id}/decision`, body);
  }

  /** Put another command in the place of the one that is asked about. */
  async editCommand(approval, command) {
    await call("PUT", `/approvals/${approval.id}/command`, { command, digest: approval.digest });
  }

  /** The same for a step of a plan, numbered from 0. */
  async editStep(approval, number, command) {
    await call("PUT", `/approvals/${approval.id}/steps/${number}`, { command, digest: approval.digest });
  }

  /** Stop the turn and every execution of the session. */
  async stop() {
    await call("POST", `/sessions/${this.id}/stop`, { executions: true });
  }

  /** Hand a running command a line of input. */
  async input(execution, text) {
    await call("POST", `/executions/${execution.id}/input`, { text });
  }

  /** Ask about the command that undoes an execution. */
  async undo(execution) {
    await call("POST", `/executions/${execution.id}/undo`);
  }

  async cancel(execution) {
    await call("POST", `/executions/${execution.id}/cancellation`);
  }

  async extendWindow() {
    await call("PUT", `/sessions/${this.id}/window`, { minutes: this.assentMinutes });
  }

  /** End the window. @returns {Promise<object[]>} the executions that go on all the same */
  async revokeWindow() {
    return (await call("DELETE", `/sessions/${this.id}/window`)).still_running;
  }

  /** Fetch the messages before those that are shown. @throws {Problem} */
  async earlier() {
    const { id } = this;
    const [first] = this.state.messages.keys();
    const snapshot = await call("GET", `/sessions/${id}?before=${first}`);
    if (id === this.id) this.#changed(this.state.prepend(snapshot));
  }

  /** Hosts as an answer of the server gives them; the feed may bring them once more. */
  putHosts(hosts) {
    for (const host of hosts) this.state.hosts.set(host.id, host);
    this.#changed(hosts.map(({ id }) => `host:${id}`));
  }

  /** A part of an execution's output. */
  output(id, offset, limit) {
    return call("GET", `/executions/${id}/output?offset=${offset}&limit=${limit}`);
  }

  /** Hear the live pieces of an execution's output: `listener({offset, text})`. Returns how to stop. */
  onOutput(id, listener) {
    this.#outputs.set(id, listener);
    return () => this.#outputs.get(id) === listener && this.#outputs.delete(id);
  }

  /** Make a session and show it, unless the operator has gone elsewhere meanwhile. @returns its id */
  async #begin() {
    const visit = this.#visit;
    const { id } = await call("POST", "/sessions", {});
    const snapshot = await call("GET", `/sessions/${id}`);
    if (visit === this.#visit) {
      this.#leave();
      this.#changed(this.state.load(snapshot));
      history.pushState(null, "", this.address(id));
      this.#listen();
    }
    return id;
  }

  #leave() {
    this.#feed?.close();
    this.#visit += 1;
    return this.#visit;
  }

  async #visitAddress() {
    const match = location.pathname.match(/\/sessions\/([^/]+)$/);
    try {
      await this.open(match ? match[1] : null, { push: false });
    } catch {
      location.reload();
    }
  }

  #listen() {
    const visit = this.#visit;
    const { id } = this;
    const { cursor: from } = this.state;
    const mine = (listener) => (...values) => visit === this.#visit && listener(...values);
    this.#feed = new Feed({
      after: from,
      address: (cursor) => this.#feedUrl(id, cursor),
      on: {
        event: mine((event, cursor) => this.#event(event, cursor)),
        control: mine((name, data) => this.#control(name, data, from)),
        status: mine((status) => this.#status(status)),
      },
    });
    this.#feed.run();
  }

  #feedUrl(id, cursor) {
    const after = cursor ? `&after=${encodeURIComponent(cursor)}` : "";
    if (id) return apiUrl(`/sessions/${id}/events?list=1${after}`);
    return apiUrl(`/events?types=nomos.session.changed${this.#withHosts ? ",nomos.host.changed" : ""}${after}`);
  }

  #event(event, cursor) {
    const { changed, gap, output } = this.state.apply(event, cursor);
    if (gap) this.#again();
    if (output) this.#outputs.get(output.execution_id)?.(output);
    if (changed.length) this.#changed(changed);
  }

  #control(name, data, from) {
    if (name === "health") {
      this.health = data;
      this.#changed(["connection"]);
    } else if (name === "current" && from === null) this.#relist();
  }

  #status(status) {
    if (status.state === "ended" && status.reason === "reset") {
      this.#again();
      return;
    }
    if (status.state === "reconnecting" && this.status.state === "reconnecting") status.since = this.status.since;
    this.status = status;
    this.#changed(["connection"]);
  }

  /** Start again from a snapshot: after a reset or a gap, the same way as at the beginning. */
  async #again() {
    const visit = this.#leave();
    this.status = { state: "reconnecting", reason: "reset", since: Date.now() };
    this.#changed(["connection"]);
    while (visit === this.#visit) {
      try {
        const snapshot = this.id ? await call("GET", `/sessions/${this.id}`) : null;
        const list = await call("GET", "/sessions");
        if (visit !== this.#visit) return;
        this.state.list(list.sessions);
        this.#changed(this.state.load(snapshot));
        this.#listen();
        return;
      } catch (problem) {
        if (problem.status === 401 || problem.status === 404) {
          this.#status({ state: "ended", reason: problem.status === 401 ? "signed_out" : "gone", since: Date.now() });
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY));
      }
    }
  }

  /** A feed that was opened without a cursor: what changed before is read once it is open. */
  async #relist() {
    const { sessions } = await call("GET", "/sessions").catch(() => ({ sessions: null }));
    if (sessions) this.#changed(this.state.list(sessions));
    const { hosts } = this.#withHosts ? await call("GET", "/hosts").catch(() => ({ hosts: null })) : { hosts: null };
    if (hosts) this.putHosts(hosts);
  }

  #changed(what) {
    this.dispatchEvent(new CustomEvent("change", { detail: new Set(what) }));
  }
}
