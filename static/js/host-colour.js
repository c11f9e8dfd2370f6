/** One of eight hues for a host's name, the same everywhere. The name is always written beside it. */

export function hue(name) {
  let hash = 0;
  for (const char of name) hash = (hash * 31 + char.codePointAt(0)) >>> 0;
  return hash % 8;
}
