import { expect, test } from "vitest";
import { nextSort, sorted } from "./sort";

test("text is sorted by its numbers, equal rows keep their order, rows without a value are last", () => {
  const rows = [
    { id: "a", v: "run 10" },
    { id: "b", v: undefined },
    { id: "c", v: "Run 9" },
    { id: "d", v: "" },
    { id: "e", v: "run 10" },
  ];
  const ids = (down: boolean) => sorted(rows, (r) => r.v, down).map((r) => r.id);
  expect(ids(false)).toEqual(["c", "a", "e", "b", "d"]);
  expect(ids(true)).toEqual(["a", "e", "c", "b", "d"]);
  expect(rows.map((r) => r.id)).toEqual(["a", "b", "c", "d", "e"]);
});

test("numbers are sorted as numbers", () => {
  expect(sorted([10, 9, Number.NaN, 100], (n) => n, false)).toEqual([9, 10, 100, Number.NaN]);
});

test("clicks on a heading sort up, down, and not at all", () => {
  const up = nextSort(undefined, "state");
  expect(up).toEqual({ column: "state", down: false });
  const down = nextSort(up, "state");
  expect(down).toEqual({ column: "state", down: true });
  expect(nextSort(down, "state")).toBeUndefined();
  expect(nextSort(down, "age")).toEqual({ column: "age", down: false });
});
