/**
 * One feed, read with fetch: EventSource closes for good on the first 503 or 401, tells nobody why, and cannot say
 * where to resume from. No DOM.
 */

import { SseParser } from "./sse.js";

/** Times in milliseconds. `silence` is 2.5 times the 15 s between the server's comments. */
export const PACE = { first: 500, most: 15000, silence: 40000, doubt: 20000 };

/**
 * Reads a feed for as long as it is not closed, and comes back by itself after every break.
 *
 * Calls `on.event(event)` with each parsed event, in order; `on.control(name, data)` with each control frame;
 * `on.status(status)` whenever the connection changes: `{state, since, reason}` with `state` one of `connecting`,
 * `live`, `reconnecting`, `ended`. `ended` is final: `reason` is `signed_out`, `gone`, `refused` or `closed`.
 * After a `reset` frame it ends with reason `reset`: whoever reads must start again from a snapshot.
 */
export class Feed {
  #address;
  #on;
  #pace;
  #fetch;
  #abort = null;
  #closed = false;
  #wakeUp = null;
  #heard = 0;
  #failures = 0;
  #asked = null;
  /** The cursor of the last event that was handed on. */
  cursor;

  /**
   * @param {{address: (cursor: string|null) => string, after: string|null, on: object, pace?: object,
   *   fetch?: typeof fetch}} options `address` gives the URL to read from after a cursor.
   */
  constructor({ address, after, on, pace = {}, fetch = globalThis.fetch.bind(globalThis) }) {
    this.#address = address;
    this.cursor = after;
    this.#on = on;
    this.#pace = { ...PACE, ...pace };
    this.#fetch = fetch;
  }

  /** Read until closed. Resolves then; never rejects. */
  async run() {
    this.#status("connecting");
    while (!this.#closed) {
      const end = await this.#read();
      if (this.#closed) break;
      if (end.final) {
        this.#closed = true;
        this.#status("ended", end.reason);
        return;
      }
      this.#status("reconnecting", end.reason);
      await this.#pause(end.wait);
    }
    this.#status("ended", "closed");
  }

  /** Stop reading, now. */
  close() {
    this.#closed = true;
    this.#abort?.abort();
    this.#wakeUp?.();
  }

  /** The device woke up or the network came back: look at once whether the connection is still one. */
  wake() {
    if (this.#wakeUp) this.#wakeUp();
    else if (this.#abort && Date.now() - this.#heard > this.#pace.doubt) this.#abort.abort();
  }

  async #read() {
    const abort = (this.#abort = new AbortController());
    let watchdog;
    const heard = () => {
      this.#heard = Date.now();
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), this.#pace.silence);
    };
    heard();
    try {
      const response = await this.#fetch(this.#address(this.cursor), {
        headers: { Accept: "text/event-stream" },
        cache: "no-store",
        signal: abort.signal,
      });
      const refusal = refused(response);
      if (refusal) return refusal;
      return await this.#frames(response.body.getReader(), heard);
    } catch {
      return { reason: "cut" };
    } finally {
      clearTimeout(watchdog);
      abort.abort();
      this.#abort = null;
    }
  }

  async #frames(reader, heard) {
    const parser = new SseParser();
    const decoder = new TextDecoder();
    let first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#closed) return { reason: "cut" };
      heard();
      if (first) {
        first = false;
        this.#failures = 0;
        this.#status("live");
      }
      for (const frame of parser.push(decoder.decode(value, { stream: true }))) {
        const end = this.#frame(frame);
        if (this.#closed) return { reason: "closed" };
        if (end) return end;
      }
      this.#asked = parser.retry ?? this.#asked;
    }
  }

  #frame({ event, data, id }) {
    if (event === "message") {
      if (data !== null) this.#on.event(JSON.parse(data), id ?? null);
      if (id !== undefined) this.cursor = id;
      return null;
    }
    const told = data ? JSON.parse(data) : {};
    this.#on.control(event, told);
    if (event === "reset") return { final: true, reason: "reset" };
    // a server that goes away asks for spread-out returns, so that its successor is not run over
    if (event === "bye") return { reason: "bye", wait: told.retry_ms ?? 300 + Math.random() * 1700 };
    return null;
  }

  #status(state, reason = null) {
    this.#on.status({ state, reason, since: Date.now() });
  }

  #pause(wait) {
    const base = Math.min(this.#asked ?? this.#pace.first, this.#pace.most);
    const backoff = Math.min(base * 2 ** this.#failures, this.#pace.most);
    this.#failures += 1;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wakeUp(), wait ?? backoff * (0.5 + Math.random() / 2));
      this.#wakeUp = () => {
        clearTimeout(timer);
        this.#wakeUp = null;
        resolve();
      };
    });
  }
}

function refused(response) {
  const { status } = response;
  if (status === 401) return { final: true, reason: "signed_out" };
  if (status === 403) return { final: true, reason: "refused" };
  if (status === 404 || status === 410) return { final: true, reason: "gone" };
  if (status === 200 && response.body) return null;
  const after = Number(response.headers.get("Retry-After"));
  return { reason: `status ${status}`, wait: after > 0 ? Math.min(after, 30) * 1000 : undefined };
}
