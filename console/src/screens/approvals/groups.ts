import type { Approval } from "../../api/client";
import { type Group, groupBy } from "../../ui/group";
import { visible } from "../../ui/visible";
import { sameness } from "./subject";

/** Groups identical pending approvals: one decision can be meant for all of them. Others stay by themselves. */
export const groupsOf = (all: readonly Approval[]): Group<Approval>[] =>
  groupBy(all, (a) => (a.status === "PENDING" ? sameness(a) : a.approval_id));

/** Names the session of approvals, the number of sessions, or the requester. */
export function askersOf({ first, all }: Group<Approval>): string {
  const sessions = [...new Set(all.map((a) => a.asker.session_id).filter(Boolean))];
  if (sessions.length > 1) return `${sessions.length} sessions`;
  return visible(sessions[0] ?? first.asker.principal);
}
