/** Copying that also works on plain HTTP, where there is no navigator.clipboard. */

/** @param {string} text @returns {Promise<boolean>} whether it is on the clipboard. */
export async function copy(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // refused: the old way may still be open
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "sr";
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
