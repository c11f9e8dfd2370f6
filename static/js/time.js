/** Times as words. No DOM. */

/** How far the server's clock is ahead of this machine's, in milliseconds: on a LAN they often differ by minutes. */
let ahead = 0;

/** Learn the server's clock from the Date header of an answer. */
export function observe(dateHeader, here = Date.now()) {
  const there = Date.parse(dateHeader ?? "");
  // the header has whole seconds: half of one is the best guess
  if (Number.isFinite(there)) ahead = Math.abs(there + 500 - here) < 2000 ? 0 : there + 500 - here;
}

/** Now, by the server's clock, in milliseconds. */
export function now() {
  return Date.now() + ahead;
}

/** Seconds from one time to another (ISO 8601, or null for now), never negative. */
export function secondsBetween(from, to = null) {
  return Math.max(0, ((to ? Date.parse(to) : now()) - Date.parse(from)) / 1000);
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `1 h 4 min`. Live ones count whole seconds, ended ones a tenth below ten. */
export function duration(seconds, { live = false } = {}) {
  if (seconds < 10 && !live) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

/** What is left of a lease: whole minutes rounded up, seconds in the last minute. */
export function left(seconds) {
  return seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds)} s`;
}

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** `14:02`, in the reader's zone. */
export function clock(iso) {
  return HOUR.format(typeof iso === "number" ? iso : Date.parse(iso));
}

/** Date and time in full, for titles. */
export function full(iso) {
  return FULL.format(Date.parse(iso));
}

/** `now`, `4 min`, `2 h`, `3 d`: how long ago, for lists. */
export function age(iso) {
  const seconds = secondsBetween(iso);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}
