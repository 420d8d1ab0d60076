/**
 * Gates the tools of LangChain agents and LangGraph graphs.
 *
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [interlockMiddleware(interlock)], checkpointer });
 * const graph = createReactAgent({ llm, tools: interlockTools(interlock, tools), checkpointer });
 * ```
 *
 * A tool is judged right before it runs, with the arguments that it gets, in any order of the middleware. So are the tools that
 * it calls and those of agents that it begins, such as subagents of deepagents. A refusal is the tool's message, with status
 * "error". A call that a human must approve interrupts the graph, which needs a checkpointer; resume it with
 * `new Command({ resume: true })` when the approval is decided. The resumption is no approval: Interlock decides again, about the
 * arguments of that moment.
 *
 * Tools that the model's provider runs cannot be judged: an agent with one is refused, unless `ungated` names it.
 *
 * @packageDocumentation
 */
import { ToolMessage } from "@langchain/core/messages";
import { StructuredTool } from "@langchain/core/tools";
import { Command, getConfig, interrupt } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { Interlock } from "./client.js";
import { Gate, joined, type GateOptions, type Verdict } from "./gate.js";
import { Inherited, replaceMethod, unlessAborted } from "./inherited.js";

/** The config of a run of the graph, which names a session. */
export interface GraphConfig {
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

/** Options of the tools. */
export type ToolOptions = GateOptions<GraphConfig>;

/** Options of the middleware. */
export interface MiddlewareOptions extends ToolOptions {
  /** Whether tools that are not legal in the state are kept from the model; true by default. */
  hide?: boolean;
  /** Names of tools that the model's provider runs and that may be used without a decision, such as `web_search`. */
  ungated?: readonly string[];
}

/** The thread of a conversation, for the option `session`: every thread then has a run of its own. */
export function threadId(config: GraphConfig): string {
  const id = config.configurable?.["thread_id"];
  if (typeof id !== "string" || id === "") throw new TypeError("the config of the graph has no thread_id");
  return id;
}

/** The question for humans, as the value of an interrupt. */
export interface Question {
  readonly type: "interlock_approval";
  readonly approvalId: string;
  readonly tool: string;
  readonly args: unknown;
  readonly toolCallId: string;
  readonly message: string;
}

/** Middleware of `createAgent`. Put it last, so that it sees all tools that are offered to the model. */
export function interlockMiddleware(client: Interlock, options: MiddlewareOptions = {}): AgentMiddleware {
  const gate = new Gate<GraphConfig>(client, options);
  return createMiddleware({
    name: "Interlock",
    wrapToolCall: async (request, handler) => {
      const { name, args, id = "" } = request.toolCall;
      const { tool } = request;
      if (isObject(tool)) govern(tool);
      const guard = new Guard(gate, graphConfig());
      const verdict = await guard.decide(name, args, id);
      if (!verdict.allowed) return refusal(verdict.text, name, id);
      if (isObject(tool) && !isGoverned(tool)) {
        // A runnable that is no tool of LangChain's class: the arguments are those of here.
        const { value, notice } = await gate.perform(verdict, () => guard.around(() => handler(request)), reading);
        return noticed(value, notice);
      }
      try {
        return await guard.around(() => gate.permit(verdict, () => handler(request)));
      } finally {
        await guard.end(verdict);
      }
    },
    wrapModelCall: async (request, handler) => {
      for (const tool of [...request.tools, ...settingsTools(request.modelSettings)]) refuseHosted(tool, options.ungated ?? []);
      const guard = new Guard(gate, graphConfig());
      if (options.hide === false) return guard.around(() => handler(request));
      const offers = await gate.offered(graphConfig());
      return guard.around(() => handler({ ...request, tools: request.tools.filter((tool) => offers(nameOf(tool))) }));
    },
  }) as AgentMiddleware;
}

/**
 * Has tools judge themselves wherever they run, for graphs without middleware: a `ToolNode`, `createReactAgent` of LangGraph, or a
 * node that calls them. Returns the same tools.
 */
export function interlockTools<T extends object>(client: Interlock, tools: readonly T[], options: ToolOptions = {}): T[] {
  const gate = new Gate<GraphConfig>(client, options);
  return tools.map((tool) => {
    govern(tool);
    if (!isGoverned(tool)) throw new TypeError(`Interlock cannot judge the tool "${nameOf(tool)}": it is no StructuredTool of @langchain/core`);
    gates.set(tool, gate);
    return tool;
  });
}

/** Judges the calls of one place of a graph, and of all that they begin. */
class Guard {
  private judged = 0;
  constructor(
    readonly gate: Gate<GraphConfig>,
    private readonly config: GraphConfig,
  ) {}

  /** Calls a function whose tools are judged. */
  around<R>(body: () => R): R {
    return inherited.run(this, body);
  }

  /** Decides a call. One that waits for humans interrupts the graph. */
  async decide(name: string, args: unknown, id: string): Promise<Verdict> {
    for (;;) {
      const verdict = await this.gate.ask(name, args, this.config, { signal: this.config.signal });
      if (!verdict.waits) return verdict;
      const question: Question = {
        type: "interlock_approval", approvalId: verdict.approvalId, tool: name, args, toolCallId: id, message: verdict.text,
      };
      // Returns when the graph was resumed, perhaps without a decision.
      interrupt(question);
    }
  }

  /** Runs a tool if it is allowed: by the verdict of the middleware if that is of this very call. */
  async call(tool: StructuredTool, args: unknown, id: string, run: (args: unknown) => Promise<unknown>): Promise<unknown> {
    this.judged++;
    const { name } = tool;
    const verdict = this.gate.permitted(name, args) ?? (await this.decide(name, args, id));
    if (!verdict.allowed) return id === "" ? verdict.text : refusal(verdict.text, name, id);
    const inner = new Guard(this.gate, this.config);
    const { value, notice } = await this.gate.perform(verdict, (given) => unlessAborted(this.config.signal, () => inner.around(() => run(given))), { ...reading, signal: this.config.signal });
    return noticed(value, notice);
  }

  /** Ends a call of the middleware. If no tool has run by its verdict, other middleware has answered, or changed the call. */
  async end(verdict: Verdict): Promise<void> {
    if (this.judged > 0) this.gate.release(verdict); // unless it was used
    else await this.gate.perform(verdict, () => undefined, { ok: () => false, outcome: () => ({ outcomeUnknown: true }) });
  }
}

/** The judge that holds inside of a judged call. */
const inherited = new Inherited<Guard>();
/** The gates of tools that judge themselves. */
const gates = new WeakMap<object, Gate<GraphConfig>>();
const governed = Symbol.for("interlock.langchain");

const reading = {
  ok: (result: unknown) => !(ToolMessage.isInstance(result) && result.status === "error"),
  output: (result: unknown) => (ToolMessage.isInstance(result) ? result.content : result instanceof Command ? result.update : result),
};

/** The class of all tools of a copy of LangChain: the last in the chain that has `call`. */
function root(tool: object): object | undefined {
  let found: object | undefined;
  for (let one: object | null = tool; one; one = Object.getPrototypeOf(one) as object | null) if (Object.hasOwn(one, "call")) found = one;
  return found;
}

function isGoverned(tool: object): boolean {
  const { call } = (root(tool) ?? {}) as { call?: object };
  return call !== undefined && Object.hasOwn(call, governed);
}

/** Lets the tools of a copy of LangChain be judged inside of judged calls, and where they judge themselves. */
function govern(tool: object): void {
  const owner = root(tool);
  if (!owner) return;
  replaceMethod(owner, "call", governed, (original) => async function (this: StructuredTool, arg: unknown, config?: { toolCall?: { id?: string } }, ...rest: unknown[]) {
    const own = gates.get(this);
    const guard = inherited.current ?? (own && new Guard(own, graphConfig()));
    const call = arg as { type?: unknown; id?: string; args?: unknown } | undefined;
    const isCall = isObject(call) && call["type"] === "tool_call";
    const run = (args: unknown): Promise<unknown> => original.call(this, isCall ? { ...call, args } : args, config, ...rest) as Promise<unknown>;
    if (!guard) return run(isCall ? call.args : arg);
    return guard.call(this, isCall ? call.args : arg, (isCall ? call.id : config?.toolCall?.id) ?? "", run);
  });
}
govern(StructuredTool.prototype);

/** The config of the graph that runs here. Outside of one, a session that is a function of it fails, and refuses. */
function graphConfig(): GraphConfig {
  try {
    return (getConfig() ?? {}) as GraphConfig;
  } catch {
    return {};
  }
}

function refusal(text: string, name: string, id: string): ToolMessage {
  return new ToolMessage({ content: text, name, tool_call_id: id, status: "error" });
}

/** Tools that the model has by the settings of its call. */
function settingsTools(settings: Record<string, unknown> = {}): unknown[] {
  return [settings["tools"], settings["mcp_servers"]].flatMap((one) => one ?? []);
}

/** Throws when a tool runs where it cannot be judged. */
function refuseHosted(tool: unknown, ungated: readonly string[]): void {
  const name = nameOf(tool);
  if (typeof (tool as { invoke?: unknown }).invoke === "function" || ungated.includes(name)) return;
  throw new TypeError(
    `Interlock cannot judge the tool "${name}", which the model's provider runs, so it must not be offered; name it in "ungated" if it may be used without`,
  );
}

function nameOf(tool: unknown): string {
  const { name, type, function: fn } = tool as { name?: unknown; type?: unknown; function?: { name?: unknown } };
  return String(name ?? fn?.name ?? type ?? "");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** A result with the text for the model to read with it. */
function noticed<T>(result: T, notice: string): T {
  if (notice === "") return result;
  if (typeof result === "string") return joined(result, notice) as T;
  if (ToolMessage.isInstance(result)) return withNotice(result, notice) as T;
  const messages = result instanceof Command ? (result.update as { messages?: unknown[] } | undefined)?.messages : undefined;
  if (Array.isArray(messages)) {
    const last = messages.findLastIndex((one) => ToolMessage.isInstance(one));
    if (last >= 0) messages[last] = withNotice(messages[last] as ToolMessage, notice);
  }
  return result;
}

function withNotice(message: ToolMessage, notice: string): ToolMessage {
  message.content =
    typeof message.content === "string" ? joined(message.content, notice) : [...message.content, { type: "text", text: notice }];
  return message;
}
