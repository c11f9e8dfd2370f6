/**
 * Following the end of a growing timeline is the reader's choice, not a distance: it ends when the reader scrolls up,
 * and begins again at the bottom.
 */

import { selecting } from "./output-view.js";

export class Follow {
  #box;
  #on = true;
  #grabbed = false;
  #passed = null;
  #put = 0;
  #size = "";
  #changed;
  #hold;

  /**
   * @param {HTMLElement} box scrolls. @param {HTMLElement} content grows in it. @param {(on: boolean) => void} changed
   * @param {() => Element|null} hold what must not be scrolled out at the top: a question is read from its beginning
   */
  constructor(box, content, changed, hold) {
    this.#hold = hold;
    this.#box = box;
    this.#changed = changed;
    for (const event of ["wheel", "touchmove", "keydown"]) {
      box.addEventListener(event, () => requestAnimationFrame(() => this.#look(false)), { passive: true });
    }
    box.addEventListener("pointerdown", () => (this.#grabbed = true), { passive: true });
    for (const event of ["pointerup", "pointercancel"]) addEventListener(event, () => (this.#grabbed = false), { passive: true });
    box.addEventListener("scroll", () => this.#look(!this.#grabbed && !this.#scrolledByReader()), { passive: true });
    new ResizeObserver(() => this.#grown()).observe(content);
    new ResizeObserver(() => this.#grown()).observe(box);
  }

  /** Go to the end and stay there; also past what is held, if the reader asks for that. */
  toEnd({ past = false } = {}) {
    if (past) this.#passed = this.#hold();
    this.#set(true);
    this.#move();
  }

  /** A scroll that neither this object nor a change of the layout made: by the focus, a search, a screen reader. */
  #scrolledByReader() {
    const { scrollTop, scrollHeight, clientHeight } = this.#box;
    return Math.abs(scrollTop - this.#put) > 1 && this.#size === `${scrollHeight} ${clientHeight}`;
  }

  #move() {
    const hold = this.#hold();
    const held = hold === this.#passed ? null : hold;
    const end = this.#box.scrollHeight - this.#box.clientHeight;
    const start = held ? this.#box.scrollTop + held.getBoundingClientRect().top - this.#box.getBoundingClientRect().top - 10 : end;
    this.#box.scrollTop = Math.min(start, end);
    this.#put = this.#box.scrollTop;
  }

  #atEnd() {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < 40;
  }

  #look(joinOnly) {
    if (this.#atEnd()) {
      if (!joinOnly) this.#passed = this.#hold();
      this.#set(true);
    } else if (!joinOnly) this.#set(false);
  }

  #grown() {
    this.#size = `${this.#box.scrollHeight} ${this.#box.clientHeight}`;
    if (this.#on && !selecting(this.#box)) this.#move();
  }

  #set(on) {
    if (on === this.#on) return;
    this.#on = on;
    this.#changed(on);
  }
}
