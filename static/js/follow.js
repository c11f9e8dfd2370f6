/**
 * Following the end of a growing timeline is the reader's choice, not a distance: it ends when the reader scrolls up,
 * and begins again at the bottom.
 */

import { selecting } from "./output-view.js";

export class Follow {
  #box;
  #on = true;
  #held = false;
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
    box.addEventListener("pointerdown", () => (this.#held = true), { passive: true });
    for (const event of ["pointerup", "pointercancel"]) addEventListener(event, () => (this.#held = false), { passive: true });
    // a scroll is the reader's only while the scroll bar is held; otherwise it may be the layout's
    box.addEventListener("scroll", () => this.#look(!this.#held), { passive: true });
    new ResizeObserver(() => this.#grown()).observe(content);
    new ResizeObserver(() => this.#grown()).observe(box);
  }

  /** Go to the end and stay there. */
  toEnd() {
    this.#set(true);
    this.#move();
  }

  #move() {
    const held = this.#hold();
    const end = this.#box.scrollHeight - this.#box.clientHeight;
    const start = held ? this.#box.scrollTop + held.getBoundingClientRect().top - this.#box.getBoundingClientRect().top - 10 : end;
    this.#box.scrollTop = Math.min(start, end);
  }

  #atEnd() {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < 40;
  }

  #look(joinOnly) {
    if (this.#atEnd()) this.#set(true);
    else if (!joinOnly) this.#set(false);
  }

  #grown() {
    if (this.#on && !selecting(this.#box)) this.#move();
  }

  #set(on) {
    if (on === this.#on) return;
    this.#on = on;
    this.#changed(on);
  }
}
