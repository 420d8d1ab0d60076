import { expect, test } from "vitest";
import type { Approval } from "../../api/client";
import { groupsOf } from "./groups";

const write = (approval_id: string, content: string, more: object = {}) =>
  ({
    approval_id,
    kind: "tool_call",
    status: "PENDING",
    subject: { tool: "Write", policy: "house", rule: "/ask/0" },
    data: { file_path: "notes.txt", content },
    ...more,
  }) as unknown as Approval;
const ids = (all: Approval[]) => groupsOf(all).map((g) => g.all.map((a) => a.approval_id));

test("calls with the same contents are one group, and those with others are not", () => {
  expect(ids([write("1", "a"), write("2", "b"), write("3", "a"), write("4", "c")])).toEqual([["1", "3"], ["2"], ["4"]]);
});

test("another rule, or data that an approver has edited, is not the same", () => {
  const other = write("2", "a", { subject: { tool: "Write", policy: "house", rule: "/ask/1" } });
  const edited = write("3", "a", { edited_data: { file_path: "notes.txt", content: "b" } });
  expect(ids([write("1", "a"), other, edited])).toEqual([["1"], ["2"], ["3"]]);
});

test("only pending ones are grouped", () => {
  const used = (id: string) => write(id, "a", { status: "USED" });
  expect(ids([used("1"), used("2")])).toEqual([["1"], ["2"]]);
});
