import { expect, test } from "vitest";
import { grouped } from "./denials";

const loop = (run_id: string, count: number, minute: number, code = "RATE_LIMITED") => ({
  run_id,
  tool: "Bash",
  state: "work",
  code,
  count,
  last_at: `2026-01-01T10:0${minute}:00Z`,
});
const denial = (run_id: string, session_id: string, message: string, code = "RATE_LIMITED") => ({
  run_id,
  session_id,
  tool: "Bash",
  code,
  message,
});

test("equal denials are one group with its runs and sessions", () => {
  const groups = grouped(
    [loop("run_1", 5, 1), loop("run_2", 3, 4), loop("run_3", 9, 2, "POLICY_DENIED"), loop("run_4", 3, 3)],
    [
      denial("run_1", "s", "wait"),
      denial("run_2", "s", "wait"),
      denial("run_4", "other", "wait"),
      denial("run_1", "s", "an older one"),
      denial("run_3", "s", "never", "POLICY_DENIED"),
    ],
  );
  expect(groups).toEqual([
    {
      tool: "Bash",
      code: "RATE_LIMITED",
      message: "wait",
      runs: ["run_1", "run_2", "run_4"],
      sessions: ["s", "other"],
      count: 11,
      last: "2026-01-01T10:04:00Z",
    },
    {
      tool: "Bash",
      code: "POLICY_DENIED",
      message: "never",
      runs: ["run_3"],
      sessions: ["s"],
      count: 9,
      last: "2026-01-01T10:02:00Z",
    },
  ]);
});

test("denials with other messages are other groups, and those that the log does not have are one", () => {
  const groups = grouped(
    [loop("run_1", 3, 1), loop("run_2", 3, 1), loop("run_3", 3, 1), loop("run_4", 3, 1)],
    [denial("run_1", "s", "at most 3 files"), denial("run_2", "s", "at most 4 files")],
  );
  expect(groups.map((g) => [g.message, g.runs])).toEqual([
    ["", ["run_3", "run_4"]],
    ["at most 3 files", ["run_1"]],
    ["at most 4 files", ["run_2"]],
  ]);
});
