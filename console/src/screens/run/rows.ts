// The rows of a run's timeline: its calls, its history, the votes on its approvals, and the times without any of these.
import type { Approval, DecisionRecord, Schemas } from "../../api/client";
import { span } from "../../ui/time";
import { argumentOf } from "../argument";
import { notEnforced } from "../standing";

export type Entry = Schemas["HistoryEntry"];
export type Result = NonNullable<Entry["tool_result"]>;
type Vote = Approval["votes"][number];

/** A decision with the input of the call, where the log has kept it. */
export type Call = DecisionRecord & { input?: unknown; input_truncated?: boolean };

/** The kinds of rows, by which the timeline is filtered. A denial is a call, too. */
export const kinds = ["calls", "denials", "events", "approvals", "time"] as const;
export type Kind = (typeof kinds)[number];

interface Place {
  key: string;
  kinds: Kind[];
  time: string;
  /** The time in milliseconds. */
  at: number;
  /** The version of the run at that time. It orders the rows of one millisecond. */
  version: number;
  /** The words that a search looks at, in lower case. */
  text: string;
}

export type Row = Place &
  (
    | { of: "call"; calls: Call[] }
    | { of: "event"; entry: Entry }
    | { of: "vote"; approval: Approval; vote: Vote }
    | { of: "silence"; ms: number }
  );

const words = (...all: (string | undefined)[]) => all.filter(Boolean).join(" ").toLowerCase();
const moment = (time: string) => new Date(time).getTime();

/** The argument of a call in one line: the command, the file, or the like. Without an input, its capability. */
export function lineOf({ input, capability, tool }: Call): string {
  if (input && typeof input === "object") return argumentOf(input).replaceAll(/\s+/g, " ");
  return capability.endsWith(`:${tool}`) || capability === tool.toLowerCase() ? "" : capability;
}

const ofTime = new Set(["reminded", "stale", "timer.blocked"]);

function kindsOf(entry: Entry): Kind[] {
  if (entry.cause || ofTime.has(entry.type)) return ["time", "events"];
  return entry.type.startsWith("approval.") ? ["approvals", "events"] : ["events"];
}

export const rowOfEntry = (entry: Entry): Row => ({
  of: "event",
  entry,
  key: `event ${entry.run_version}`,
  kinds: kindsOf(entry),
  time: entry.time,
  at: moment(entry.time),
  version: entry.run_version,
  text: words(entry.type, entry.event, entry.from, entry.to, entry.actor, entry.branch, entry.rationale, entry.reason),
});

export const rowOfCall = (call: Call): Row => ({
  of: "call",
  calls: [call],
  key: `call ${call.partition} ${call.sequence}`,
  kinds: call.decision === "DENY" ? ["calls", "denials"] : call.decision === "ASK" ? ["calls", "approvals"] : ["calls"],
  time: call.time,
  at: moment(call.time),
  version: call.run_version,
  text: words(
    call.tool,
    lineOf(call),
    call.code,
    call.decision === "DENY" ? "denied" : call.decision === "ASK" ? "asked" : "allowed",
    call.message,
    call.principal,
    call.state,
    call.branch,
    call.call_id,
  ),
});

/** The votes on an approval. The history says itself that a transition was asked for or rejected. */
export const rowsOfApproval = (approval: Approval): Row[] =>
  approval.votes
    .filter((vote) => vote.approve || approval.kind !== "transition")
    .map((vote, i) => ({
      of: "vote",
      approval,
      vote,
      key: `vote ${approval.approval_id} ${i}`,
      kinds: ["approvals"],
      time: vote.time,
      at: moment(vote.time),
      version: 0,
      text: words("approval", vote.approve ? "granted" : "rejected", vote.by, vote.note, approval.message),
    }));

/** Newest first. Of one millisecond, an event is newer than the calls that were judged before its version. */
export function newestFirst(rows: Row[]): Row[] {
  const place = (row: Row) => 2 * row.version - (row.of === "event" ? 1 : 0);
  return rows.sort((a, b) => b.at - a.at || place(b) - place(a));
}

/** A part of a record, newest first: the oldest time that is loaded, and whether there is more. */
export interface Loaded {
  oldest: number | undefined;
  more: boolean;
}

/** The time from which on all parts are loaded: older rows would have gaps between them. */
export const horizonOf = (parts: Loaded[]) =>
  Math.max(
    Number.NEGATIVE_INFINITY,
    ...parts.map((p) => (p.more ? (p.oldest ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY)),
  );

/** The shortest silence that is a row, in milliseconds. */
export const longSilence = 5 * 60_000;

/** Adds the silences to rows that are newest first. */
export function withSilences(rows: Row[]): Row[] {
  return rows.flatMap((row, i) => {
    const before = rows[i + 1];
    const ms = before ? row.at - before.at : 0;
    if (!before || ms < longSilence) return [row];
    const silence: Row = {
      of: "silence",
      ms,
      key: `silence ${before.key}`,
      kinds: ["time"],
      time: row.time,
      at: row.at,
      version: row.version,
      text: words("silence", span(ms)),
    };
    return [row, silence];
  });
}

/** The rows of the chosen kinds, all where none is chosen, that have every word of a search. */
export function chosen(rows: Row[], of: Kind[], search: string): Row[] {
  const looked = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(
    (row) =>
      (of.length === 0 || row.kinds.some((kind) => of.includes(kind))) &&
      looked.every((word) => row.text.includes(word)),
  );
}

const look = (call: Call) =>
  JSON.stringify([call.tool, lineOf(call), call.code, call.principal, call.state, call.branch]);

/** Makes one row of denials in a row that look the same. */
export function grouped(rows: Row[]): Row[] {
  const all: Row[] = [];
  for (const row of rows) {
    const before = all.at(-1);
    const [call] = row.of === "call" ? row.calls : [];
    if (call?.decision === "DENY" && before?.of === "call" && before.calls[0] && look(before.calls[0]) === look(call))
      // The oldest one names the row: it stays the same while more come.
      all[all.length - 1] = { ...before, key: row.key, calls: [...before.calls, call] };
    else all.push(row);
  }
  return all;
}

const outcomes: Record<string, string> = { ALLOW: "allowed", ASK: "asked", DENY: "denied" };

/** The verdict of a call, and its colour. */
export function verdictOf(call: Call, result?: Result): { text: string; kind: string } {
  if (call.code === notEnforced) return { text: "not enforced", kind: "deny" };
  if (call.decision === "DENY") return { text: call.code || "denied", kind: "deny" };
  const failed = result && !result.ok ? ", failed" : "";
  return { text: `${outcomes[call.decision] ?? call.decision}${failed}`, kind: call.decision === "ASK" ? "ask" : "ok" };
}
