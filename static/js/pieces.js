/** Output of one execution, put together from ranges and live pieces, by byte offset. No DOM. */

import { dropBytes, utf8Length } from "./text.js";

/** How much of a long output is fetched at first, and at most at once, in bytes. */
export const FIRST = 256 * 1024;

/**
 * Hands on each byte of an output once and in order, wherever it comes from.
 *
 * `range(offset, limit)` fetches `{offset, text, next_offset}`; `write(text)` takes what is new.
 */
export class Pieces {
  #range;
  #write;
  #next = null;
  #fetching = null;
  /** Bytes before the first one handed on. */
  skipped = 0;

  constructor({ range, write }) {
    this.#range = range;
    this.#write = write;
  }

  /** Start at the last FIRST bytes of the `size` that there are. Resolves when those are handed on. */
  open(size) {
    if (this.#next !== null) return this.#fetching ?? Promise.resolve();
    this.#next = this.skipped = Math.max(0, size - FIRST);
    return size > 0 ? this.#catchUp(size) : Promise.resolve();
  }

  /** A live piece. Dropped before `open`: what is stored by then is fetched. @returns {Promise<void>} */
  async push({ offset, text, end }) {
    if (this.#next === null) return;
    const until = end ?? offset + utf8Length(text);
    if (this.#fetching || offset > this.#next) {
      await this.#catchUp(until);
      return;
    }
    if (until <= this.#next) return;
    this.#write(offset === this.#next ? text : dropBytes(text, this.#next - offset));
    this.#next = until;
  }

  /** Make sure of everything up to `size` bytes. */
  async reach(size) {
    if (this.#next !== null && this.#next < size) await this.#catchUp(size);
  }

  async #catchUp(until) {
    while (this.#next < until) {
      this.#fetching ??= this.#fetch().finally(() => (this.#fetching = null));
      if (!(await this.#fetching)) return;
    }
  }

  async #fetch() {
    const asked = this.#next;
    const part = await this.#range(asked, FIRST);
    const next = part.next_offset ?? asked + utf8Length(part.text);
    if (next <= asked) return false;
    this.#next = next;
    this.#write(part.text);
    return true;
  }
}
