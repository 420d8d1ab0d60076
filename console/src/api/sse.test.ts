import { expect, test } from "vitest";
import { EventParser } from "./sse";

test.each([
  ["one", ["id: 7\ndata: {}\n\n"], [{ id: "7", data: "{}" }]],
  ["in pieces", ["id: 7\nda", "ta: a", "b\n", "\n"], [{ id: "7", data: "ab" }]],
  ["of several lines", ["data: a\ndata:b\n\n"], [{ id: "", data: "a\nb" }]],
  ["with CRLF", ["id: 1\r\ndata: a\r", "\n\r\n"], [{ id: "1", data: "a" }]],
  ["comments", [": hello\n\n:\n\n"], []],
  [
    "the id stays",
    ["id: 1\ndata: a\n\ndata: b\n\n"],
    [
      { id: "1", data: "a" },
      { id: "1", data: "b" },
    ],
  ],
  ["half an event", ["data: a\n"], []],
])("%s", (_name, parts, want) => {
  const parser = new EventParser();
  expect(parts.flatMap((p) => parser.push(p))).toEqual(want);
});
