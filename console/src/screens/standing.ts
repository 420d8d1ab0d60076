// Shows which tool calls of a run pass. The services decide.
import type { Run, Schemas } from "../api/client";

/** Which calls pass: those that the state allows, tools that read, Interlock's own tools, or all. */
export type Standing = "state" | "reading" | "own" | "open";

type Stopped = { status: string; legal_events?: unknown[] | null };

/** The standing of a run; undefined when it depends on an enforcement that is not known. */
export function standingOf(run: Stopped, enforcement: Run["enforcement"]): Standing | undefined {
  if (["HELD", "BLOCKED", "CANCELLED"].includes(run.status)) return "own";
  if (!["PAUSED", "COMPLETED", "FAILED"].includes(run.status)) return "state";
  if (!enforcement) return undefined;
  const lenient = enforcement === "while_running";
  switch (run.status) {
    case "PAUSED":
      return lenient ? "open" : "own";
    case "COMPLETED":
      return enforcement === "always" ? "own" : "open";
    default:
      if (enforcement === "until_success") return "reading";
      // Final states have no events: a run that has failed in another one allows no tools.
      return lenient && !run.legal_events?.length ? "open" : "own";
  }
}

/** Which tools pass, in words; undefined where the lists of the state say it. */
export const toolsOf: { [of in Standing]: string | undefined } = {
  state: undefined,
  reading: "only tools that read, and Interlock's own",
  own: "only Interlock's own tools",
  open: "any: nothing is enforced",
};

/** The first notice about the calls of a run, with the time and the principal of its cause. */
export interface Banner {
  text: string;
  /** Whether it is a warning in red: no rule judges its calls, or none of them passes. */
  bad?: boolean;
  since?: string;
  by?: string;
  why?: string;
}

/** The entry that brought the run to rest: entries are newest first. */
function restOf(run: Run, entries: Schemas["HistoryEntry"][]): { since: string; by?: string } {
  const before = entries.findIndex((e) => e.status !== undefined && e.status !== run.status);
  const entry = entries[before < 0 ? -1 : before - 1];
  return { since: entry?.time ?? run.updated_at, by: entry?.actor };
}

/** The banner of a run; undefined where its state is enforced. A halt and a hold outrank a pause and an end. */
export function bannerOf(run: Run, entries: Schemas["HistoryEntry"][]): Banner | undefined {
  if (run.superseded_by) return { text: "The session drives another run, whose rules judge its calls." };
  if (run.halt)
    return {
      text: "All calls are denied",
      bad: true,
      since: run.halt.created_at,
      by: run.halt.created_by,
      why: `halted, with ${run.halt.scope}: ${run.halt.reason}`,
    };
  if (run.status === "HELD") {
    const [hold] = run.holds ?? [];
    return {
      text: "All calls are denied",
      bad: true,
      since: hold?.since,
      by: hold?.by,
      why: `held: ${(run.holds ?? []).map((h) => h.reason || h.cause).join("; ") || "no reason is given"}`,
    };
  }
  const standing = standingOf(run, run.enforcement);
  if (!standing || standing === "state") return undefined;
  const rest = restOf(run, entries);
  const status =
    run.status === "PAUSED" ? "paused" : run.status === "FAILED" ? "the run has failed" : "the run has ended";
  if (standing === "open") return { text: "Nothing is enforced", bad: true, ...rest, why: status };
  const what: { [of in Standing]?: string } = {
    reading: "Only tools that read and Interlock's own are allowed, until the same workflow is started again",
    own: "Only Interlock's own tools are allowed",
  };
  return { text: what[standing] ?? "", ...rest, why: status };
}

/** The code of calls that were allowed because no rule of a state judged them; their message is the reason. */
export const notEnforced = "NOT_ENFORCED";
