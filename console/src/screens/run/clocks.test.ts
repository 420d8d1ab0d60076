import { expect, test } from "vitest";
import type { Run } from "../../api/client";
import { clocksOf, leftOf } from "./clocks";

const noon = new Date(2026, 0, 2, 12, 0, 0).getTime();
const at = (minutes: number) => new Date(noon + minutes * 60_000).toISOString();
type Due = NonNullable<Run["dues"]>[number];
const due = (d: Partial<Due>) => ({ kind: "after", after_seconds: 7200, ...d }) as Due;
const run = (r: Partial<Run>) => ({ run_id: "run_1", status: "RUNNING", ...r }) as Run;

test.each([
  [-5, "0 s"],
  [1, "1 s"],
  [12 * 60_000, "12 min"],
  [12 * 60_000 + 5000, "12 min 5 s"],
  [2 * 3_600_000 + 60_000, "2 h 1 min"],
  [3 * 86_400_000 + 30_000, "3 d"],
])("%d ms are left as %s", (ms, text) => {
  expect(leftOf(ms)).toBe(text);
});

test.each([
  ["none", run({}), []],
  ["after", run({ dues: [due({ at: at(12), targets: ["stuck"] })] }), ["12 min left in this state, then stuck"]],
  [
    "a branch",
    run({ dues: [due({ at: at(12), branch: "ci", targets: ["a", "b"] })] }),
    ["12 min left in branch ci, then a or b"],
  ],
  ["a fork", run({ dues: [due({ kind: "fork", at: at(60), targets: ["z"] })] }), ["1 h left in its branches, then z"]],
  ["a silence", run({ dues: [due({ kind: "stale", at: at(8), holds: true })] }), ["8 min of silence left, then held"]],
  [
    "a silence that is told",
    run({ dues: [due({ kind: "stale", at: at(8) })] }),
    ["8 min of silence left, then people are told"],
  ],
  ["a reminder", run({ dues: [due({ kind: "remind", at: at(3) })] }), ["3 min until a reminder"]],
  [
    "a guard",
    run({ dues: [due({ at: at(0), blocked: true, targets: ["z"] })] }),
    ["The time in this state is up, then z as soon as a guard lets it"],
  ],
  [
    "a clock that stands still",
    run({ status: "HELD", dues: [due({ stopped_by: "hold", left_seconds: 720, targets: ["stuck"] })] }),
    ["12 min left in this state, then stuck; the clock stands still: the run is held"],
  ],
  [
    "the end",
    run({ deadline: at(360), dues: [due({ kind: "deadline", at: at(360), targets: ["expired"] })] }),
    ["The run ends at 18:00"],
  ],
  ["an end that a hold keeps off", run({ status: "HELD", deadline: at(-1) }), ["The run ends when the hold is lifted"]],
  ["an end that is due", run({ deadline: at(-1) }), ["The run ends now"]],
  ["a run that has ended", run({ status: "FAILED", deadline: at(360) }), []],
] as const)("S25: %s", (_, given, lines) => {
  expect(clocksOf(given, noon)).toEqual(lines);
});

test("the day of an end is said where it is not today", () => {
  expect(clocksOf(run({ deadline: at(36 * 60) }), noon)[0]).toMatch(
    /^The run ends at .*4.*00:00|^The run ends at .*24:00/,
  );
});
