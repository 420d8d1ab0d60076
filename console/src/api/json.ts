// JSON as it is written: people approve exactly what they see, and a browser would round
// 12345678901234567890 to another number.

/** A number that JavaScript would write in another way. */
export class Exact {
  constructor(readonly text: string) {}
  toString() {
    return this.text;
  }
  toJSON() {
    const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
    return raw ? raw(this.text) : Number(this.text);
  }
}

/** Parses JSON; numbers that would change are kept as they are written. */
export function parse(text: string): unknown {
  const reviver = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source !== undefined && context.source !== String(value)
      ? new Exact(context.source)
      : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

export const pretty = (value: unknown) => (value === undefined ? "" : JSON.stringify(value, null, 2));

/** A part of a document that differs. */
export interface Difference {
  pointer: string;
  before: unknown;
  after: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);

/** Returns the differences between two documents, by JSON pointer. Lists are compared place by place. */
export function differences(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const parts = (key: string | number) => `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => differences(before[key], after[key], parts(key)));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const found: Difference[] = [];
    for (let i = 0; i < Math.max(before.length, after.length); i++)
      found.push(...differences(before[i], after[i], parts(i)));
    return found;
  }
  return [{ pointer, before, after }];
}

/** A line of a text and its change. */
export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

/** The most lines that are compared one by one: beyond, all is shown as removed and added. */
const mostLines = 2000;

/** Compares two texts line by line (longest common subsequence). */
export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const all = (lines: string[], kind: DiffLine["kind"]) => lines.map((text) => ({ kind, text }));
  if (a.length > mostLines || b.length > mostLines) return [...all(a, "removed"), ...all(b, "added")];
  const width = b.length + 1;
  const length = new Uint16Array((a.length + 1) * width);
  const at = (i: number, k: number) => length[i * width + k] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      length[i * width + k] = a[i] === b[k] ? at(i + 1, k + 1) + 1 : Math.max(at(i + 1, k), at(i, k + 1));
  const lines: DiffLine[] = [];
  let i = 0;
  let k = 0;
  while (i < a.length || k < b.length) {
    if (i < a.length && k < b.length && a[i] === b[k]) {
      lines.push({ kind: "same", text: a[i] ?? "" });
      i++;
      k++;
    } else if (i < a.length && (k === b.length || at(i + 1, k) >= at(i, k + 1))) {
      lines.push({ kind: "removed", text: a[i++] ?? "" });
    } else {
      lines.push({ kind: "added", text: b[k++] ?? "" });
    }
  }
  return lines;
}
