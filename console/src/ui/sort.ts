/** A value for the order of a column. */
export type Value = string | number | undefined;

export interface Sort {
  column: string;
  down: boolean;
}

/** Orders a copy of items; equal ones keep their order, and items without a value come last. */
export function sorted<T>(items: readonly T[], by: (item: T) => Value, down: boolean): T[] {
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const order = (a: Value, b: Value) =>
    typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b));
  const empty = (v: Value) => v === undefined || v === "" || Number.isNaN(v);
  return items
    .map((item, at) => ({ item, at, value: by(item) }))
    .sort((a, b) => {
      if (empty(a.value) || empty(b.value)) return Number(empty(a.value)) - Number(empty(b.value)) || a.at - b.at;
      return (down ? order(b.value, a.value) : order(a.value, b.value)) || a.at - b.at;
    })
    .map(({ item }) => item);
}

/** Returns the sort after a click on a heading: upwards, downwards, then the order of the server again. */
export function nextSort(now: Sort | undefined, column: string): Sort | undefined {
  if (now?.column !== column) return { column, down: false };
  return now.down ? undefined : { column, down: true };
}

/** Returns the moment of a time, for the order of a column. */
export const moment = (at: string | undefined) => (at ? Date.parse(at) : undefined);
