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

test("a run whose calls are open says since when, by whom and why, in red", () => {
  const entries = [
    entry({ type: "paused", time: "2026-01-01T09:00:00Z", actor: "agent", status: "PAUSED" }),
    entry({ type: "resumed", time: "2026-01-01T08:30:00Z", actor: "agent", status: "RUNNING" }),
    entry({ type: "paused", time: "2026-01-01T08:00:00Z", actor: "early", status: "PAUSED" }),
  ];
  expect(bannerOf(run({ status: "PAUSED", enforcement: "while_running" }), entries)).toEqual({
    text: "Nothing is enforced",
    bad: true,
    since: "2026-01-01T09:00:00Z",
    by: "agent",
    why: "paused",
  });
  const own = bannerOf(run({ status: "PAUSED", enforcement: "until_success" }), entries);
  expect(own).toMatchObject({ text: "Only Interlock's own tools are allowed", why: "paused" });
  expect(own?.bad).toBeUndefined();
  // The change to this status is not among the entries that are loaded.
  expect(bannerOf(run({ status: "PAUSED", enforcement: "while_running" }), [])).toMatchObject({
    since: "2026-01-01T10:00:00Z",
    by: undefined,
  });
});

test("an end says what is left", () => {
  const banner = (status: Run["status"], enforcement: Run["enforcement"]) => bannerOf(run({ status, enforcement }), []);
  expect(banner("COMPLETED", "until_success")).toMatchObject({
    text: "Nothing is enforced",
    bad: true,
    why: "the run has ended",
  });
  expect(banner("COMPLETED", "always")?.text).toBe("Only Interlock's own tools are allowed");
  expect(banner("FAILED", "until_success")?.text).toMatch(/^Only tools that read /);
  expect(banner("CANCELLED", "while_running")?.text).toBe("Only Interlock's own tools are allowed");
  expect(banner("RUNNING", "while_running")).toBeUndefined();
});

test("a halt and a hold deny all calls, whatever a pause or an end would open", () => {
  const halt = {
    halt_id: "h",
    scope: "session x",
    reason: "INC-1",
    created_by: "olga",
    created_at: "2026-01-01T11:00:00Z",
  };
  for (const status of ["RUNNING", "PAUSED", "COMPLETED"] as const)
    expect(bannerOf(run({ status, enforcement: "while_running", halt }), [])).toEqual({
      text: "All calls are denied",
      bad: true,
      since: "2026-01-01T11:00:00Z",
      by: "olga",
      why: "halted, with session x: INC-1",
    });
  const holds = [{ cause: "operator" as const, by: "ben", reason: "someone looks", since: "2026-01-01T12:00:00Z" }];
  expect(bannerOf(run({ status: "HELD", enforcement: "while_running", holds }), [])).toEqual({
    text: "All calls are denied",
    bad: true,
    since: "2026-01-01T12:00:00Z",
    by: "ben",
    why: "held: someone looks",
  });
});

test("a run that its session has left judges nothing, whatever its status", () => {
  expect(
    bannerOf(run({ status: "COMPLETED", enforcement: "until_success", superseded_by: "run_2" }), [])?.text,
  ).toMatch(/another run/);
});
