import { expect, test } from "vitest";
import type { Approval } from "../../api/client";
import {
  type Call,
  chosen,
  type Entry,
  grouped,
  horizonOf,
  lineOf,
  newestFirst,
  rowOfCall,
  rowOfEntry,
  rowsOfApproval,
  verdictOf,
  withSilences,
} from "./rows";

const at = (minute: number, ms = 0) => new Date(Date.UTC(2026, 0, 1, 10, minute) + ms).toISOString();
const call = (c: Partial<Call>) =>
  ({
    partition: "run_1",
    sequence: 1,
    time: at(0),
    run_version: 1,
    state: "plan",
    tool: "Bash",
    capability: "bash",
    decision: "ALLOW",
    principal: "agent",
    message: "",
    call_id: "c",
    ...c,
  }) as Call;
const entry = (e: Partial<Entry>) =>
  ({ run_version: 1, time: at(0), actor: "agent", type: "transitioned", ...e }) as Entry;
const keys = (rows: { key: string }[]) => rows.map((r) => r.key);

test("calls and events are one list, newest first", () => {
  const rows = newestFirst([
    rowOfEntry(entry({ run_version: 1, type: "started" })),
    rowOfEntry(entry({ run_version: 2, time: at(2) })),
    rowOfCall(call({ sequence: 1, time: at(1) })),
    rowOfCall(call({ sequence: 2, time: at(3), run_version: 2 })),
  ]);
  expect(keys(rows)).toEqual(["call run_1 2", "event 2", "call run_1 1", "event 1"]);
});

test("what happened in one millisecond is in the order of the run's versions", () => {
  const rows = newestFirst([
    rowOfCall(call({ sequence: 1, run_version: 1 })),
    rowOfEntry(entry({ run_version: 2 })),
    rowOfCall(call({ sequence: 2, run_version: 2 })),
    rowOfEntry(entry({ run_version: 1 })),
  ]);
  expect(keys(rows)).toEqual(["call run_1 2", "event 2", "call run_1 1", "event 1"]);
});

test.each([
  [
    "nothing is missing at the end",
    [
      { oldest: 5, more: false },
      { oldest: undefined, more: false },
    ],
    Number.NEGATIVE_INFINITY,
  ],
  [
    "the part that is read least far",
    [
      { oldest: 5, more: true },
      { oldest: 9, more: true },
    ],
    9,
  ],
  [
    "a part at its end hides nothing",
    [
      { oldest: 5, more: true },
      { oldest: 9, more: false },
    ],
    5,
  ],
  ["nothing is known before the first page", [{ oldest: undefined, more: true }], Number.POSITIVE_INFINITY],
])("horizon: %s", (_, parts, horizon) => {
  expect(horizonOf(parts)).toBe(horizon);
});

test("a long silence is a row of its own, a short one is not", () => {
  const rows = withSilences(
    newestFirst([0, 4, 64].map((m, i) => rowOfEntry(entry({ run_version: i + 1, time: at(m) })))),
  );
  expect(rows.map((r) => (r.of === "silence" ? r.ms / 60_000 : r.key))).toEqual(["event 3", 60, "event 2", "event 1"]);
});

test("rows are chosen by kind and by words", () => {
  const rows = [
    rowOfCall(call({ sequence: 1, decision: "DENY", code: "RATE_LIMITED", input: { command: "git push" } })),
    rowOfCall(call({ sequence: 2, decision: "ASK" })),
    rowOfCall(call({ sequence: 3 })),
    rowOfEntry(entry({ run_version: 4, event: "READY", from: "plan", to: "work" })),
    rowOfEntry(entry({ run_version: 5, type: "reminded" })),
    rowOfEntry(entry({ run_version: 6, type: "approval.parked" })),
  ];
  const shown = (kinds: Parameters<typeof chosen>[1], words = "") => keys(chosen(rows, kinds, words));
  expect(shown([])).toHaveLength(6);
  expect(shown(["calls"])).toEqual(["call run_1 1", "call run_1 2", "call run_1 3"]);
  expect(shown(["denials"])).toEqual(["call run_1 1"]);
  expect(shown(["approvals"])).toEqual(["call run_1 2", "event 6"]);
  expect(shown(["time"])).toEqual(["event 5"]);
  expect(shown(["denials", "time"])).toEqual(["call run_1 1", "event 5"]);
  expect(shown([], "PUSH rate")).toEqual(["call run_1 1"]);
  expect(shown([], "ready work")).toEqual(["event 4"]);
  expect(shown(["events"], "push")).toEqual([]);
});

test("denials in a row that look the same are one row", () => {
  const denied = (sequence: number, more: Partial<Call> = {}) =>
    rowOfCall(call({ sequence, decision: "DENY", code: "RATE_LIMITED", input: { command: "a" }, ...more }));
  const rows = grouped([
    denied(6),
    denied(5),
    denied(4, { input: { command: "b" } }),
    denied(3),
    rowOfEntry(entry({})),
    denied(2),
    rowOfCall(call({ sequence: 1 })),
    rowOfCall(call({ sequence: 0 })),
  ]);
  expect(rows.map((r) => (r.of === "call" ? r.calls.map((c) => c.sequence) : r.of))).toEqual([
    [6, 5],
    [4],
    [3],
    "event",
    [2],
    [1],
    [0],
  ]);
  // More denials leave the row what it was.
  expect(rows[0]?.key).toBe("call run_1 5");
  expect(grouped([denied(7), denied(6), denied(5)])[0]?.key).toBe("call run_1 5");
});

test.each([
  [{ input: { description: "x", command: "go  test\n./..." } }, "go test ./..."],
  [{ tool: "Edit", capability: "tool:Edit", input: { old_string: "a", file_path: "main.go" } }, "main.go"],
  [{ tool: "mcp__pay__refund", input: { amount: 3 } }, "amount: 3"],
  [{ tool: "mcp__pay__refund", input: { amount: 3, currency: "usd" } }, "amount: 3, currency: usd"],
  [{ tool: "Task", input: { prompt: "look" } }, "look"],
  [{ tool: "Read", capability: "tool:Read" }, ""],
  [{ tool: "Bash", capability: "bash" }, ""],
  [{ tool: "mcp__pay__refund", capability: "mcp:pay:refund" }, "mcp:pay:refund"],
  [{ tool: "Read", capability: "tool:Read", input: {} }, ""],
])("the argument of %j", (c, text) => {
  expect(lineOf(call(c))).toBe(text);
});

test("a call that nothing judged is red, whatever it was allowed", () => {
  expect(verdictOf(call({ code: "NOT_ENFORCED" }))).toEqual({ text: "not enforced", kind: "deny" });
  expect(verdictOf(call({}))).toEqual({ text: "allowed", kind: "ok" });
  expect(verdictOf(call({}), { ok: false } as never).text).toBe("allowed, failed");
  expect(verdictOf(call({ decision: "DENY", code: "RATE_LIMITED" }))).toEqual({ text: "RATE_LIMITED", kind: "deny" });
});

test("votes are rows, but for rejections that the history has", () => {
  const approval = (kind: string) =>
    ({
      approval_id: "apr_1",
      kind,
      message: "",
      votes: [
        { by: "olga", approve: true, time: at(1) },
        { by: "ben", approve: false, time: at(2) },
      ],
    }) as Approval;
  expect(keys(rowsOfApproval(approval("transition")))).toEqual(["vote apr_1 0"]);
  expect(keys(rowsOfApproval(approval("tool_call")))).toEqual(["vote apr_1 0", "vote apr_1 1"]);
});
