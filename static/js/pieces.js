/** Output of one execution, put together from ranges and live pieces, by byte offset. No DOM. */

import { dropBytes } from "./text.js";

const leftOut = (bytes) => `\n[… ${bytes} bytes left out …]\n`;

/** How much is fetched at once, in bytes. */
export const PART = 256 * 1024;

/**
 * Hands on each byte of an output once and in order, wherever it comes from.
 *
 * `range(offset, limit)` fetches `{offset, end, text}`; `write(text)` takes what is new.
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

  /** Start with the end of what there is, as a snapshot holds it (`{offset, end, text}`, or nothing yet). */
  open(tail = null) {
    this.#next = tail?.end ?? 0;
    this.skipped = tail?.offset ?? 0;
    if (tail?.text) this.#write(tail.text);
  }

  /** A live piece; `skipped` bytes before it are not sent live, because the output is long. */
  async push({ offset, end, text, skipped = 0 }) {
    if (skipped && !this.#fetching && offset > this.#next && offset - skipped <= this.#next) {
      this.#write(leftOut(offset - this.#next));
      this.#next = offset;
    }
    if (this.#fetching || offset > this.#next) {
      await this.reach(end);
      return;
    }
    if (end <= this.#next) return;
    this.#write(offset === this.#next ? text : dropBytes(text, this.#next - offset));
    this.#next = end;
  }

  /** Make sure of everything up to byte `end`. Rejects where it cannot be fetched; a later call tries again. */
  async reach(end) {
    while (this.#next < end) {
      this.#fetching ??= this.#fetch().finally(() => (this.#fetching = null));
      if (!(await this.#fetching)) return;
    }
  }

  async #fetch() {
    const part = await this.#range(this.#next, PART);
    if (part.end <= this.#next) return false;
    if (part.offset > this.#next) this.#write(leftOut(part.offset - this.#next));
    this.#next = part.end;
    this.#write(part.text);
    return true;
  }
}
