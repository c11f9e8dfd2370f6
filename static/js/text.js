/** Counting and cutting text the way the feed does: by code points (messages) or by bytes (output). No DOM. */

const encoder = new TextEncoder();

/** @param {string} text @returns {number} the Unicode code points in it; JavaScript's own length counts UTF-16 units. */
export function codePoints(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** @param {string} text @param {number} count @returns {string} the text without its first `count` code points. */
export function dropCodePoints(text, count) {
  let at = 0;
  for (let left = count; left > 0 && at < text.length; left -= 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return text.slice(at);
}

/** @param {string} text @param {number} count @returns {string} the text without its first `count` bytes of UTF-8. */
export function dropBytes(text, count) {
  return new TextDecoder().decode(encoder.encode(text).subarray(count));
}

/** Characters that show as nothing or turn the reading direction round: a command must not hide behind them. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/**
 * Split a command into what can be read and what cannot.
 * @param {string} command
 * @returns {{text: string, hidden: boolean}[]} hidden characters as their escapes (`U+202E`), one part each.
 */
export function readable(command) {
  const parts = [];
  let from = 0;
  for (const match of command.matchAll(HIDDEN)) {
    if (match.index > from) parts.push({ text: command.slice(from, match.index), hidden: false });
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push({ text: `U+${code}`, hidden: true });
    from = match.index + match[0].length;
  }
  if (from < command.length || !parts.length) parts.push({ text: command.slice(from), hidden: false });
  return parts;
}
