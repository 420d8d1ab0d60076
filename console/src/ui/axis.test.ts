import { expect, test } from "vitest";
import { axisOf, longGap } from "./axis";

test("times pass as they did, and idle ones are drawn short", () => {
  const axis = axisOf([1000, 0, 1000 + 10 * longGap, 1500 + 10 * longGap]);
  expect(axis.place(0)).toBe(0);
  expect(axis.place(1000)).toBe(1000);
  expect(axis.place(1000 + 10 * longGap)).toBe(1000 + longGap);
  expect(axis.length).toBe(1500 + longGap);
  expect(axis.gaps).toEqual([{ place: 1000 + longGap / 2, ms: 10 * longGap }]);
});

test("one moment, and none, still have an axis", () => {
  expect(axisOf([5]).length).toBe(1);
  expect(axisOf([]).length).toBe(1);
});
