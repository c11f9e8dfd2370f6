/** Building and changing nodes without a string of HTML. */

const ICONS = new URL("../icons.svg", import.meta.url).href;
const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element.
 * @param {string} tag @param {object} [attributes] `class`, `on` ({click: fn}), `data` ({id: …}); true sets an empty
 *   attribute, false and null set none. @param {...(Node|string|null|false)} children
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An icon of the sprite. Decoration, unless `label` names it. */
export function icon(name, label = null) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `icon icon-${name}`);
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${ICONS}#${name}`);
  svg.append(use);
  return svg;
}

/** Change a node's text only if it differs: an untouched node keeps the reader's selection. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set or remove an attribute, only if it differs. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else {
    const text = value === true ? "" : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}

/** Put an icon in the place of another, only if it is another one. */
export function setIcon(holder, name, label = null) {
  if (holder.dataset.icon === name) return;
  holder.dataset.icon = name;
  holder.replaceChildren(icon(name, label));
}

/**
 * Make the children of `parent` match `items`, in order; a node whose key is still there stays the same node.
 * @param {(item: object) => string} keyOf @param {(item: object) => Element} make
 * @param {(node: Element, item: object) => void} update called for each, also for new ones
 */
export function keyed(parent, items, keyOf, make, update) {
  const wanted = new Set(items.map(keyOf));
  const old = new Map();
  for (const child of [...parent.children]) {
    if (wanted.has(child.dataset.key)) old.set(child.dataset.key, child);
    else child.remove();
  }
  let cursor = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = old.get(key);
    if (!node) {
      node = make(item);
      node.dataset.key = key;
    }
    if (node === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
    update(node, item);
  }
}
