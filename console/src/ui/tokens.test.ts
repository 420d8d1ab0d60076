import { describe, expect, test } from "vitest";
import {
  completed,
  type Grammar,
  type Key,
  merged,
  momentOf,
  parse,
  type Search,
  searchOf,
  suggestions,
  tokensOf,
  written,
} from "./tokens";

const upper = { take: (v: string) => v.toUpperCase(), show: (v: string) => v.toLowerCase() };
const keys: Key[] = [
  { name: "status", param: "status", not: "not_status", about: "its status", values: ["running", "paused"], ...upper },
  { name: "workflow", param: "workflow", not: "not_workflow", about: "its workflow", values: ["bugfix", "two words"] },
  { name: "silent", param: "stale_for", about: "how long" },
  { name: "denied", param: "denied", about: "lately", values: ["true"] },
  { name: "text", param: "text", about: "any text" },
];
const grammar: Grammar = { keys, joined: true, word: () => keys.at(-1) };
const given = (search: Search) => Object.fromEntries(Object.entries(search).filter(([, v]) => v !== undefined));
const read = (text: string) => {
  const { tokens, problems } = parse(text, grammar);
  return { search: given(searchOf(tokens, grammar)), problems };
};

describe("typed filters", () => {
  test.each([
    ["", {}],
    ["status:running", { status: "RUNNING" }],
    ["  status:running   workflow:bugfix ", { status: "RUNNING", workflow: "bugfix" }],
    ["-workflow:x -workflow:y", { not_workflow: "x,y" }],
    ["stale_for:1h", { stale_for: "1h" }],
    ['workflow:"two words"', { workflow: "two words" }],
    ['workflow:"not closed', { workflow: "not closed" }],
    ["two words", { text: "two words" }],
    ['denied:true "slack:T01/U02"', { denied: "true", text: "slack:T01/U02" }],
    ["status:", {}],
    ["-5", { text: "-5" }],
  ])("%s", (text, search) => {
    expect(read(text)).toEqual({ search, problems: [] });
  });

  test.each([
    ["state:x", "There is no filter state."],
    ["-silent:1h", "-silent is not possible here."],
  ])("%s is a problem, and no filter", (text, problem) => {
    const parsed = read(text);
    expect(parsed.search).toEqual({});
    expect(parsed.problems[0]).toContain(problem);
  });

  test("a list without a search by words asks for a key", () => {
    const parsed = parse("word", { keys, word: () => undefined });
    expect(parsed).toEqual({ tokens: [], problems: ["Write a key before word."] });
  });
});

test("what the address has is written as it is typed, and read again as the same", () => {
  const search = {
    status: "RUNNING",
    not_workflow: "a,b c",
    stale_for: "10m",
    text: "key:value in it",
  };
  const text = tokensOf(search, grammar).map((t) => written(t, grammar));
  expect(text).toEqual(["status:running", "-workflow:a", '-workflow:"b c"', "silent:10m", '"key:value in it"']);
  expect(given(searchOf(parse(text.join(" "), grammar).tokens, grammar))).toEqual(search);
});

test("a key has one value, and what is left out has several", () => {
  const before = parse("status:running -workflow:a", grammar).tokens;
  const added = parse("status:paused status:held -workflow:b -workflow:a", grammar).tokens;
  expect(given(searchOf(merged(before, added), grammar))).toEqual({ status: "HELD", not_workflow: "b,a" });
});

describe("suggestions", () => {
  const texts = (typed: string) => suggestions(typed, grammar).map((s) => s.text);
  test.each([
    ["", ["status:", "workflow:", "silent:", "denied:", "text:"]],
    ["s", ["status:", "silent:"]],
    ["-", ["-status:", "-workflow:"]],
    ["-s", ["-status:"]],
    ["status:", ["status:running", "status:paused"]],
    ["text -status:P", ["-status:paused"]],
    ["workflow:t", ['workflow:"two words"']],
    ["status:running", []],
    ["-silent:", []],
    ["silent:", []],
    ["nothing", []],
  ])("for %s", (typed, expected) => {
    expect(texts(typed)).toEqual(expected);
  });

  test("take the place of the last word", () => {
    const [first] = suggestions("denied:true sta", grammar);
    expect(first && completed("denied:true sta", first)).toBe("denied:true status:");
    const [value] = suggestions("status:r", grammar);
    expect(value && completed("status:r", value)).toBe("status:running ");
  });
});

test("moments get the zone of the browser, and spans stay", () => {
  expect(momentOf("24h")).toBe("24h");
  expect(momentOf("2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:00Z");
  expect(momentOf("2026-01-01T10:00+02:00")).toBe("2026-01-01T10:00+02:00");
  expect(momentOf("2026-01-01T10:00")).toBe(new Date(2026, 0, 1, 10).toISOString());
  expect(momentOf("2026-01-01")).toBe(new Date(2026, 0, 1).toISOString());
  expect(momentOf("2026-99-99")).toBe("2026-99-99");
});
