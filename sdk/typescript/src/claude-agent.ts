/**
 * Gates the tools of the Claude Agent SDK, by its hooks.
 *
 * ```ts
 * for await (const message of query({ prompt, options: guarded(options, interlock) })) ...
 * ```
 *
 * Every tool is judged: built-in tools, tools of the program and of MCP servers, and those of subagents. `canUseTool` is not called
 * for what settings or `allowedTools` allow already, so it gates nothing.
 *
 * A call that a human must approve is deferred: the run stops, and `deferred_tool_use` of the result has the call. When the
 * approval is decided, continue with `resume(options)`, where `options.resume` is the id of the session. Claude Code asks the hook
 * again, and Interlock decides again: about the arguments of that moment, and nothing runs that nobody has approved. Claude Code
 * 2.1.328 resumes such a call before it has found the tools that run in this program (`createSdkMcpServer`): it then ends with an
 * error, and the call goes on waiting. Have tools that humans approve in an MCP server on stdio.
 *
 * Claude Code runs hooks at once, and one that changes a call's arguments would change them after they were judged. So the
 * `PreToolUse` hooks of the options are run before the call is judged, by the adapter. Hooks of settings files and of plugins are
 * not: leave `settingSources` empty, or keep hooks out of them that return `updatedInput`.
 *
 * @packageDocumentation
 */
import {
  query,
  type HookCallback,
  type HookCallbackMatcher,
  type HookInput,
  type HookJSONOutput,
  type Options,
  type PostToolUseFailureHookInput,
  type PostToolUseHookInput,
  type PreToolUseHookInput,
  type SDKMessage,
  type SDKUserMessage,
  type SyncHookJSONOutput,
} from "@anthropic-ai/claude-agent-sdk";
import type { Interlock } from "./client.js";
import { Gate, type GateOptions, type Verdict } from "./gate.js";

/** Options of `guarded`. A session is named by a hook's input; its `session_id` is the conversation of Claude Code. */
export interface GuardedOptions extends GateOptions<HookInput> {
  /** Seconds that Claude Code waits for a decision, 60 by default; more than the client's `timeoutMs`. */
  timeout?: number;
}

type Hook = (input: HookInput, toolUseID: string | undefined, options: { signal: AbortSignal }) => Promise<HookJSONOutput>;

/** Options with the hooks of Interlock before those that they have; the options that are given stay as they are. */
export function guarded(options: Options, client: Interlock, more: GuardedOptions = {}): Options {
  const { PreToolUse: theirs = [], ...others } = options.hooks ?? {};
  const adapter = new Adapter(new Gate(client, more), theirs);
  const matcher = (hook: Hook, onFailure: "continue" | "block"): HookCallbackMatcher => ({
    hooks: [hook],
    timeout: more.timeout ?? 60,
    onFailure,
  });
  // A hook that fails or is late blocks: without that, Claude Code would count it as no opinion.
  const hooks: NonNullable<Options["hooks"]> = {
    ...others,
    PreToolUse: [matcher(adapter.before, "block")],
    PostToolUse: [matcher(adapter.after, "continue"), ...(others.PostToolUse ?? [])],
    PostToolUseFailure: [matcher(adapter.failed, "continue"), ...(others.PostToolUseFailure ?? [])],
  };
  return { ...options, hooks };
}

/**
 * Resumes the session of `options.resume`, whose last call was deferred, and yields what `query` yields. When nobody has decided
 * yet, the call is deferred again.
 */
export async function* resume(options: Options): AsyncGenerator<SDKMessage, void, undefined> {
  let over = (): void => undefined;
  const ended = new Promise<void>((resolve) => (over = resolve));
  // There is no message of a user, which would come after the call that waits. Without any prompt the run would end.
  async function* prompt(): AsyncGenerator<SDKUserMessage, void, undefined> {
    await ended;
  }
  try {
    // The call that waits is looked up when Claude Code starts: the servers of its tools must be connected then.
    const env = { ...(options.env ?? process.env), MCP_CONNECTION_NONBLOCKING: "0" };
    for await (const message of query({ prompt: prompt(), options: { ...options, env } })) {
      if (message.type === "result") over();
      yield message;
    }
  } finally {
    over();
  }
}

class Adapter {
  private readonly running = new Map<string, Verdict>();
  constructor(
    private readonly gate: Gate<HookInput>,
    private readonly others: readonly HookCallbackMatcher[],
  ) {}

  readonly before: Hook = async (input, toolUseID, options) => {
    const given = input as PreToolUseHookInput;
    const { answer, changed } = await this.theirs(given, toolUseID, options);
    if (answer) return answer;
    const verdict = await this.gate.ask(given.tool_name, changed, { ...given, tool_input: changed });
    if (!verdict.allowed) return decided(verdict.waits ? "defer" : "deny", verdict.text);
    this.running.set(given.tool_use_id, verdict);
    return {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        // What the workflow names is granted. What no list speaks of stays with the permissions of Claude Code.
        ...(verdict.decision.toolsRestricted && { permissionDecision: "allow", permissionDecisionReason: "Interlock allows it" }),
        updatedInput: changed as Record<string, unknown>,
      },
    };
  };

  /** Runs the other hooks. Returns the answer of one that does not let the call pass, and the arguments. */
  private async theirs(
    given: PreToolUseHookInput,
    toolUseID: string | undefined,
    options: { signal: AbortSignal },
  ): Promise<{ answer?: HookJSONOutput; changed: unknown }> {
    let changed = given.tool_input;
    for (const matcher of this.others) {
      if (!matches(matcher.matcher, given.tool_name)) continue;
      for (const hook of matcher.hooks) {
        let answer: SyncHookJSONOutput;
        try {
          answer = (await (hook as HookCallback)({ ...given, tool_input: changed }, toolUseID, options)) as SyncHookJSONOutput;
        } catch (err) {
          if (matcher.onFailure === "block") throw err;
          continue;
        }
        const said = answer?.hookSpecificOutput;
        if (answer?.decision === "block" || answer?.continue === false) return { answer, changed };
        if (said?.hookEventName !== "PreToolUse") continue;
        if (["deny", "ask", "defer"].includes(said.permissionDecision ?? "")) return { answer, changed };
        changed = said.updatedInput ?? changed;
      }
    }
    return { changed };
  }

  readonly after: Hook = (input) => {
    const given = input as PostToolUseHookInput;
    return this.report("PostToolUse", given.tool_use_id, given.tool_response, true);
  };

  readonly failed: Hook = (input) => {
    const given = input as PostToolUseFailureHookInput;
    return this.report("PostToolUseFailure", given.tool_use_id, given.error, false);
  };

  private async report(hookEventName: "PostToolUse" | "PostToolUseFailure", id: string, output: unknown, ok: boolean): Promise<HookJSONOutput> {
    const verdict = this.running.get(id);
    if (!verdict) return {};
    this.running.delete(id);
    const notice = await this.gate.tell(verdict, output, ok);
    return notice === "" ? {} : { hookSpecificOutput: { hookEventName, additionalContext: notice } };
  }
}

/** Whether a matcher of Claude Code is for a tool: names with | between them, or else a regular expression. */
function matches(matcher: string | undefined, tool: string): boolean {
  if (!matcher || matcher === "*") return true;
  if (/^[\w|]+$/.test(matcher)) return matcher.split("|").includes(tool);
  return new RegExp(matcher).test(tool);
}

function decided(permissionDecision: "deny" | "defer", permissionDecisionReason: string): HookJSONOutput {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason } };
}
