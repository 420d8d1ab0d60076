import { stringify } from "./json.js";

/** The text that an agent would read of a value: it counts in the context budget, and is kept. */
export function outputOf(value: unknown): string | Uint8Array {
  if (value === undefined || value === null) return "";
  if (typeof value === "string" || value instanceof Uint8Array) return value;
  try {
    return stringify(value);
  } catch {
    return String(value);
  }
}

/** The same as a text. */
export function textOf(value: unknown): string {
  if (value === null) return "null";
  const output = outputOf(value);
  return typeof output === "string" ? output : Buffer.from(output).toString();
}

/** Whether a tool's result is not one of MCP that says of itself that the tool has failed. */
export function succeeded(value: unknown): boolean {
  return !(typeof value === "object" && value !== null && (value as { isError?: unknown }).isError === true);
}
