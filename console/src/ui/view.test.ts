import { expect, test } from "vitest";
import { boxOfPath, firstView, found, holds, meets, overview, seenBy, whole, zoomed } from "./view";

const room = { width: 400, height: 300 };

test("a drawing that fits is shown whole, a large one around a place", () => {
  const place = { x: 100, y: 5000, width: 40, height: 20 };
  expect(firstView({ width: 300, height: 200 }, room, place)).toEqual(whole({ width: 300, height: 200 }, room));
  expect(firstView({ width: 300, height: 90_000 }, room, place)).toEqual({ x: 120, y: 5010, scale: 0.8 });
  expect(firstView({ width: 300, height: 90_000 }, room, undefined).scale).toBeLessThan(0.01);
  expect(whole({ width: 20, height: 20 }, room).scale).toBe(1.25); // not larger than it is read well
});

test("a view and what it sees", () => {
  const view = { x: 100, y: 100, scale: 2 };
  const seen = seenBy(view, room);
  expect(seen).toEqual({ x: 0, y: 25, width: 200, height: 150 });
  expect(meets(seen, { x: 190, y: 170, width: 50, height: 50 })).toBe(true);
  expect(meets(seen, { x: 201, y: 100, width: 50, height: 50 })).toBe(false);
  expect(holds(seen, { x: 0, y: 25, width: 10, height: 10 })).toBe(true);
  expect(holds(seen, { x: 195, y: 25, width: 10, height: 10 })).toBe(false);
});

test("zooming keeps the place at the pointer, and has limits", () => {
  const before = { x: 100, y: 100, scale: 1 };
  const at = { x: 50, y: 80 };
  const after = zoomed(before, 2, [0.1, 3], at);
  expect(after.scale).toBe(2);
  for (const side of ["x", "y"] as const)
    expect((at[side] - after[side]) * after.scale).toBe((at[side] - before[side]) * before.scale);
  expect(zoomed(before, 100, [0.1, 3]).scale).toBe(3);
  expect(zoomed(before, 0.001, [0.1, 3]).scale).toBe(0.1);
});

test.each([
  ["M10 20V60", { x: 10, y: 20, width: 0, height: 40 }],
  ["M10 20V60C10 70 -30 70 -30 80V90", { x: -30, y: 20, width: 40, height: 70 }],
  ["M50 13C76 4 76 36 57 27", { x: 50, y: 4, width: 26, height: 32 }],
])("the box of %s", (path, box) => {
  expect(boxOfPath(path)).toEqual(box);
});

test("an overview of a long chain is no line", () => {
  expect(overview({ width: 1000, height: 1000 }, { width: 120, height: 160 }, 30)).toEqual({ width: 120, height: 120 });
  expect(overview({ width: 200, height: 200_000 }, { width: 120, height: 160 }, 30)).toEqual({
    width: 30,
    height: 160,
  });
});

test("states are found by name, the likeliest first", () => {
  const names = ["unplanned", "plan", "Planning", "work"];
  expect(found(names, "plan")).toEqual(["plan", "Planning", "unplanned"]);
  expect(found(names, " WORK ")).toEqual(["work"]);
  expect(found(names, "")).toEqual([]);
  expect(found(names, "x")).toEqual([]);
});
