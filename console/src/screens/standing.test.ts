import { expect, test } from "vitest";
import type { Run, Schemas } from "../api/client";
import { bannerOf, standingOf } from "./standing";

const run = (r: Partial<Run>) =>
  ({ run_id: "run_1", status: "RUNNING", updated_at: "2026-01-01T10:00:00Z", ...r }) as Run;
const entry = (e: Partial<Schemas["HistoryEntry"]>) => e as Schemas["HistoryEntry"];

test.each([
  ["RUNNING", "while_running", "state"],
  ["AWAITING_APPROVAL", "until_success", "state"],
  ["WAITING", "always", "state"],
  ["PAUSED", "while_running", "open"],
  ["PAUSED", "until_success", "own"],
  ["PAUSED", "always", "own"],
  ["HELD", "while_running", "own"],
  ["HELD", "always", "own"],
  ["COMPLETED", "while_running", "open"],
  ["COMPLETED", "until_success", "open"],
  ["COMPLETED", "always", "own"],
  ["FAILED", "while_running", "open"],
  ["FAILED", "until_success", "reading"],
  ["FAILED", "always", "own"],
  ["CANCELLED", "while_running", "own"],
  ["BLOCKED", "until_success", "own"],
] as const)("S2.9: %s under %s", (status, enforcement, standing) => {
  expect(standingOf({ status, legal_events: [] }, enforcement)).toBe(standing);
});

test("what depends on an enforcement that is not known yet is not known", () => {
  for (const status of ["PAUSED", "COMPLETED", "FAILED"] as const) {
    expect(standingOf({ status }, undefined)).toBeUndefined();
    expect(bannerOf(run({ status }), [])).toBeUndefined();
  }
});

test("a run that has failed in a state with events opens nothing", () => {
  expect(standingOf({ status: "FAILED", legal_events: [{}] }, "while_running")).toBe("own");
});

test("a pause that lifts enforcement says since when, and by whom", () => {
  const entries = [
    entry({ type: "paused", time: "2026-01-01T08:00:00Z", actor: "early" }),
    entry({ type: "resumed", time: "2026-01-01T08:30:00Z", actor: "agent" }),
    entry({ type: "paused", time: "2026-01-01T09:00:00Z", actor: "agent" }),
  ];
  expect(bannerOf(run({ status: "PAUSED", enforcement: "while_running" }), entries)).toEqual({
    text: "Paused: nothing is enforced",
    since: "2026-01-01T09:00:00Z",
    by: "agent",
  });
  expect(bannerOf(run({ status: "PAUSED", enforcement: "until_success" }), entries)?.text).toBe(
    "Paused: only Interlock's own tools are allowed.",
  );
});

test("an end says what is left", () => {
  const text = (status: Run["status"], enforcement: Run["enforcement"]) =>
    bannerOf(run({ status, enforcement }), [])?.text;
  expect(text("COMPLETED", "until_success")).toBe("The run has ended: nothing is enforced.");
  expect(text("COMPLETED", "always")).toBe("The run has ended: only Interlock's own tools are allowed.");
  expect(text("FAILED", "until_success")).toMatch(/^The run has failed: only tools that read /);
  expect(text("CANCELLED", "while_running")).toBe("The run has ended: only Interlock's own tools are allowed.");
  expect(text("RUNNING", "while_running")).toBeUndefined();
  expect(text("HELD", "while_running")).toBeUndefined();
});

test("a run that its session has left judges nothing, whatever its status", () => {
  expect(
    bannerOf(run({ status: "COMPLETED", enforcement: "until_success", superseded_by: "run_2" }), [])?.text,
  ).toMatch(/another run/);
});
