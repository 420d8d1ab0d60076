// Filters as text: key:value, -key:value to leave a value out, and words.

/** A key of a filter, and its parameter of the address. */
export interface Key {
  name: string;
  param: string;
  /** The parameter of -key:value: several values with commas between. */
  not?: string;
  about: string;
  /** The suggested values. */
  values?: readonly string[];
  /** Writes a value for the server. */
  take?: (value: string) => string;
  /** Writes a value of the address for people. */
  show?: (value: string) => string;
}

/** The filters of a list: its keys, and the meaning of words without a key. */
export interface Grammar {
  keys: readonly Key[];
  /** The key of a word; undefined for a list without a search by words. */
  word: (word: string) => Key | undefined;
  /** True if all words together are one value, such as a text to search for. */
  joined?: boolean;
}

export type Search = Record<string, string | undefined>;

export interface Token {
  key: Key;
  not: boolean;
  value: string;
}

/** Typed filters, and the problems of the rest. */
export interface Parsed {
  tokens: Token[];
  problems: string[];
}

/** Splits a text at spaces outside of quotes, and removes the quotes. A quoted word is marked: it is never a key. */
function wordsOf(text: string): { text: string; quoted: boolean }[] {
  const found = text.matchAll(/(-?[\w-]+:)?"([^"]*)"?|\S+/g);
  return [...found].map(([whole, key, value]) =>
    value === undefined ? { text: whole, quoted: false } : { text: (key ?? "") + value, quoted: !key },
  );
}

/** Finds the key of a word such as -status:running, and its value. */
function keyed(word: string, grammar: Grammar) {
  const [, minus, name = "", value = ""] = /^(-?)([\w-]+):(.*)$/s.exec(word) ?? [];
  return name
    ? { not: minus === "-", name, key: grammar.keys.find((k) => k.name === name || k.param === name), value }
    : undefined;
}

/** Reads typed filters. */
export function parse(text: string, grammar: Grammar): Parsed {
  const tokens: Token[] = [];
  const problems: string[] = [];
  const free: string[] = [];
  for (const word of wordsOf(text)) {
    const found = word.quoted ? undefined : keyed(word.text, grammar);
    if (!found) free.push(word.text);
    else if (!found.key) problems.push(`There is no filter ${found.name}. Put words with a colon in quotes.`);
    else if (found.not && !found.key.not) problems.push(`-${found.name} is not possible here.`);
    else if (found.value) tokens.push({ key: found.key, not: found.not, value: taken(found.key, found.value) });
  }
  for (const word of grammar.joined && free.length > 0 ? [free.join(" ")] : free) {
    const key = grammar.word(word);
    if (key) tokens.push({ key, not: false, value: taken(key, word) });
    else problems.push(`Write a key before ${word}.`);
  }
  return { tokens, problems };
}

const taken = (key: Key, value: string) => (key.take ? key.take(value) : value);

/** Adds tokens to others: a key has one value, and -key any number of values. */
export function merged(before: readonly Token[], added: readonly Token[]): Token[] {
  const out = (t: Token) =>
    added.some((a) => a.key.param === t.key.param && (a.not && t.not ? a.value === t.value : a.not === t.not));
  const last = added.filter(
    (a, i) =>
      !added
        .slice(i + 1)
        .some((b) => b.key.param === a.key.param && b.not === a.not && (!a.not || a.value === b.value)),
  );
  return [...before.filter((t) => !out(t)), ...last];
}

/** Returns the parameters of the address for these tokens; the others are empty. */
export function searchOf(tokens: readonly Token[], grammar: Grammar): Search {
  const search: Search = {};
  for (const key of grammar.keys) {
    search[key.param] = undefined;
    if (key.not) search[key.not] = undefined;
  }
  for (const { key, not, value } of tokens) {
    if (!not || !key.not) search[key.param] = value;
    else search[key.not] = search[key.not] ? `${search[key.not]},${value}` : value;
  }
  return search;
}

/** Returns the tokens of an address. */
export function tokensOf(search: Search, grammar: Grammar): Token[] {
  return grammar.keys.flatMap((key) => {
    const value = search[key.param];
    const left = key.not ? search[key.not]?.split(",") : undefined;
    return [
      ...(value ? [{ key, not: false, value }] : []),
      ...(left ?? []).filter(Boolean).map((one) => ({ key, not: true, value: one })),
    ];
  });
}

/** Writes a token as text. */
export function written({ key, not, value }: Token, grammar: Grammar): string {
  const shown = key.show ? key.show(value) : value;
  const quoted = /[\s"]/.test(shown) ? `"${shown.replaceAll('"', "")}"` : shown;
  const word = !not && grammar.joined && grammar.word(value) === key;
  if (word) return shown.split(/\s+/).some((one) => keyed(one, grammar)) ? `"${shown}"` : shown;
  return `${not ? "-" : ""}${key.name}:${quoted}`;
}

/** A completion of the last word. */
export interface Suggestion {
  text: string;
  about: string;
  /** False if a value must follow. */
  whole: boolean;
}

/** The most suggestions. */
const mostSuggestions = 12;

/** Completes the last word: first keys, and after a colon values. */
export function suggestions(typed: string, grammar: Grammar): Suggestion[] {
  const word = /\S*$/.exec(typed)?.[0] ?? "";
  const found = keyed(word, grammar);
  const minus = word.startsWith("-");
  if (found?.key) {
    const start = found.value.toLowerCase();
    const key = found.key;
    if (found.not && !key.not) return [];
    return (key.values ?? [])
      .filter((value) => value.toLowerCase().startsWith(start) && value.toLowerCase() !== start)
      .slice(0, mostSuggestions)
      .map((value) => ({
        text: `${minus ? "-" : ""}${key.name}:${/\s/.test(value) ? `"${value}"` : value}`,
        about: "",
        whole: true,
      }));
  }
  const start = word.slice(minus ? 1 : 0).toLowerCase();
  return grammar.keys
    .filter((key) => key.name.startsWith(start) && (!minus || key.not))
    .slice(0, mostSuggestions)
    .map((key) => ({
      text: `${minus ? "-" : ""}${key.name}:`,
      about: minus ? `not: ${key.about}` : key.about,
      whole: false,
    }));
}

/** Puts a suggestion in the place of the last word. */
export const completed = (typed: string, s: Suggestion) => typed.replace(/\S*$/, "") + s.text + (s.whole ? " " : "");

/** Writes a moment without a zone with the zone of this browser; a span such as 24h and all else stay. */
export function momentOf(value: string): string {
  if (!/^\d{4}-\d\d-\d\d/.test(value) || /(Z|[+-]\d\d:?\d\d)$/i.test(value)) return value;
  const at = new Date(value.length === 10 ? `${value}T00:00` : value);
  return Number.isNaN(at.getTime()) ? value : at.toISOString();
}
