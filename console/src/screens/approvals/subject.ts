import type { Approval } from "../../api/client";
import { visible } from "../../ui/visible";
import { argumentOf } from "../argument";

type Subject = Record<string, unknown>;
export const of = (a: Approval, key: string) => {
  const value = (a.subject as Subject)[key];
  return typeof value === "string" ? value : "";
};

/** The request, in a few words. */
export function titleOf(a: Approval): string {
  switch (a.kind) {
    case "transition":
      return visible(`${of(a, "workflow")}: ${of(a, "event")} to ${of(a, "to")}`);
    case "tool_call":
      return visible(`call ${of(a, "tool")}`);
    default:
      return visible(`${of(a, "process") || of(a, "workflow")}: ${of(a, "question") || of(a, "step") || "a step"}`);
  }
}

/** The data of an action, as it would be used. */
export const content = (a: Approval) => a.edited_data ?? a.data;

/** The requester and the kind of action. */
export const question = (a: Approval) =>
  JSON.stringify([
    a.kind,
    ...[
      "workflow",
      "workflow_version",
      "state",
      "event",
      "to",
      "tool",
      "capability",
      "policy",
      "policy_version",
      "rule",
    ].map((key) => (a.subject as Subject)[key]),
  ]);

/** The values that make approvals identical, so that one decision can be meant for all: the server compares it again. */
export const sameness = (a: Approval) => JSON.stringify([question(a), content(a)]);

/** The subject of an approval: the file or the command. */
export const about = (a: Approval) => visible(argumentOf(content(a)));

/** The subject of an approval and its session, in one line. */
export const detailOf = (a: Approval) =>
  [about(a), a.asker.session_id && visible(`session ${a.asker.session_id}`)].filter(Boolean).join(" · ");
