/** Reads from the events of Claude Code how a call has ended, as `interlock hook` does (S14.5, S14.6). */
import type { PostToolUseFailureHookInput, PostToolUseHookInput } from "@anthropic-ai/claude-agent-sdk";
import type { Outcome } from "./types.js";

/** The end of a call. */
export interface Ending extends Pick<Outcome, "outcomeUnknown" | "background" | "backgroundEnded"> {
  readonly ok: boolean;
}

/** Tools that start programs, those that show them, and those that stop them. */
const starts = ["Monitor", "Agent", "Task"];
const shows = ["TaskOutput", "BashOutput"];
const stops = ["TaskStop", "KillShell", "KillBash"];
/** The states of a program that runs no more. */
const ends = ["completed", "failed", "killed", "stopped"];
/** The name of a program that Claude Code gives none. */
const unnamed = "?";
/** The longest name of a program. */
const longest = 256;

type Fields = { readonly [name: string]: unknown };

/** How a call that Claude Code takes for a success has ended: it may still run, and its exit status need not be 0. */
export function left({ tool_name: tool, tool_input, tool_response: response }: PostToolUseHookInput): Ending {
  // A tool of an MCP server with fields of these names does not describe programs of Claude Code.
  if (tool.startsWith("mcp__")) return { ok: true };
  const fields = fieldsOf(response);
  const runs = continues(fields);
  const end = {
    ok: text(fields["returnCodeInterpretation"]) === "",
    ...((runs || fields["interrupted"] !== undefined && fields["interrupted"] !== false) && { outcomeUnknown: true }),
  };
  if (starts.includes(tool)) {
    const waited = ends.includes(text(fields["status"]));
    return { ...end, ...(!waited && named("background", idOf(fields) || (runs ? unnamed : ""))) };
  }
  if (shows.includes(tool)) {
    const of = fields["task"] === undefined ? fields : fieldsOf(fields["task"]);
    return { ...end, ...(ends.includes(text(of["status"])) && named("backgroundEnded", idOf(of))) };
  }
  if (stops.includes(tool)) return { ...end, ...named("backgroundEnded", idOf(fields) || idOf(fieldsOf(tool_input))) };
  return { ...end, ...named("background", text(fields["backgroundTaskId"]) || (runs ? unnamed : "")) };
}

/** How a call that has failed has ended; one that the user has stopped has no outcome. */
export function failed({ is_interrupt }: PostToolUseFailureHookInput): Ending {
  return { ok: false, ...(is_interrupt && { outcomeUnknown: true }) };
}

/** Whether the program of a call runs on after its result: at a time-out, which agents set, or by a key of the user. */
function continues(fields: Fields): boolean {
  return ["backgroundTaskId", "timedOutAfterMs", "backgroundedByUser", "assistantAutoBackgrounded"].some(
    (name) => fields[name] !== undefined && fields[name] !== null && fields[name] !== false,
  );
}

function idOf(fields: Fields): string {
  const ids = ["backgroundTaskId", "taskId", "task_id", "agentId", "shellId", "shell_id"].map((name) => text(fields[name]));
  return ids.find((id) => id !== "") ?? "";
}

function named(as: "background" | "backgroundEnded", id: string): Partial<Ending> {
  return id === "" ? {} : { [as]: id.slice(0, longest) };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** A text; of a value that is none, its JSON, so that it does not count as absent. */
function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
