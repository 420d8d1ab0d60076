/** What a case expects, compared with what there is: sdk/conformance/README.md has the rules. */
import { isDeepStrictEqual } from "node:util";

/** What differs, one line each, by where it is. */
export function differences(expected: unknown, actual: unknown, at = ""): string[] {
  if (expected !== null && typeof expected === "object" && !Array.isArray(expected)) {
    const rule = expected as Record<string, unknown>;
    if ("$match" in rule) {
      return typeof actual === "string" && new RegExp(rule["$match"] as string).test(actual)
        ? []
        : [`${at || "/"}: ${show(actual)} does not match ${rule["$match"] as string}`];
    }
    if ("$not" in rule) return differences(rule["$not"], actual, at).length > 0 ? [] : [`${at || "/"}: is ${show(actual)}`];
    if ("$size" in rule) {
      const size = Array.isArray(actual) ? actual.length : -1;
      return size === rule["$size"] ? [] : [`${at || "/"}: has ${size} elements, not ${rule["$size"] as number}`];
    }
    if (actual === null || typeof actual !== "object" || Array.isArray(actual)) return [`${at || "/"}: ${show(actual)} is not an object`];
    return Object.entries(rule).flatMap(([name, value]) =>
      differences(value, (actual as Record<string, unknown>)[name], `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
    );
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [`${at || "/"}: ${show(actual)} is not an array`];
    if (actual.length !== expected.length) return [`${at || "/"}: has ${actual.length} elements, not ${expected.length}: ${show(actual)}`];
    return expected.flatMap((one, i) => differences(one, actual[i], `${at}/${i}`));
  }
  return isDeepStrictEqual(expected, actual ?? null) ? [] : [`${at || "/"}: is ${show(actual)}, not ${show(expected)}`];
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? `${v}n` : v)) ?? "undefined";
}

/** Reads a list to its end. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}
