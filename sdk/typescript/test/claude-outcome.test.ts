/** How calls have ended, by the events of Claude Code: the readings of `interlock hook`. */
import { expect, test } from "vitest";
import { failed, left } from "../src/claude-outcome.js";

const ended = (tool: string, response: unknown, input: unknown = {}) => left({ tool_name: tool, tool_input: input, tool_response: response } as never);

test.each([
  ["a command", "Bash", { stdout: "", stderr: "", interrupted: false }, { ok: true }],
  ["no response", "Bash", undefined, { ok: true }],
  ["a text", "Bash", "done", { ok: true }],
  ["a status that is an answer, such as that of grep", "Bash", { interrupted: false, returnCodeInterpretation: "No matches found" }, { ok: false }],
  ["one that was interrupted", "Bash", { interrupted: true }, { ok: true, outcomeUnknown: true, background: "" }],
  ["one that asked for the background", "Bash", { interrupted: false, backgroundTaskId: "b1" }, { ok: true, outcomeUnknown: true, background: "b1" }],
  ["one that was late", "Bash", { interrupted: false, backgroundTaskId: "b1", timedOutAfterMs: 1500 }, { ok: true, outcomeUnknown: true, background: "b1" }],
  ["one that was late and has no name", "Bash", { timedOutAfterMs: 0 }, { ok: true, outcomeUnknown: true, background: "?" }],
  ["one that the user has left", "Bash", { backgroundedByUser: true }, { ok: true, outcomeUnknown: true, background: "?" }],
  ["one that the agent has left", "PowerShell", { assistantAutoBackgrounded: true }, { ok: true, outcomeUnknown: true, background: "?" }],
  ["fields of an odd form", "Bash", { interrupted: "yes", backgroundTaskId: 7, returnCodeInterpretation: ["x"] }, { ok: false, outcomeUnknown: true, background: "7" }],
  ["an agent that was waited for", "Agent", { status: "completed", agentId: "a1" }, { ok: true }],
  ["an agent that works on", "Agent", { status: "async_launched", agentId: "a1" }, { ok: true, background: "a1" }],
  ["a monitor", "Monitor", { taskId: "m1" }, { ok: true, background: "m1" }],
  ["a program that is shown at work", "TaskOutput", { task: { task_id: "b1", status: "running" } }, { ok: true }],
  ["one that is shown to have ended", "TaskOutput", { task: { task_id: "b1", status: "completed" } }, { ok: true, backgroundEnded: "b1" }],
  ["the same, in the older form", "BashOutput", { shellId: "b1", status: "killed" }, { ok: true, backgroundEnded: "b1" }],
  ["a program that was stopped", "TaskStop", { task_id: "b1" }, { ok: true, backgroundEnded: "b1" }],
  ["a tool of a server, whatever its fields", "mcp__sh__Bash", { interrupted: true, backgroundTaskId: "b1" }, { ok: true }],
])("%s", (_, tool, response, expected) => {
  const { background, ...rest } = ended(tool, response);
  expect({ ...rest, ...(background && { background }) }).toEqual({ ...expected, ...("background" in expected && expected.background === "" && { background: undefined }) });
});

test("a program that was stopped by the name in the input", () => {
  expect(ended("KillShell", { message: "killed" }, { shell_id: "b1" })).toMatchObject({ backgroundEnded: "b1" });
});

test("a name is as long as reports take it", () => {
  expect(ended("Bash", { backgroundTaskId: "b".repeat(300) }).background).toHaveLength(256);
});

test("a failure that the user has caused has no outcome", () => {
  expect(failed({ is_interrupt: true } as never)).toEqual({ ok: false, outcomeUnknown: true });
  expect(failed({} as never)).toEqual({ ok: false });
});
