import type { DecisionRecord, Schemas } from "../api/client";
import { groupBy } from "../ui/group";

type Loop = Schemas["Loop"];
type Denial = Pick<DecisionRecord, "run_id" | "session_id" | "tool" | "code" | "message">;

/** Denials of several runs for the same reason. */
export interface Repeated {
  tool: string;
  code: string;
  /** The message of the denials; empty if the log's newest denials lack it. */
  message: string;
  runs: string[];
  sessions: string[];
  count: number;
  last: string;
}

const unique = (texts: (string | undefined)[]) => [...new Set(texts.filter((t): t is string => Boolean(t)))];

/** Groups runs with repeated denials by tool, code and message, the most denials first. The denials are the newest of the log. */
export function grouped(loops: readonly Loop[], denials: readonly Denial[]): Repeated[] {
  const told = loops.map((loop) => ({
    loop,
    denial: denials.find((d) => d.run_id === loop.run_id && d.tool === loop.tool && d.code === loop.code),
  }));
  const groups = groupBy(told, ({ loop, denial }) => JSON.stringify([loop.tool, loop.code, denial?.message ?? ""]));
  return groups
    .map(({ first, all }) => ({
      tool: first.loop.tool,
      code: first.loop.code,
      message: first.denial?.message ?? "",
      runs: all.map(({ loop }) => loop.run_id),
      sessions: unique(all.map(({ denial }) => denial?.session_id)),
      count: all.reduce((n, { loop }) => n + loop.count, 0),
      last: newest(all.map(({ loop }) => loop.last_at)),
    }))
    .sort((a, b) => b.count - a.count);
}

/** Returns the newest moment. */
export const newest = (times: string[]) => times.reduce((a, b) => (Date.parse(b) > Date.parse(a) ? b : a));
