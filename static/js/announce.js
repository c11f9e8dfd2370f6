/** Tells screen readers the boundaries: one status region for the whole page, never each piece of text. */

export function announce(text, { urgent = false } = {}) {
  const region = document.getElementById(urgent ? "alerts" : "status");
  region.textContent = "";
  requestAnimationFrame(() => (region.textContent = text));
}
