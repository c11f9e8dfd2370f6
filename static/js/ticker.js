/** One clock for everything on the page that counts seconds. */

const listeners = new Set();
let timer = null;

/** Call `listener` every second until `quiet(listener)`. */
export function tick(listener) {
  listeners.add(listener);
  timer ??= setInterval(() => listeners.forEach((each) => each()), 1000);
}

export function quiet(listener) {
  listeners.delete(listener);
  if (listeners.size) return;
  clearInterval(timer);
  timer = null;
}
