/**
 * Gates the tools of the Claude Agent SDK, by its hooks.
 *
 * ```ts
 * for await (const message of query({ prompt, options: guarded(options, interlock) })) ...
 * ```
 *
 * Every tool is judged: built-in tools, tools of the program and of MCP servers, and those of subagents. So are shell commands in the
 * text of skills and slash commands. `canUseTool` is not called for calls that settings or `allowedTools` allow already, so it does not
 * gate them.
 *
 * A call that a human must approve is deferred: the run stops, and `deferred_tool_use` of the result has the call. When the
 * approval is decided, continue with `resume(options)`, where `options.resume` is the id of the session. Claude Code asks the hook
 * again, and Interlock decides again, about the arguments of that moment. Claude Code
 * 2.1.328 resumes such a call before it has found the tools that run in this program (`createSdkMcpServer`): it then ends with an
 * error, and the call goes on waiting. Have tools that humans approve in an MCP server on stdio. A shell command in a skill cannot
 * wait: it is refused, and runs when the skill is loaded again after the approval.
 *
 * The evidence of a workflow is of the run's workspace: load it with `workspace`, the folder that Claude Code works in.
 *
 * Claude Code runs hooks at once, and one that changes a call's arguments would change them after they were judged. So the
 * `PreToolUse` hooks of the options are run before the call is judged, by the adapter. Arguments that `canUseTool` or a
 * `PermissionRequest` hook changes are judged again. Hooks of settings files and of plugins are out of reach: set `settingSources: []`,
 * or keep hooks out of them that return `updatedInput`. A call that has run with other arguments than were judged is reported
 * with an unknown outcome, and `onWarning` receives it.
 *
 * @packageDocumentation
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  query as run,
  type CanUseTool,
  type HookCallback,
  type HookCallbackMatcher,
  type HookInput,
  type HookJSONOutput,
  type Options,
  type PermissionDeniedHookInput,
  type PermissionRequestHookInput,
  type PostToolUseFailureHookInput,
  type PostToolUseHookInput,
  type PreSkillShellCommandHookInput,
  type PreToolUseHookInput,
  type Query,
  type SDKMessage,
  type SDKUserMessage,
  type Settings,
  type SyncHookJSONOutput,
} from "@anthropic-ai/claude-agent-sdk";
import { failed, left, type Ending } from "./claude-outcome.js";
import type { Interlock } from "./client.js";
import { Gate, digestOf, type GateOptions, type Verdict } from "./gate.js";

/** Options of `guarded`. A session is named by a hook's input; its `session_id` is the conversation of Claude Code. */
export interface GuardedOptions extends GateOptions<HookInput> {
  /** Seconds that Claude Code waits for a decision, 60 by default; more than the client's `timeoutMs`. */
  timeout?: number;
}

type Hook = (input: HookInput, toolUseID: string | undefined, options: { signal: AbortSignal }) => Promise<HookJSONOutput>;

/** Options with the hooks of Interlock before those that they have; the options that are given stay as they are. */
export function guarded(options: Options, client: Interlock, more: GuardedOptions = {}): Options {
  if (options.permissionPromptToolName !== undefined) {
    throw new TypeError("Interlock cannot judge the arguments that permissionPromptToolName may change: leave it out, and use canUseTool");
  }
  const settings = withHooks(options);
  const { PreToolUse: theirs = [], PermissionRequest: requests = [], ...others } = options.hooks ?? {};
  const warn = more.onWarning ?? (() => undefined);
  const adapter = new Adapter(new Gate(client, more), theirs, warn, options.abortController?.signal);
  const matcher = (hook: Hook, onFailure: "continue" | "block"): HookCallbackMatcher => ({
    hooks: [hook],
    timeout: more.timeout ?? 60,
    onFailure,
  });
  // A hook that fails or is late blocks: without that, Claude Code would count it as no opinion.
  const hooks: NonNullable<Options["hooks"]> = {
    ...others,
    PreToolUse: [matcher(adapter.before, "block")],
    PreSkillShellCommand: [matcher(adapter.skill, "block"), ...(others.PreSkillShellCommand ?? [])],
    ...(requests.length > 0 && { PermissionRequest: requests.map((one) => ({ ...one, hooks: one.hooks.map(adapter.requested) })) }),
    PostToolUse: [matcher(adapter.after, "continue"), ...(others.PostToolUse ?? [])],
    PostToolUseFailure: [matcher(adapter.failed, "continue"), ...(others.PostToolUseFailure ?? [])],
    PermissionDenied: [matcher(adapter.denied, "continue"), ...(others.PermissionDenied ?? [])],
    SessionEnd: [matcher(adapter.ended, "continue"), ...(others.SessionEnd ?? [])],
  };
  adapters.set(hooks, adapter);
  return { ...options, settings, hooks, ...(options.canUseTool && { canUseTool: adapter.permission(options.canUseTool) }) };
}

/** The variable by which Claude Code runs no hooks. */
const bare = "CLAUDE_CODE_SIMPLE";

/** The adapters of options, by their hooks, which copies of the options keep. */
const adapters = new WeakMap<object, Adapter>();

/**
 * The settings by which Claude Code runs hooks, also against files of settings. Throws where the options themselves turn hooks off:
 * then no call would be judged.
 */
function withHooks({ extraArgs, env, settings: given, managedSettings, cwd }: Options): Settings {
  const settings = settingsOf(given, cwd);
  const off = [env ?? process.env, settings.env, managedSettings?.env].some((one) => on(one?.[bare]));
  if (off || extraArgs?.["bare"] !== undefined) {
    throw new TypeError(`Interlock cannot judge a Claude Code that runs no hooks: leave out the argument bare, and the variable ${bare}`);
  }
  return { ...settings, env: { ...settings.env, [bare]: "0" } };
}

/** The settings of options: an object, its JSON, or the path of a file. */
function settingsOf(settings: Options["settings"], cwd = "."): Settings {
  if (typeof settings !== "string") return settings ?? {};
  const text = settings.trim().startsWith("{") ? settings : readFileSync(resolve(cwd, settings), "utf8");
  return JSON.parse(text) as Settings;
}

/** Whether Claude Code takes a variable for true. */
function on(value: unknown): boolean {
  return ["1", "true", "yes", "on"].includes(String(value ?? "").trim().toLowerCase());
}

/**
 * Runs `query` of the SDK. When it is over, left or closed, the calls whose end Claude Code has not said are reported with an unknown
 * outcome.
 */
export function query(params: Parameters<typeof run>[0]): Query {
  const adapter = params.options?.hooks && adapters.get(params.options.hooks);
  const made = run(params);
  if (!adapter) return made;
  const sessions = new Set<string>();
  const settle = async (): Promise<void> => void (await Promise.all([...sessions].map((session) => adapter.lose(({ given }) => given.session_id === session))));
  const over = async <T>(end: () => T | Promise<T>): Promise<T> => {
    try {
      return await end();
    } finally {
      await settle();
    }
  };
  const ways: Record<string | symbol, (...given: any[]) => unknown> = {
    next: async () => {
      const step = await made.next().catch((err: unknown) => over(() => Promise.reject(err as Error)));
      if (step.done) await settle();
      else if (step.value.session_id) sessions.add(step.value.session_id);
      return step;
    },
    return: (value) => over(() => made.return(value as never)),
    throw: (err) => over(() => made.throw(err)),
    close: () => void over(() => made.close()),
    [Symbol.asyncIterator]: () => gated,
  };
  const gated: Query = new Proxy(made, {
    get(target, name) {
      if (Object.hasOwn(ways, name)) return ways[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return gated;
}

/**
 * Resumes the session of `options.resume`, whose last call was deferred, and yields the messages of `query`. Without a decision
 * the call is deferred again.
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

/** A call that is allowed and has not ended. */
interface Running {
  readonly verdict: Verdict;
  /** The event that it was judged by. */
  readonly given: PreToolUseHookInput;
}

class Adapter {
  /** By the conversation and the call's id: conversations may have calls of one id. */
  private readonly running = new Map<string, Running>();
  constructor(
    private readonly gate: Gate<HookInput>,
    private readonly others: readonly HookCallbackMatcher[],
    private readonly warn: (message: string, err: unknown) => void,
    private readonly aborted: AbortSignal | undefined,
  ) {
    // Claude Code is ended then, and no event shows how its calls have ended.
    aborted?.addEventListener("abort", () => void this.lose(() => true), { once: true });
  }

  readonly before: Hook = async (input, toolUseID, options) => {
    const given = input as PreToolUseHookInput;
    const { answer, asks, changed } = await this.theirs(given, toolUseID, options);
    if (answer) return answer;
    const verdict = await this.judge({ ...given, tool_input: changed }, options.signal);
    if (!verdict.allowed) return decided("PreToolUse", verdict.waits ? "defer" : "deny", verdict.text);
    if (asks) return { ...asks, hookSpecificOutput: { ...asks.hookSpecificOutput!, updatedInput: verdict.args as Record<string, unknown> } };
    return {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        // A tool that the workflow names is granted. One that no list names stays with the permissions of Claude Code.
        ...(verdict.decision.toolsRestricted && { permissionDecision: "allow", permissionDecisionReason: "Interlock allows it" }),
        updatedInput: verdict.args as Record<string, unknown>,
      },
    };
  };

  private async judge(given: PreToolUseHookInput, hook: AbortSignal | undefined): Promise<Verdict> {
    const signal = this.aborted && hook ? AbortSignal.any([this.aborted, hook]) : (this.aborted ?? hook);
    const verdict = await this.gate.ask(given.tool_name, given.tool_input, given, { folder: given.cwd, signal });
    if (verdict.allowed && this.aborted?.aborted) this.gate.release(verdict);
    else if (verdict.allowed) this.running.set(keyOf(given), { verdict, given });
    return verdict;
  }

  /** Runs the other hooks. Returns the answer of one that does not let the call pass, that of one that asks the user, and the arguments. */
  private async theirs(
    given: PreToolUseHookInput,
    toolUseID: string | undefined,
    options: { signal: AbortSignal },
  ): Promise<{ answer?: HookJSONOutput; asks?: Asking; changed: unknown }> {
    let changed = given.tool_input;
    let asks: Asking | undefined;
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
        if (answer?.decision === "block") return { answer, changed };
        if (answer?.continue === false) {
          // Claude Code makes the call of a hook that only ends the conversation.
          return { answer: { ...answer, ...decided("PreToolUse", "deny", answer.reason ?? answer.stopReason ?? "a hook has ended the conversation") }, changed };
        }
        if (said?.hookEventName !== "PreToolUse") continue;
        if (said.permissionDecision === "deny" || said.permissionDecision === "defer") return { answer, changed };
        changed = said.updatedInput ?? changed;
        if (said.permissionDecision === "ask") asks = { ...answer, hookSpecificOutput: said };
      }
    }
    return asks ? { asks, changed } : { changed };
  }

  /** Judges a shell command in the text of a skill or slash command. No event shows its end, and it cannot wait for a human. */
  readonly skill: Hook = async (input, _, { signal }) => {
    const given = input as PreSkillShellCommandHookInput;
    const verdict = await this.gate.ask(given.tool_name, given.tool_input, given, { folder: given.cwd, signal });
    if (!verdict.allowed) return decided("PreSkillShellCommand", "deny", verdict.text);
    await this.gate.tell(verdict, undefined, true, { outcomeUnknown: true });
    return {};
  };

  /** The permissions of the program, whose changes of arguments are judged. */
  permission(theirs: CanUseTool): CanUseTool {
    return async (tool, input, options) => {
      const found = [...this.running].find(([, one]) => one.given.tool_use_id === options.toolUseID && of(one, tool, input));
      const result = await theirs(tool, input, options);
      if (result === null) return null;
      if (!found) return result.behavior === "allow" ? { behavior: "deny", message: "Interlock has no decision on this call" } : result;
      if (result.behavior !== "allow") {
        this.drop(found[0]);
        return result;
      }
      const why = await this.changed(found, result.updatedInput, options.signal);
      return why === "" ? result : { behavior: "deny", message: why };
    };
  }

  /** A hook of the program that answers for permissions, whose changes of arguments are judged. */
  readonly requested = (theirs: HookCallback): HookCallback => async (input, toolUseID, options) => {
    const given = input as PermissionRequestHookInput;
    const answer = (await theirs(input, toolUseID, options)) as SyncHookJSONOutput;
    const said = answer?.hookSpecificOutput;
    if (said?.hookEventName !== "PermissionRequest" || said.decision.behavior !== "allow") return answer;
    const found = [...this.running].find(([, one]) => one.given.session_id === given.session_id && of(one, given.tool_name, given.tool_input));
    const why = found ? await this.changed(found, said.decision.updatedInput, options.signal) : "Interlock has no decision on this call";
    if (why === "") return answer;
    return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "deny", message: why } } };
  };

  /** Judges arguments that were changed after the decision. Returns why they are refused; empty when they are not. */
  private async changed([key, { given, verdict }]: [string, Running], input: unknown, signal: AbortSignal | undefined): Promise<string> {
    if (input === undefined || digestOf(input) === verdict.digest) return "";
    this.drop(key);
    const again = await this.judge({ ...given, tool_input: input }, signal);
    return again.allowed ? "" : again.text;
  }

  readonly after: Hook = (input) => {
    const given = input as PostToolUseHookInput;
    return this.report(given, given.tool_response, left(given));
  };

  readonly failed: Hook = (input) => {
    const given = input as PostToolUseFailureHookInput;
    return this.report(given, given.error, failed(given));
  };

  /** A call that Claude Code has refused after it was allowed was not made. */
  readonly denied: Hook = async (input) => {
    this.drop(keyOf(input as PermissionDeniedHookInput));
    return {};
  };

  /** Calls whose end no event has shown, such as of a subagent that was stopped, have an unknown outcome. */
  readonly ended: Hook = async (input) => {
    await this.lose(({ given }) => given.session_id === input.session_id);
    return {};
  };

  /** Reports calls whose end is not known. */
  async lose(which: (one: Running) => boolean): Promise<void> {
    for (const [key, one] of this.running) {
      if (!which(one)) continue;
      this.running.delete(key);
      await this.gate.tell(one.verdict, undefined, false, { outcomeUnknown: true });
    }
  }

  /** Settles a call that is not made. */
  private drop(key: string): void {
    const one = this.running.get(key);
    this.running.delete(key);
    if (one) this.gate.release(one.verdict);
  }

  private async report(given: PostToolUseHookInput | PostToolUseFailureHookInput, output: unknown, ending: Ending): Promise<HookJSONOutput> {
    const one = this.running.get(keyOf(given));
    if (!one) return {};
    this.running.delete(keyOf(given));
    const { ok, ...outcome } = ending;
    const other = digestOf(given.tool_input) !== one.verdict.digest;
    if (other) this.warn(`a call has run with other arguments than were judged: ${given.tool_name}`, undefined);
    const notice = await this.gate.tell(one.verdict, output, ok && !other, { ...outcome, ...(other && { outcomeUnknown: true }) });
    return notice === "" ? {} : { hookSpecificOutput: { hookEventName: given.hook_event_name, additionalContext: notice } };
  }
}

function keyOf(given: { session_id: string; tool_use_id: string }): string {
  return JSON.stringify([given.session_id, given.tool_use_id]);
}

/** Whether a call is of a tool and arguments. */
function of({ given, verdict }: Running, tool: string, input: unknown): boolean {
  return given.tool_name === tool && verdict.digest === digestOf(input);
}

/** Whether a matcher of Claude Code is for a tool: names with | between them, or else a regular expression. */
function matches(matcher: string | undefined, tool: string): boolean {
  if (!matcher || matcher === "*") return true;
  if (/^[\w|]+$/.test(matcher)) return matcher.split("|").includes(tool);
  return new RegExp(matcher).test(tool);
}

/** The answer of a hook that has the user asked. */
type Asking = SyncHookJSONOutput & { hookSpecificOutput: Extract<SyncHookJSONOutput["hookSpecificOutput"], { hookEventName: "PreToolUse" }> };

function decided(hookEventName: "PreToolUse" | "PreSkillShellCommand", permissionDecision: "deny" | "defer", permissionDecisionReason: string): HookJSONOutput {
  return { hookSpecificOutput: { hookEventName, permissionDecision, permissionDecisionReason } };
}
