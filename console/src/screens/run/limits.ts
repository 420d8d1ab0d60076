import type { Run } from "../../api/client";

/** A limit of the state that a run is in, and the place of it in the workflow. */
export interface Limit {
  field: string;
  pointer: string;
  used: number;
  most: number;
  unit: string;
}

/** The limits of the state, the one that is used up most first. */
export function limitsOf(run: Run): Limit[] {
  const state = run.state.replaceAll("~", "~0").replaceAll("/", "~1");
  const all: [field: string, used: number | undefined, most: number | undefined, unit: string][] = [
    ["max_iterations", run.iterations, run.max_iterations, "calls"],
    ["max_files_per_state", run.files_changed, run.max_files_per_state, "files"],
    ["context_budget_bytes", run.context_bytes, run.context_budget_bytes, "bytes of results"],
  ];
  return all
    .flatMap(([field, used = 0, most, unit]) =>
      most ? [{ field, pointer: `/states/${state}/${field}`, used, most, unit }] : [],
    )
    .sort((a, b) => b.used / b.most - a.used / a.most);
}
