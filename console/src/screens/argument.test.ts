import { expect, test } from "vitest";
import { argumentOf } from "./argument";

test.each([
  [{ description: "lists", command: "ls -la" }, "ls -la"],
  [{ content: "x", file_path: "a.go" }, "a.go"],
  [{ limit: 3, query: "open issues" }, "open issues"],
  [{ count: 3, first: "one", second: "two" }, "count: 3, first: one, second: two"],
  [{ command: "", title: "only this" }, "command: , title: only this"],
  [{ amount: 3 }, "amount: 3"],
  [{}, ""],
  [undefined, ""],
  [null, ""],
  ["a text", "a text"],
  [[1, 2], "[1,2]"],
])("the argument of %j", (input, expected) => {
  expect(argumentOf(input)).toBe(expected);
});

test("a long argument is cut", () => {
  expect(argumentOf({ command: "x".repeat(500) })).toBe(`${"x".repeat(200)}…`);
});
