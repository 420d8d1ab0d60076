/**
 * Gates the tools of the AI SDK.
 *
 * ```ts
 * const gate = new InterlockGate(interlock); // for one conversation: interlock.forSession(id)
 * const result = await generateText({ ...gate.settings({ model, tools }), messages });
 * ```
 *
 * Every tool with an `execute` is judged before it runs, in `generateText`, `streamText` and `ToolLoopAgent`, those of MCP clients
 * too. A refusal denies the call, with the reason. A call that a human must approve is a `tool-approval-request`: keep the messages,
 * and when the approval is decided, continue with `(await gate.settle(messages)).messages`. `settle` asks Interlock about each call
 * that waits; one that is not decided goes on waiting. A `tool-approval-response` that comes from elsewhere, such as a click in
 * a chat, is no approval: the call is judged when it runs.
 *
 * A verdict is of one call: its tool, its arguments and its id. A tool that finds none asks for one when it runs, so that no tool
 * runs beside `toolApproval`. Within a judged tool the calls of other agents, which have no gate of their own, are judged by the
 * conversation of the tool.
 *
 * Not judged are tools that the provider executes; settings with one of those are refused, unless `ungated` names it. A tool without
 * `execute` is judged when the model calls it, and reported with an unknown outcome, because it runs elsewhere.
 *
 * @packageDocumentation
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  registerTelemetry, wrapLanguageModel,
  type GenericToolApprovalFunction, type ModelMessage, type Telemetry, type TelemetryOptions, type Tool, type ToolApprovalStatus, type ToolSet,
} from "ai";
import type { Interlock } from "./client.js";
import { InterlockError } from "./errors.js";
import { Gate, joined, type GateOptions, type Verdict } from "./gate.js";
import { unlessAborted } from "./inherited.js";
import { succeeded } from "./output.js";

/** A model as an object; a name is resolved by the SDK, out of reach. */
export type ModelObject = Parameters<typeof wrapLanguageModel>[0]["model"];

/** Options of the gate. A gate is for one conversation, whose session is the client's. */
export interface InterlockGateOptions extends Omit<GateOptions<undefined>, "session"> {
  /** Names of tools that cannot be judged and may be used all the same. */
  ungated?: readonly string[];
}

/** Settings of a call of `generateText`, `streamText` or `ToolLoopAgent`. */
export interface GatedSettings<TOOLS extends ToolSet> {
  model: ModelObject;
  tools: TOOLS;
  toolApproval: GenericToolApprovalFunction<any, any, any>;
  telemetry: TelemetryOptions<any, any>;
}

/** The reason that a tool has not run, as its error. */
export class Refused extends InterlockError {
  override name = "Refused";
}

/** The gate of the tool that runs now. */
const within = new AsyncLocalStorage<Gate<undefined> | undefined>();

/** Judges the tools of agents without a gate that run within a judged tool. The SDK asks it about every tool of the process. */
const guard: Telemetry = {
  executeTool: async ({ execute, toolCall, recordInputs }: any) => {
    const gate = within.getStore();
    if (!gate) return execute();
    if (recordInputs === false || !toolCall) {
      throw new Refused("the call was not made: this agent hides the arguments of its tools (recordInputs); give it the settings of a gate");
    }
    const verdict = await gate.ask(toolCall.toolName, toolCall.input, undefined);
    if (!verdict.allowed) throw new Refused(verdict.text);
    return (await gate.perform(verdict, () => execute(), { ok: succeeded })).value;
  },
};

/** The telemetry of settings that are gated: all that is registered but the guard, which would judge the same calls again. */
function telemetryOf(own: Telemetry): TelemetryOptions<any, any> {
  return {
    get integrations(): Telemetry[] {
      return [own, ...registered().filter((one) => one !== guard)];
    },
  };
}

/** The integrations of the process. The SDK keeps them here for all of its copies. */
function registered(): Telemetry[] {
  return (globalThis as { AI_SDK_TELEMETRY_INTEGRATIONS?: Telemetry[] }).AI_SDK_TELEMETRY_INTEGRATIONS ?? [];
}

/** Makes the settings of one conversation. */
export class InterlockGate {
  private readonly gate: Gate<undefined>;
  private readonly notices = new Map<string, string>();
  /** Tools that this program does not run, or that the SDK replaces by its own. */
  private readonly elsewhere = new Set<string>();

  constructor(
    client: Interlock,
    private readonly options: InterlockGateOptions = {},
  ) {
    this.gate = new Gate<undefined>(client, options);
    if (!registered().includes(guard)) registerTelemetry(guard);
  }

  /** The settings of a call of `generateText`, `streamText` or `ToolLoopAgent`. */
  settings<TOOLS extends ToolSet>(settings: { model: ModelObject; tools: TOOLS }): GatedSettings<TOOLS> {
    return { model: this.model(settings.model), tools: this.tools(settings.tools), toolApproval: this.toolApproval, telemetry: telemetryOf(this.ends) };
  }

  /** Settles the calls that were allowed and that an abort or an error has kept from being made. */
  private readonly ends: Telemetry = { onAbort: () => this.end(), onError: () => this.end() };
  private ended = 0;

  private end(): void {
    this.ended++;
    this.gate.forget(undefined);
  }

  /** Denies calls that are not allowed, and asks for those that wait. Alone it judges no approval that a client has sent: use `tools` too. */
  readonly toolApproval: GenericToolApprovalFunction<any, any, any> = async ({ toolCall }): Promise<ToolApprovalStatus> => {
    const { toolCallId, toolName, input } = toolCall as { toolCallId: string; toolName: string; input: unknown };
    // A call that the provider executes has run already, and one that is not valid does not run.
    if ((toolCall as { invalid?: boolean }).invalid || this.options.ungated?.includes(toolName)) return "not-applicable";
    if (this.gate.has(toolName, input, undefined, toolCallId)) return "not-applicable"; // settled
    const before = this.ended;
    const verdict = await this.gate.ask(toolName, input, undefined);
    if (verdict.waits) return { type: "user-approval", reason: verdict.text };
    if (!verdict.allowed) return { type: "denied", reason: verdict.text };
    if (this.elsewhere.has(toolName)) await this.gate.tell(verdict, undefined, true, { outcomeUnknown: true });
    else if (this.ended === before) this.gate.keep(verdict, toolCallId);
    else this.gate.release(verdict); // should it run all the same, it is judged again
    return "not-applicable"; // it runs
  };

  /** Tools that are judged when they run. */
  tools<TOOLS extends ToolSet>(tools: TOOLS): TOOLS {
    return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.tool(name, tool as Tool<any, any>)])) as TOOLS;
  }

  private tool(name: string, tool: Tool<any, any>): Tool<any, any> {
    if (this.options.ungated?.includes(name)) return tool;
    const { execute } = tool;
    if (!execute) {
      const { type } = tool as { type?: string };
      if (type !== undefined && type !== "function" && type !== "dynamic") {
        throw new TypeError(`Interlock cannot judge the tool "${name}", which runs elsewhere; name it in "ungated" if it may be used without`);
      }
      this.elsewhere.add(name);
      return tool;
    }
    if (searches(tool)) this.elsewhere.add(name);
    const judged = {
      ...tool,
      execute: async (input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal }) => {
        const { toolCallId, abortSignal: signal } = options;
        const verdict = this.gate.take(name, input, undefined, toolCallId) ?? (await this.gate.ask(name, input, undefined, { signal }));
        if (!verdict.allowed) throw new Refused(verdict.text);
        const { value, notice } = await this.gate.perform(
          verdict,
          (args) => unlessAborted(signal, () => within.run(this.gate, () => lastOf(() => execute.call(tool, args, options as never), signal))),
          { ok: succeeded, signal },
        );
        if (notice === "") return value;
        if (typeof value === "string") return joined(value, notice);
        this.notices.set(toolCallId, notice);
        return value;
      },
      toModelOutput: async (given: { toolCallId: string; input: unknown; output: unknown }) => {
        const { toModelOutput } = tool;
        const made: any = toModelOutput
          ? await toModelOutput(given as never)
          : typeof given.output === "string"
            ? { type: "text", value: given.output }
            : { type: "json", value: given.output ?? null };
        const notice = this.notices.get(given.toolCallId);
        if (notice === undefined) return made;
        const content = made.type === "content" ? made.value : [{ type: "text", text: made.type === "text" ? made.value : JSON.stringify(made.value) }];
        return { type: "content", value: [...content, { type: "text", text: notice }] };
      },
    } as Tool<any, any>;
    return this.caller(name, tool, judged);
  }

  /** A tool by which a program of the model calls other tools: the SDK makes another tool of it, which is judged, too. */
  private caller(name: string, tool: Tool<any, any>, judged: Tool<any, any>): Tool<any, any> {
    const given = (tool as { experimental_toolCaller?: { type: string; bind?: (tools: ToolSet) => Tool<any, any> } }).experimental_toolCaller;
    if (!given) return judged;
    const { bind } = given;
    const value = bind ? { ...given, bind: (tools: ToolSet) => this.tool(name, bind(tools)) } : given;
    return Object.defineProperty(judged, "experimental_toolCaller", { value });
  }

  /** A model that is offered the tools that are legal in the state of the moment. */
  model(model: ModelObject): ModelObject {
    return wrapLanguageModel({
      model,
      middleware: {
        specificationVersion: "v4",
        transformParams: async ({ params }) => {
          if (!params.tools) return params;
          const offers = await this.gate.offered(undefined);
          return { ...params, tools: params.tools.filter((tool) => this.options.ungated?.includes(tool.name) || offers(tool.name)) };
        },
      },
    });
  }

  /**
   * Asks Interlock about the calls that wait in the messages, and adds the decisions. `waits` is true while there is one that
   * is not decided: then keep the messages, and settle them again later.
   */
  async settle(messages: readonly ModelMessage[]): Promise<{ messages: ModelMessage[]; waits: boolean }> {
    const calls = new Map<string, { toolName: string; input: unknown }>();
    const open = new Map<string, string>(); // approval requests, by their id
    for (const { content } of messages) {
      for (const part of typeof content === "string" ? [] : content) {
        if (part.type === "tool-call") calls.set(part.toolCallId, part);
        if (part.type === "tool-approval-request") open.set(part.approvalId, part.toolCallId);
        if (part.type === "tool-approval-response") open.delete(part.approvalId);
      }
    }
    const content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }[] = [];
    let waits = false;
    for (const [approvalId, toolCallId] of open) {
      const { toolName, input } = calls.get(toolCallId) ?? { toolName: "", input: undefined };
      const verdict: Verdict = this.gate.take(toolName, input, undefined, toolCallId) ?? (await this.gate.ask(toolName, input, undefined));
      if (verdict.waits) {
        waits = true;
      } else if (verdict.allowed) {
        this.gate.keep(verdict, toolCallId);
        content.push({ type: "tool-approval-response", approvalId, approved: true });
      } else {
        content.push({ type: "tool-approval-response", approvalId, approved: false, reason: verdict.text });
      }
    }
    if (waits || content.length === 0) return { messages: [...messages], waits };
    // Where there are results of the same turn, they are in one message.
    const last = messages.at(-1);
    if (last?.role !== "tool") return { messages: [...messages, { role: "tool", content }], waits };
    return { messages: [...messages.slice(0, -1), { ...last, content: [...last.content, ...content] }], waits };
  }
}

/** Whether the SDK replaces the function of a tool by a search of the names of other tools. */
function searches(tool: object): boolean {
  return (tool as { [mark: symbol]: unknown })[Symbol.for("vercel.ai.toolSearch")] === true;
}

/** The result of a tool: of one that yields, the last. An abort ends one that yields. */
async function lastOf(run: () => unknown, signal: AbortSignal | undefined): Promise<unknown> {
  const given = await run();
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown;
  for await (const part of given as AsyncIterable<unknown>) {
    if (signal?.aborted) break;
    last = part;
  }
  return last;
}
