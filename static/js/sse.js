/** The text/event-stream format: pieces of text in, frames out. No DOM, no network. */

/**
 * Turns pieces of a stream into frames, however the pieces are cut.
 *
 * A frame is `{event, data, id}`: `event` is `"message"` where the stream names none, `data` is null for a frame that
 * only moves the cursor, `id` is undefined where the frame has none. A frame that the stream breaks off in is dropped,
 * and its id with it, as the format demands.
 */
export class SseParser {
  #rest = "";
  #started = false;
  #data = [];
  #event = "";
  #id;
  /** The `retry:` the server asked for last, in milliseconds; null before it did. */
  retry = null;

  /** @param {string} text @returns {{event: string, data: string|null, id: string|undefined}[]} */
  push(text) {
    const frames = [];
    let rest = this.#rest + text;
    if (!this.#started && rest) {
      this.#started = true;
      if (rest.charCodeAt(0) === 0xfeff) rest = rest.slice(1);
    }
    let from = 0;
    for (;;) {
      const lf = rest.indexOf("\n", from);
      const cr = rest.indexOf("\r", from);
      const at = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      // a CR at the very end may be the first half of CRLF
      if (at === -1 || (at === cr && at === rest.length - 1)) break;
      this.#line(rest.slice(from, at), frames);
      from = at + (at === cr && rest[at + 1] === "\n" ? 2 : 1);
    }
    this.#rest = rest.slice(from);
    return frames;
  }

  #line(line, frames) {
    if (line === "") {
      if (this.#data.length || this.#id !== undefined) {
        const data = this.#data.length ? this.#data.join("\n") : null;
        frames.push({ event: this.#event || "message", data, id: this.#id });
      }
      this.#data = [];
      this.#event = "";
      this.#id = undefined;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") {
      if (!value.includes("\0")) this.#id = value;
    } else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }
}
