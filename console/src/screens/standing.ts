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

/** The status of a run that is paused or has ended, with the time and the principal of the pause. */
export interface Banner {
  text: string;
  since?: string;
  by?: string;
}

/** The banner of a run; undefined where its state is enforced, and for a run that is held, whose holds say more. */
export function bannerOf(run: Run, entries: Schemas["HistoryEntry"][]): Banner | undefined {
  if (run.superseded_by) return { text: "The session drives another run, whose rules judge its calls." };
  const standing = standingOf(run, run.enforcement);
  if (!standing || standing === "state" || run.status === "HELD") return undefined;
  if (run.status === "PAUSED") {
    if (standing === "own") return { text: "Paused: only Interlock's own tools are allowed." };
    const paused = entries.findLast((e) => e.type === "paused");
    return { text: "Paused: nothing is enforced", since: paused?.time ?? run.updated_at, by: paused?.actor };
  }
  const ended = run.status === "FAILED" ? "The run has failed" : "The run has ended";
  const rest: { [of in Standing]?: string } = {
    open: "nothing is enforced.",
    reading: "only tools that read and Interlock's own are allowed, until the same workflow is started again.",
    own: "only Interlock's own tools are allowed.",
  };
  return { text: `${ended}: ${rest[standing]}` };
}

/** The code of calls that were allowed because no rule of a state judged them; their message is the reason. */
export const notEnforced = "NOT_ENFORCED";
