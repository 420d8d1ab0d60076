import { expect, test } from "vitest";
import type { Run, Schemas } from "../../api/client";
import { scenarioOf } from "./scenario";

const run = { run_id: "run_1", workflow: "w", workflow_version: 1 } as Run;
const entry = (e: Partial<Schemas["HistoryEntry"]>) => e as Schemas["HistoryEntry"];

test("a run without a transition of its own makes no test", () => {
  expect(scenarioOf(run, [])).toBeUndefined();
  expect(
    scenarioOf(run, [
      entry({ type: "started" }),
      entry({ type: "transitioned", event: "$timeout", to: "b" }),
      entry({ type: "transitioned", event: "GO", branch: "x", to: "b" }),
    ]),
  ).toBeUndefined();
});

test("a transition is a step", () => {
  const text = scenarioOf(run, [entry({ type: "started" }), entry({ type: "transitioned", event: "GO", to: "b" })]);
  expect(text).toContain('    steps:\n      # started\n      - event: "GO"\n        expect: {state: "b"}\n');
});
