/** Where the operator writes. Usable at all times; what was written is never lost. */

export class MessageComposer extends HTMLElement {
  #app = null;
  #area;
  #shown = undefined;

  connect(app) {
    this.#app = app;
    const form = this.querySelector("form");
    this.#area = form.querySelector("textarea");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    this.#area.addEventListener("input", () => this.#changed());
    document.addEventListener("nomos:edit", ({ detail }) => this.put(detail));
    app.addEventListener("change", ({ detail }) => detail.has("all") && this.#restore());
  }

  /** Put words in, after what is there. */
  put(text) {
    this.#area.value = [this.#area.value.trim(), text].filter(Boolean).join("\n");
    this.#changed();
    this.#area.focus();
  }

  #send() {
    const text = this.#area.value.trim();
    if (!text) return;
    this.#app.send(text);
    this.#area.value = "";
    this.#changed();
    // on a phone the keyboard would cover the answer
    if (matchMedia("(pointer: coarse)").matches) this.#area.blur();
  }

  #changed() {
    this.#area.style.height = "auto";
    this.#area.style.height = `${Math.min(this.#area.scrollHeight, 220)}px`;
    store(this.#key(), this.#area.value);
  }

  /** Another session is shown: its own draft comes back. */
  #restore() {
    const key = this.#key();
    if (key === this.#shown) return;
    // what was written before this script ran stays
    const early = this.#shown === undefined ? this.#area.value : "";
    this.#shown = key;
    this.#area.value = early || stored(key);
    this.#changed();
  }

  #key() {
    return `nomos.draft.${this.#app.id ?? "new"}`;
  }
}

function store(key, text) {
  try {
    if (text) sessionStorage.setItem(key, text);
    else sessionStorage.removeItem(key);
  } catch {
    // storage is off: drafts last as long as the page
  }
}

function stored(key) {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

customElements.define("message-composer", MessageComposer);
