import { expect, test } from "vitest";
import type { Run } from "../../api/client";
import { limitsOf } from "./limits";

test("the limits of a state, the fullest first, with their places in the workflow", () => {
  const run = { state: "a/b", iterations: 2, max_iterations: 10, files_changed: 3, max_files_per_state: 4 } as Run;
  expect(limitsOf(run)).toEqual([
    { field: "max_files_per_state", pointer: "/states/a~1b/max_files_per_state", used: 3, most: 4, unit: "files" },
    { field: "max_iterations", pointer: "/states/a~1b/max_iterations", used: 2, most: 10, unit: "calls" },
  ]);
  expect(limitsOf({ state: "a" } as Run)).toEqual([]);
});
