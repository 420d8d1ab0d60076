/** Telling fields of inputs, the best first. */
const telling = ["command", "file_path", "notebook_path", "path", "url", "query", "pattern", "to"];

/** The longest argument of a row, in characters. */
const longest = 200;

/** Returns the telling part of a call's input: a command, a file, an address, its only text, or else all of its fields. */
export function argumentOf(input: unknown): string {
  const cut = (text: string) => (text.length > longest ? `${text.slice(0, longest)}…` : text);
  if (input === undefined || input === null) return "";
  if (typeof input !== "object" || Array.isArray(input)) return cut(textOf(input));
  const fields = input as Record<string, unknown>;
  const all = Object.entries(fields);
  const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
  const found = [...telling.map((key) => fields[key]), ...(all.length === 1 ? Object.values(fields) : [])].find(isText);
  return cut(found ?? all.map(([name, value]) => `${name}: ${textOf(value)}`).join(", "));
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
