/** Reads a kept value of this browser; undefined for another version's value or broken text. */
export function readKept<T>(key: string, take: (kept: unknown) => T | undefined): T | undefined {
  try {
    return take(JSON.parse(localStorage.getItem(key) ?? "null"));
  } catch {
    return undefined;
  }
}

/** Keeps a value in this browser, unless the browser refuses. */
export function keep(key: string, value: unknown) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The page works without.
  }
}

/** The texts of a list; undefined for anything else. */
export const texts = (kept: unknown) =>
  Array.isArray(kept) ? kept.filter((v): v is string => typeof v === "string") : undefined;
