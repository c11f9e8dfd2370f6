/** Small pieces that several cards share. */

import { wordDiff } from "../diff.js";
import { h, icon } from "../dom.js";
import { hue } from "../host-colour.js";
import { readable } from "../text.js";

/** The badge that answers "where". */
export function hostBadge(host) {
  return h("span", { class: `host hue${hue(host)}` }, host);
}

const RISK_ICON = { read: "eye", change: "pencil", destroy: "flame" };

export function riskBadge(risk) {
  return h("span", { class: `risk ${risk}` }, icon(RISK_ICON[risk] ?? "pencil"), risk);
}

/** A command, whole, with whatever would not show made visible. Lines break between its words, not within them. */
export function commandCode(command, attributes = {}) {
  const words = command.split(/(\s+)/).map((word) => (word.trim() ? h("span", { class: "word" }, ...visible(word)) : visible(word)));
  return h("code", attributes, ...words);
}

const visible = (text) =>
  readable(text).map((part) => (part.hidden ? h("span", { class: "hidden-character", title: "A character that does not show" }, part.text) : part.text));

/** How a command differs from another, word by word; what is gone is struck through, what is new is marked. */
export function commandDiff(before, after) {
  const tag = { same: "span", gone: "del", new: "ins" };
  return h("code", { class: "diff" }, ...wordDiff(before, after).map(({ kind, text }) => h(tag[kind], {}, ...visible(text))));
}

/** `dt`/`dd` pairs, without those that have no value. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, ...pairs.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** The row that a decided approval shrinks to. */
export function decidedRow(approval, words) {
  const approved = approval.state === "approved";
  const name = approved ? "check" : approval.state === "denied" ? "cross" : "minus";
  return h("p", { class: `decided ${approval.state}` }, icon(name), h("span", {}, words));
}

/** What a card says of a step that can lock Nomos out; null where that is not to be feared. */
export function guardWords(guard) {
  if (!guard) return null;
  const within = guard.seconds ? ` within ${guard.seconds} s` : "";
  const revert = guard.revert && h("span", {}, `If Nomos cannot sign in again${within}, the host undoes this by itself: `, commandCode(guard.revert));
  return h("span", {}, guard.warning, guard.warning && revert && " ", revert);
}

/** What a card says of a snapshot of the guest, with the choice to have one taken: `{node, more()}`. */
export function snapshotChoice({ snapshot }, what = "the guest first") {
  if (!snapshot) return { node: null, more: () => ({}) };
  const box = h("input", { type: "checkbox" });
  const choice = snapshot.choice && h("label", {}, box, h("span", {}, `Take a snapshot of ${what}`));
  return { node: h("p", { class: "step-acts snapshot" }, h("span", {}, snapshot.words), choice), more: () => (box.checked ? { snapshot: true } : {}) };
}
