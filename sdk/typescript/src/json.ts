/**
 * JSON, in which numbers that a double cannot hold stay exact.
 *
 * Integers outside of ±(2^53 - 1) are read as bigint. A bigint is written as an integer. `rewrite` keeps the text of every
 * number that was not changed, fractions included.
 */

/** A JSON value. */
export type Json = null | boolean | number | bigint | string | Json[] | { [member: string]: Json };

/** Text that is JSON already, and is sent as it is. */
export class JsonText {
  constructor(
    /** The text. */
    readonly text: string,
  ) {}
}

/** A value as it was written: the numbers of a text, by where they are. */
type Written = { text: string } | Written[] | Map<string, Written> | undefined;

/** Deeper documents are refused: the server takes none. */
const deepest = 1000;

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  read(): { value: Json; written: Written } {
    const out = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail();
    return out;
  }

  private fail(): never {
    throw new SyntaxError(`invalid JSON at position ${this.at}`);
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private take(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private value(depth: number): { value: Json; written: Written } {
    if (depth > deepest) this.fail();
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return { value: this.string(), written: undefined };
      default:
        if (this.take("true")) return { value: true, written: undefined };
        if (this.take("false")) return { value: false, written: undefined };
        if (this.take("null")) return { value: null, written: undefined };
        return this.number();
    }
  }

  private number(): { value: Json; written: Written } {
    const pattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (!match) this.fail();
    this.at += match[0].length;
    const near = Number(match[0]);
    const whole = match[1] === undefined && match[2] === undefined;
    return { value: whole && !Number.isSafeInteger(near) ? BigInt(match[0]) : near, written: { text: match[0] } };
  }

  private string(): string {
    const from = this.at++;
    for (; this.text[this.at] !== '"'; this.at++) {
      if (this.at >= this.text.length) this.fail();
      if (this.text[this.at] === "\\") this.at++;
    }
    this.at++;
    return JSON.parse(this.text.slice(from, this.at)) as string;
  }

  private array(depth: number): { value: Json; written: Written } {
    const value: Json[] = [];
    const written: Written[] = [];
    this.at++;
    this.space();
    if (this.take("]")) return { value, written };
    for (;;) {
      const one = this.value(depth + 1);
      value.push(one.value);
      written.push(one.written);
      this.space();
      if (this.take("]")) return { value, written };
      if (!this.take(",")) this.fail();
    }
  }

  private object(depth: number): { value: Json; written: Written } {
    const value: { [member: string]: Json } = {};
    const written = new Map<string, Written>();
    this.at++;
    this.space();
    if (this.take("}")) return { value, written };
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') this.fail();
      const name = this.string();
      this.space();
      if (!this.take(":")) this.fail();
      const one = this.value(depth + 1);
      // A member "__proto__" is a member.
      Object.defineProperty(value, name, { value: one.value, enumerable: true, configurable: true, writable: true });
      written.set(name, one.written);
      this.space();
      if (this.take("}")) return { value, written };
      if (!this.take(",")) this.fail();
    }
  }
}

/** Reads a text. Throws a SyntaxError. */
export function parse(text: string): Json {
  return new Reader(text).read().value;
}

/** A value as JSON. Values that JSON cannot express are refused or left out, as JSON.stringify does. */
export function stringify(value: unknown): string {
  const out = write(value, undefined, new Set());
  if (out === undefined) throw new TypeError(`${typeof value} is not a JSON value`);
  return out;
}

/** The text of a document after a change: numbers that are as they were are written as they were. */
export function rewrite(text: string, change: (value: Json) => Json | void): string {
  const { value, written } = new Reader(text).read();
  const next = change(value);
  const out = write(next === undefined ? value : next, written, new Set());
  if (out === undefined) throw new TypeError("the change has made something of the document that is not JSON");
  return out;
}

function write(value: unknown, was: Written, above: Set<object>): string | undefined {
  if (value instanceof JsonText) return value.text;
  if (typeof value === "object" && value !== null && typeof (value as { toJSON?: unknown }).toJSON === "function") {
    value = (value as { toJSON(): unknown }).toJSON();
  }
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not a JSON value`);
      if (was && "text" in was && Object.is(Number(was.text), value)) return was.text;
      return JSON.stringify(value);
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "object":
      break;
    default: // undefined, a function, a symbol
      return undefined;
  }
  if (value === null) return "null";
  if (above.has(value)) throw new TypeError("the value contains itself");
  above.add(value);
  const parts: string[] = [];
  if (Array.isArray(value)) {
    const items = Array.isArray(was) ? was : [];
    value.forEach((item, i) => parts.push(write(item, items[i], above) ?? "null"));
  } else {
    const members = was instanceof Map ? was : new Map<string, Written>();
    for (const [name, item] of Object.entries(value)) {
      const text = write(item, members.get(name), above);
      if (text !== undefined) parts.push(JSON.stringify(name) + ":" + text);
    }
  }
  above.delete(value);
  return Array.isArray(value) ? `[${parts.join()}]` : `{${parts.join()}}`;
}

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder("utf-8", { fatal: true });

/** A value as the bytes of JSON; empty for undefined and null. Bytes and JsonText go as they are: the server reads them strictly. */
export function encode(what: string, value: unknown): Uint8Array<ArrayBuffer> {
  if (value === undefined || value === null) return new Uint8Array();
  if (value instanceof Uint8Array) return new Uint8Array(value);
  try {
    return utf8.encode(stringify(value));
  } catch (err) {
    throw new TypeError(`encode the ${what}: ${(err as Error).message}`, { cause: err });
  }
}

/** The text of bytes that the server has sent as JSON. */
export function text(bytes: Uint8Array): string {
  return fromUtf8.decode(bytes);
}

/** The value of those bytes; undefined when there are none. */
export function decode(bytes: Uint8Array): Json | undefined {
  return bytes.length === 0 ? undefined : parse(text(bytes));
}
