import { describe, expect, test } from "vitest";
import { differences, Exact, lineDiff, parse, pretty } from "../api/json";
import { escaped, visible } from "./visible";

describe("JSON as it is written", () => {
  test.each(["12345678901234567890", "0.1000", "1e3", "-0"])("%s keeps its form", (text) => {
    const value = parse(text);
    expect(value).toBeInstanceOf(Exact);
    expect(String(value)).toBe(text);
  });
  test("what JavaScript writes the same way is a number", () => expect(parse('{"n":42}')).toEqual({ n: 42 }));
  test.runIf("rawJSON" in JSON)("it is sent back as it came", () =>
    expect(pretty(parse('{"n":12345678901234567890}'))).toBe('{\n  "n": 12345678901234567890\n}'),
  );
});

test("differences name what changed by pointer", () => {
  expect(differences({ a: 1, "b/c": [1, 2] }, { a: 1, "b/c": [1, 3], d: null })).toEqual([
    { pointer: "/b~1c/1", before: 2, after: 3 },
    { pointer: "/d", before: undefined, after: null },
  ]);
});

test("lines that stay are the longest common part", () => {
  expect(lineDiff("a\nb\nc", "a\nx\nc").map((l) => l.kind)).toEqual(["same", "removed", "added", "same"]);
  expect(lineDiff("", "a")).toEqual([{ kind: "added", text: "a" }]);
});

describe("nothing hides in text", () => {
  test.each([
    ["a\u202eb", "a⟦U+202E⟧b"],
    ["\u0000", "⟦U+0000⟧"],
    ["zero\u200bwidth", "zero⟦U+200B⟧width"],
    ["no\u00a0break", "no⟦U+00A0⟧break"],
    ["⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"],
    ["é", "é"],
    ["e\u0301", "e\u0301"],
    ["\ufe0f", "⟦U+FE0F⟧"],
    ["日本語 текст", "日本語 текст"],
  ])("%j is shown as %j", (text, want) => expect(visible(text)).toBe(want));
  test("a line feed is a code where there is one line", () => {
    expect(visible("a\nb")).toBe("a⟦U+000A⟧b");
    expect(visible("a\nb", true)).toBe("a\nb");
  });
  test("marks do not pile up", () =>
    expect(visible(`a${"\u0301".repeat(6)}`)).toBe(`a${"\u0301".repeat(4)}${"⟦U+0301⟧".repeat(2)}`));
  test("in JSON that is edited it is escaped, which means the same", () => {
    for (const value of ["a\u202eb", "\u200b", "\u{e0041}x", "\u2066a\u2069", "⟦", "é", "a\nb"]) {
      const text = escaped(pretty({ [value]: [value] }));
      expect(JSON.parse(text)).toEqual({ [value]: [value] });
      expect(visible(text, true)).toBe(text);
    }
  });
});
