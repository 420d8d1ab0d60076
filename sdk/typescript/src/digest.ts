import { createHash } from "node:crypto";
import { parse, stringify } from "./json.js";
import { textOf } from "./output.js";

/** The digest of arguments: the same for a value and its JSON text, in any order of members. */
export function digestOf(args: unknown): string {
  let text: string;
  try {
    text = canonical(parse(typeof args === "string" ? args || "{}" : stringify(args ?? {})));
  } catch {
    text = "unreadable " + textOf(args); // it is refused when it is judged
  }
  return createHash("sha256").update(text).digest("base64");
}

/** JSON with members in one order. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, one]) => JSON.stringify(name) + ":" + canonical(one)).join()}}`;
}
