/**
 * What the page knows: a snapshot, and every event since applied to it. No DOM.
 *
 * Events carry the present state of one thing, so applying is replacing by id; only pieces of text and output carry an
 * offset, which shows a repeat (dropped) or a gap (the caller starts again from a snapshot).
 */

import { codePoints, dropCodePoints } from "./text.js";

const byId = (things) => new Map(things.map((thing) => [thing.id, thing]));

/** @param {string|null} cursor `<epoch>.<seq>` @returns {number} its seq; -1 where there is none. */
export function seqOf(cursor) {
  const seq = Number(cursor?.slice(cursor.lastIndexOf(".") + 1));
  return cursor && Number.isFinite(seq) ? seq : -1;
}

export class State {
  session = null;
  /** @type {Map<string, object>} in timeline order */
  messages = new Map();
  executions = new Map();
  approvals = new Map();
  plans = new Map();
  hosts = new Map();
  /** The end of each output as it was at the snapshot: `{offset, end, text}`. */
  outputs = new Map();
  window = null;
  sessions = new Map();
  /** Words of the operator that the server has not confirmed, by client_id: `{client_id, text, session, status, detail}`. */
  unsent = new Map();
  /** Whether there are messages before the first one here. */
  older = false;
  cursor = null;
  #seq = -1;
  #points = new Map();

  /** Replace everything about the session by a snapshot (null: no session yet). @returns {string[]} what changed */
  load(snapshot) {
    this.session = snapshot?.session ?? null;
    this.messages = byId(snapshot?.messages ?? []);
    this.executions = byId(snapshot?.executions ?? []);
    this.approvals = byId(snapshot?.approvals ?? []);
    this.plans = byId(snapshot?.plans ?? []);
    this.outputs = new Map((snapshot?.outputs ?? []).map((output) => [output.execution_id, output]));
    this.window = snapshot?.window ?? null;
    this.older = snapshot?.older ?? false;
    this.cursor = snapshot?.seq ?? null;
    this.#seq = seqOf(this.cursor);
    this.#points.clear();
    for (const message of this.messages.values()) this.#confirm(message);
    if (this.session) this.sessions.set(this.session.id, this.session);
    return ["all"];
  }

  /** Put a page of older messages before what is here; what is here already is newer. @returns {string[]} */
  prepend({ messages, executions, outputs, plans, older }) {
    this.messages = new Map([...byId(messages), ...this.messages]);
    this.executions = new Map([...byId(executions), ...this.executions]);
    this.plans = new Map([...byId(plans), ...this.plans]);
    for (const output of outputs) if (!this.outputs.has(output.execution_id)) this.outputs.set(output.execution_id, output);
    this.older = older;
    return messages.map(({ id }) => `message:${id}`).concat("older");
  }

  /** Replace the list of sessions. @returns {string[]} what changed */
  list(sessions) {
    this.sessions = byId(sessions);
    return ["sessions"];
  }

  /**
   * Apply one event of the feed.
   * @param {{type: string, data: object}} event @param {string|null} cursor its id
   * @returns {{changed: string[], gap?: boolean, output?: object}} `changed` names what to draw again, as `kind:id`;
   *   `gap` says that something in between is missing; `output` is a piece of output to hand on.
   */
  apply(event, cursor) {
    const seq = seqOf(cursor);
    if (cursor !== null) {
      if (seq <= this.#seq) return { changed: [] };
      this.#seq = seq;
      this.cursor = cursor;
    }
    const { data } = event;
    switch (event.type) {
      case "nomos.session.changed":
        return this.#sessionChanged(data);
      case "nomos.message.changed":
        return this.#messageChanged(data);
      case "nomos.message.delta":
        return this.#delta(data);
      case "nomos.block.changed":
        return this.#blockChanged(data);
      case "nomos.execution.changed":
        return this.#put(this.executions, "execution", data);
      case "nomos.execution.output":
        return { changed: [], output: data };
      case "nomos.approval.changed":
        return this.#put(this.approvals, "approval", data);
      case "nomos.plan.changed":
        return this.#put(this.plans, "plan", data);
      case "nomos.host.changed":
        return this.#put(this.hosts, "host", data);
      case "nomos.window.changed":
        this.window = data;
        return { changed: ["window"] };
      default:
        return { changed: [] };
    }
  }

  /** Draw a message at once, before the server has it. @returns {string[]} what changed */
  say(client_id, text, session) {
    this.unsent.set(client_id, { client_id, text, session, status: "sending", detail: null });
    return [`unsent:${client_id}`];
  }

  /** The server has not taken it. @returns {string[]} what changed */
  failed(client_id, detail) {
    const unsent = this.unsent.get(client_id);
    if (!unsent) return [];
    Object.assign(unsent, { status: "failed", detail });
    return [`unsent:${client_id}`];
  }

  /** Forget an unsent message. @returns {string[]} what changed */
  withdraw(client_id) {
    return this.unsent.delete(client_id) ? [`unsent:${client_id}`] : [];
  }

  /** The server's copy of a message, from an answer or the feed, whichever is first. @returns {string[]} */
  confirm(message) {
    if (!this.messages.has(message.id)) this.messages.set(message.id, message);
    this.#confirm(message);
    return [`message:${message.id}`];
  }

  /** The approval of an execution or plan, the latest where there were several. */
  approvalFor(kind, id) {
    let found = null;
    for (const approval of this.approvals.values()) {
      if (approval[`${kind}_id`] === id) found = approval;
    }
    return found;
  }

  #confirm(message) {
    if (message.client_id) this.unsent.delete(message.client_id);
  }

  #put(map, kind, thing) {
    map.set(thing.id, thing);
    return { changed: [`${kind}:${thing.id}`] };
  }

  #sessionChanged(session) {
    this.sessions.set(session.id, session);
    const changed = ["sessions"];
    if (this.session?.id === session.id) {
      this.session = session;
      changed.push("session");
    }
    return { changed };
  }

  #messageChanged(message) {
    const known = this.messages.get(message.id);
    const blocks = message.blocks ?? known?.blocks ?? [];
    for (const block of known?.blocks ?? []) this.#points.delete(block.id);
    this.messages.set(message.id, { ...message, blocks });
    this.#confirm(message);
    return { changed: [`message:${message.id}`] };
  }

  #blockChanged(block) {
    const message = this.messages.get(block.message_id);
    if (!message) return { changed: [], gap: true };
    const others = message.blocks.filter((other) => other.id !== block.id);
    if (!block.removed) others.push(block);
    others.sort((a, b) => a.position - b.position);
    this.#points.delete(block.id);
    this.messages.set(message.id, { ...message, blocks: others });
    return { changed: [`message:${message.id}`] };
  }

  #delta({ message_id, block_id, offset, text }) {
    const message = this.messages.get(message_id);
    const block = message?.blocks.find((candidate) => candidate.id === block_id);
    if (!block) return { changed: [], gap: true };
    const have = this.#points.get(block_id) ?? codePoints(block.text ?? "");
    if (offset > have) return { changed: [], gap: true };
    const fresh = dropCodePoints(text, have - offset);
    block.text = (block.text ?? "") + fresh;
    this.#points.set(block_id, have + codePoints(fresh));
    return { changed: fresh ? [`message:${message_id}`] : [] };
  }
}
