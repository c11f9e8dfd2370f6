/** What is different between two commands, word by word. No DOM. */

/** Beyond this many comparisons the differing middle is taken as a whole: a card must not hang. */
const MOST = 250_000;

/**
 * @param {string} before @param {string} after
 * @returns {{text: string, kind: "same"|"gone"|"new"}[]} neighbours of one kind are one part; the `same` and `gone` ones
 *   make up `before`, the `same` and `new` ones `after`, to the byte.
 */
export function wordDiff(before, after) {
  const a = split(before);
  const b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const parts = [];
  add(parts, "same", a.slice(0, head));
  middle(parts, a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  add(parts, "same", tail ? a.slice(-tail) : []);
  return parts;
}

const split = (text) => text.split(/(\s+)/).filter(Boolean);

function add(parts, kind, words) {
  if (!words.length) return;
  const last = parts.at(-1);
  if (last?.kind === kind) last.text += words.join("");
  else parts.push({ kind, text: words.join("") });
}

/** The longest common run of words stays, the rest is gone or new. */
function middle(parts, a, b) {
  if (a.length * b.length > MOST) {
    add(parts, "gone", a);
    add(parts, "new", b);
    return;
  }
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  let [i, j] = [0, 0];
  let [gone, fresh] = [[], []];
  const flush = () => {
    add(parts, "gone", gone);
    add(parts, "new", fresh);
    [gone, fresh] = [[], []];
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j] && (a[i].trim() || !(gone.length || fresh.length) || bothNext(a, b, i, j))) {
      flush();
      add(parts, "same", [a[i]]);
      i += 1;
      j += 1;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) gone.push(a[i++]);
    else fresh.push(b[j++]);
  }
  flush();
}

/** Whether after this blank both go on with the same word: else the blank belongs to what changed. */
const bothNext = (a, b, i, j) => a[i + 1] !== undefined && a[i + 1] === b[j + 1];
