/** A field in which the operator changes the exact command that is asked about. */

import { h, setText } from "../dom.js";

/**
 * @param {string} label what is edited, for those who do not see the card
 * @param {string} command as it is asked about
 * @param {{save: (command: string) => Promise<unknown>, close: () => void}} acts
 * @returns {HTMLFormElement} to be put in the place of the command; it takes the focus once it is there
 */
export function commandEdit(label, command, { save, close }) {
  const field = h("textarea", { class: "input mono", "aria-label": label, maxlength: "8192", autocapitalize: "none", autocomplete: "off", spellcheck: "false", rows: String(rows(command)) });
  field.value = command;
  const says = h("p", { class: "hint", role: "status" }, "Nomos reads it again, and asks about what it is then.");
  const keep = h("button", { class: "button small primary" }, "Save");
  const leave = h("button", { type: "button", class: "button small quiet", on: { click: close } }, "Leave it");
  const submit = async (event) => {
    event.preventDefault();
    if (field.value === command) return close();
    for (const control of [field, keep, leave]) control.disabled = true;
    setText(says, "Reading it again…");
    try {
      await save(field.value);
      close();
    } catch (problem) {
      for (const control of [field, keep, leave]) control.disabled = false;
      setText(says, problem.message);
    }
    return undefined;
  };
  const keydown = (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  };
  const form = h("form", { class: "edit", on: { submit, keydown } }, field, h("div", { class: "row" }, keep, leave), says);
  requestAnimationFrame(() => field.focus());
  return form;
}

const rows = (command) => Math.min(12, Math.max(2, command.split("\n").length, Math.ceil(command.length / 70)));
