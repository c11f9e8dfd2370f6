/** The true word on whether the page is live. */

import { setText } from "../dom.js";
import { connectionWords } from "../words.js";

export class PageConnection extends HTMLElement {
  #app = null;

  connect(app) {
    this.#app = app;
    app.addEventListener("change", ({ detail }) => (detail.has("all") || detail.has("connection")) && this.#draw());
  }

  #draw() {
    const words = connectionWords(this.#app.status, this.#app.health);
    this.className = words.tone;
    this.dataset.feed = this.#app.status.state;
    this.title = words.title ?? "";
    setText(this.lastElementChild, words.text);
  }
}

customElements.define("page-connection", PageConnection);
