/**
 * What a terminal would show of a command's output: colours, carriage returns, cursor moves. No DOM.
 *
 * The last LIVE lines can still be rewritten; what scrolls out of them is settled for good.
 */

const ESCAPE =
  /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[()*+][0-9A-Za-z]|[@-OQ-WYZ\\=><0-9a-z])/y;
/** A sequence that is not finished after so many characters is none. */
const LONGEST_ESCAPE = 4096;
export const LIVE = 50;

const PLAIN = Object.freeze({ fg: "", bg: "", bold: false, dim: false, italic: false, underline: false, inverse: false });

/** The 16 colours, for finding the nearest: what the theme draws stays readable, true colours would not. */
const BASIC = [
  [0, 0, 0], [205, 49, 49], [13, 188, 121], [200, 180, 40], [36, 114, 200], [188, 63, 188], [17, 168, 205], [200, 200, 200],
  [110, 110, 110], [241, 76, 76], [35, 209, 139], [245, 245, 67], [59, 142, 234], [214, 112, 214], [41, 184, 219], [255, 255, 255],
];

function nearest(red, green, blue) {
  let best = 0;
  let least = Infinity;
  BASIC.forEach(([r, g, b], index) => {
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

function indexed(n) {
  if (n < 16) return n;
  if (n >= 232) return nearest(...Array(3).fill(8 + 10 * (n - 232)));
  const level = (v) => (v ? 55 + 40 * v : 0);
  return nearest(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6));
}

/**
 * Text in, lines out. A line is a list of runs `{text, style}`, `style` being class names (`f1 b`), `""` for plain.
 *
 * After a `write`, `take()` gives what is to be drawn: the lines that settled since, and which live lines changed.
 */
export class Output {
  #lines = [[]];
  #row = 0;
  #column = 0;
  #look = { ...PLAIN };
  #style = "";
  #pending = "";
  #settled = [];
  #dirty = new Set([0]);

  /** The lines that may still change. */
  get live() {
    return this.#lines;
  }

  /** @param {string} text the next piece, cut anywhere. */
  write(text) {
    const all = this.#pending + text;
    this.#pending = "";
    let at = 0;
    while (at < all.length) {
      const code = all.charCodeAt(at);
      if (code === 27) {
        const length = this.#escape(all, at);
        if (length === 0) {
          this.#pending = all.slice(at);
          return;
        }
        at += length;
      } else if (code < 32 || code === 127) {
        this.#control(code);
        at += 1;
      } else {
        let end = at + 1;
        while (end < all.length && all.charCodeAt(end) >= 32 && all.charCodeAt(end) !== 127) end += 1;
        this.#put(all.slice(at, end));
        at = end;
      }
    }
  }

  /** @returns {{settled: object[][], dirty: number[]}} what changed since the last time. */
  take() {
    const taken = { settled: this.#settled, dirty: [...this.#dirty] };
    this.#settled = [];
    this.#dirty = new Set();
    return taken;
  }

  #escape(all, at) {
    ESCAPE.lastIndex = at;
    const match = ESCAPE.exec(all);
    if (!match) return all.length - at < LONGEST_ESCAPE ? 0 : 1;
    if (match[2]) this.#sequence(match[1], match[2]);
    return match[0].length;
  }

  #control(code) {
    if (code === 10) this.#newLine();
    else if (code === 13) this.#column = 0;
    else if (code === 8) this.#column = Math.max(0, this.#column - 1);
    else if (code === 9) this.#column += 8 - (this.#column % 8);
  }

  #newLine() {
    this.#row += 1;
    this.#column = 0;
    if (this.#row === this.#lines.length) this.#lines.push([]);
    this.#dirty.add(this.#row);
    const over = this.#lines.length - LIVE;
    if (over <= 0) return;
    this.#settled.push(...this.#lines.splice(0, over));
    this.#row -= over;
    this.#allDirty();
  }

  #allDirty() {
    this.#dirty = new Set(this.#lines.keys());
  }

  #put(text) {
    const line = this.#lines[this.#row];
    let length = 0;
    for (const run of line) length += run.text.length;
    if (this.#column > length) {
      line.push({ text: " ".repeat(this.#column - length), style: "" });
      length = this.#column;
    }
    if (this.#column === length) {
      const last = line.at(-1);
      if (last && last.style === this.#style) last.text += text;
      else line.push({ text, style: this.#style });
    } else {
      this.#lines[this.#row] = this.#over(line, text);
    }
    this.#column += text.length;
    this.#dirty.add(this.#row);
  }

  #over(line, text) {
    const until = this.#column + text.length;
    return [
      ...slice(line, 0, this.#column),
      { text, style: this.#style },
      ...slice(line, until, Infinity),
    ];
  }

  #sequence(parameters, final) {
    if (final === "m") return this.#graphics(parameters);
    if (parameters.startsWith("?")) return undefined;
    const numbers = parameters.split(";").map((part) => parseInt(part, 10) || 0);
    const count = numbers[0] || 1;
    switch (final) {
      case "K":
        return this.#eraseLine(numbers[0]);
      case "J":
        return this.#eraseScreen(numbers[0]);
      case "A":
        this.#row = Math.max(0, this.#row - count);
        break;
      case "B":
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        break;
      case "C":
        this.#column += count;
        break;
      case "D":
        this.#column = Math.max(0, this.#column - count);
        break;
      case "E":
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        this.#column = 0;
        break;
      case "F":
        this.#row = Math.max(0, this.#row - count);
        this.#column = 0;
        break;
      case "G":
        this.#column = count - 1;
        break;
      default:
    }
    return undefined;
  }

  #eraseLine(how) {
    const line = this.#lines[this.#row];
    if (how === 2) this.#lines[this.#row] = [];
    else if (how === 1) {
      const blank = { text: " ".repeat(this.#column + 1), style: "" };
      this.#lines[this.#row] = [blank, ...slice(line, this.#column + 1, Infinity)];
    } else this.#lines[this.#row] = slice(line, 0, this.#column);
    this.#dirty.add(this.#row);
  }

  #eraseScreen(how) {
    if (how === 0) {
      this.#eraseLine(0);
      for (let row = this.#row + 1; row < this.#lines.length; row += 1) this.#lines[row] = [];
    } else if (how === 2 || how === 3) this.#lines = this.#lines.map(() => []);
    this.#allDirty();
  }

  #graphics(parameters) {
    const codes = (parameters || "0").split(/[;:]/).map(Number);
    const look = this.#look;
    for (let i = 0; i < codes.length; i += 1) {
      const code = codes[i];
      if (code === 0) Object.assign(look, PLAIN);
      else if (code === 1) look.bold = true;
      else if (code === 2) look.dim = true;
      else if (code === 3) look.italic = true;
      else if (code === 4) look.underline = true;
      else if (code === 7) look.inverse = true;
      else if (code === 22) look.bold = look.dim = false;
      else if (code === 23) look.italic = false;
      else if (code === 24) look.underline = false;
      else if (code === 27) look.inverse = false;
      else if (code >= 30 && code < 38) look.fg = `f${code - 30}`;
      else if (code >= 90 && code < 98) look.fg = `f${code - 82}`;
      else if (code === 39) look.fg = "";
      else if (code >= 40 && code < 48) look.bg = `g${code - 40}`;
      else if (code >= 100 && code < 108) look.bg = `g${code - 92}`;
      else if (code === 49) look.bg = "";
      else if (code === 38 || code === 48) {
        const eight = codes[i + 1] === 5;
        const colour = eight ? indexed(codes[i + 2]) : nearest(codes[i + 2], codes[i + 3], codes[i + 4]);
        look[code === 38 ? "fg" : "bg"] = `${code === 38 ? "f" : "g"}${colour}`;
        i += eight ? 2 : 4;
      }
    }
    this.#style = [
      look.fg, look.bg, look.bold && "b", look.dim && "d", look.italic && "i", look.underline && "u", look.inverse && "v",
    ].filter(Boolean).join(" ");
  }
}

/** The runs of `line` between two columns. */
function slice(line, from, to) {
  const runs = [];
  let start = 0;
  for (const { text, style } of line) {
    const cut = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    if (cut) runs.push({ text: cut, style });
    start += text.length;
  }
  return runs;
}
