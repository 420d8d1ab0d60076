// Text of agents is shown so that it cannot deceive: invisible characters are shown
// by its code, such as ⟦U+202E⟧. The rules are those of pkg/visible, which the command
// line uses.

const shown = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const ignorable = /[\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\u2800\u{16fe4}\u{1d159}]/u;
const mark = /\p{M}/u;
// biome-ignore lint/suspicious/noMisleadingCharacterClass: the marks themselves are meant
const enclosing = /[\p{Me}\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb]/u;
const base = /[\p{L}\p{N}\p{S}]/u;
/** How many marks a character may carry: more would cover the lines above and below. */
const maxMarks = 4;

/** A part of a text: as it is, or the code of an invisible character. */
export interface Piece {
  text: string;
  code: boolean;
}

/** Splits a text into visible parts and codes. lines keeps line feeds and tabs. */
export function pieces(text: string, lines: boolean): Piece[] {
  const found: Piece[] = [];
  let plain = "";
  let carries = false;
  let marks = 0;
  const shows = (char: string) => {
    if (!shown.test(char) || ignorable.test(char)) {
      carries = false;
      return false;
    }
    if (!mark.test(char)) {
      carries = base.test(char);
      marks = 0;
      return true;
    }
    if (!carries || marks === maxMarks || enclosing.test(char)) return false;
    marks++;
    return true;
  };
  for (const char of text) {
    if (lines && (char === "\n" || char === "\t")) {
      carries = false;
      plain += char;
    } else if (char !== "⟦" && shows(char)) {
      plain += char;
    } else {
      if (plain) found.push({ text: plain, code: false });
      plain = "";
      found.push({ text: `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`, code: true });
    }
  }
  if (plain) found.push({ text: plain, code: false });
  return found;
}

/** JSON with escapes for invisible characters, for editing: it means the same. */
export const escaped = (json: string) =>
  pieces(json, true)
    .map((p) => (p.code ? unicodeEscape(Number.parseInt(p.text.slice(3, -1), 16)) : p.text))
    .join("");

const unicodeEscape = (code: number) =>
  String.fromCodePoint(code)
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** The same as one text, for places that take no elements: titles, attributes, editors. */
export const visible = (text: string, lines = false) =>
  pieces(text, lines)
    .map((p) => p.text)
    .join("");
