/**
 * Gates the tools of the OpenAI Agents SDK.
 *
 * ```ts
 * const gate = new InterlockGate(interlock);
 * const result = await run(gate.agent(agent), "...");
 * ```
 *
 * Function tools, tools of MCP servers that the program connects to, and agents as tools are judged: those of the agent, of its
 * clones, of agents that take over by a hand-off, and of every agent that a judged call or run begins. A refusal is the tool's result. A call that a human must approve interrupts the run: keep
 * `result.state`, and when the approval is decided, continue with `await gate.settle(state)` and `run(agent, state)`. `settle`
 * asks Interlock about each call that waits, and approves or rejects it in the state; an undecided one goes on waiting.
 * A call that was approved in the state alone does not run.
 *
 * Not judged are hand-offs themselves, and tools that do not run in this program or have no function: hosted tools, shells,
 * computers and patches. An agent with one of those is refused, unless `ungated` names it.
 *
 * @packageDocumentation
 */
import {
  Agent,
  type Handoff,
  RunContext,
  Runner,
  RunState,
  tool as makeTool,
  type FunctionTool,
  type MCPServer,
  type Model,
  type ModelRequest,
  type Tool,
} from "@openai/agents";
import type { Interlock } from "./client.js";
import { Denied, undecided } from "./errors.js";
import { Gate, joined, textOf, type GateOptions, type Verdict } from "./gate.js";
import { copy, Inherited, mapped, replaceMethod, unlessAborted } from "./inherited.js";

/** Options of the gate. A session is named by the context of a run. */
export interface InterlockGateOptions extends GateOptions<RunContext<any>> {
  /**
   * Whether tools that are not legal in the state are kept from the model; true by default. The agent's `model` must be a `Model`
   * for that: a name is resolved by the SDK, out of reach.
   */
  hide?: boolean;
  /** Names of tools that cannot be judged and may be used all the same. */
  ungated?: readonly string[];
}

/** The result of `tool` when a function has thrown and the tool has no `errorFunction`. */
const defaultFailure = "An error occurred while running the tool. Please try again.";
/** Marks a tool that is not to be offered, from the tools of a turn to the request of its model. */
const withheld = "interlockWithheld";

/** Makes agents whose tools are judged. One of it serves any number of agents and conversations. */
export class InterlockGate {
  private readonly guards: Guards;
  private readonly agents = new WeakMap<object, Agent<any, any>>();
  private readonly handoffs = new WeakMap<object, Handoff<any, any>>();

  constructor(
    client: Interlock,
    private readonly options: InterlockGateOptions = {},
  ) {
    this.guards = new Guards(new Gate(client, options), options.ungated ?? []);
  }

  /** The agent with its tools judged, and those of its clones and of the agents that it can hand off to. */
  agent<TContext, TAgent extends Agent<TContext, any>>(agent: TAgent): TAgent {
    const known = this.agents.get(agent);
    if (known) return known as TAgent;
    govern(agent);
    this.refuseMemory(agent);
    const hide = this.options.hide !== false && typeof agent.model === "object";
    const guarded: Agent<any, any> = copy<Agent<any, any>>(agent, hide ? { model: offering(agent.model as Model) } : {});
    // Before its hand-offs, which may lead back to it.
    this.agents.set(agent, guarded);
    this.agents.set(guarded, guarded);
    gated.set(guarded, this.guards);
    show<MCPServer>(guarded, "mcpServers", judgedServer);
    show<Tool<any>>(guarded, "tools", (one) => this.guards.judged(one));
    show<Agent<any, any> | Handoff<any, any>>(guarded, "handoffs", (one) => this.handoff(one));
    hidden(guarded, "clone", (config: object) => this.agent(agent.clone.call(guarded, config as never) as Agent<any, any>));
    hidden(guarded, "getAllTools", async (context: RunContext<any>, ...rest: unknown[]) => {
      // The agent has a gate of its own, and inherits none.
      const all = await inherited.run(undefined, () => agent.getAllTools.call(guarded, context, ...(rest as [])));
      const tools = all.map((one) => this.guards.judged(one as Tool<any>));
      this.guards.refuseRemote(guarded);
      if (!hide) return tools;
      const offers = await this.guards.gate.offered(context);
      return tools.map((one) =>
        one.type !== "function" || offers(one.name) ? one : twin(one as AnyTool, { providerData: { ...one.providerData, [withheld]: true } }),
      );
    });
    return guarded as TAgent;
  }

  /** Makes a tool that is judged, as `tool` does; a function that throws is reported as failed, also when `errorFunction` answers. */
  readonly tool: typeof makeTool = ((options: Parameters<typeof makeTool>[0]) => {
    const { execute } = options as { execute: (input: unknown, context: unknown, details?: object) => unknown };
    const made = makeTool({
      ...options,
      name: options.name ?? execute.name,
      execute: async (input: unknown, context: unknown, details?: object) => {
        try {
          return await execute(input, context, details);
        } catch (err) {
          if (details) failed.add(details);
          throw err;
        }
      },
    } as never);
    return this.guards.judged(made as never);
  }) as never;

  /**
   * Asks Interlock about the calls that wait in a state: approves those that are allowed now, and rejects those that are not.
   * Undecided calls go on waiting.
   */
  async settle(state: RunState<any, any>): Promise<void> {
    for (const item of state.getInterruptions()) {
      const callId = "callId" in item.rawItem ? item.rawItem.callId : undefined;
      const verdict = await this.guards.gate.ask(item.name ?? "", item.arguments ?? "", state._context);
      if (verdict.waits) continue;
      if (!verdict.allowed || !callId) {
        state.reject(item, { message: verdict.allowed ? "the call has no id" : verdict.text });
        this.guards.gate.release(verdict);
        continue;
      }
      this.guards.gate.keep(verdict, callId);
      state.approve(item);
    }
  }

  private handoff(handoff: Agent<any, any> | Handoff<any, any>): Agent<any, any> | Handoff<any, any> {
    if (!("onInvokeHandoff" in handoff)) return this.agent(handoff);
    const known = this.handoffs.get(handoff);
    if (known) return known;
    const made = copy(handoff, { agent: this.agent(handoff.agent) });
    made.onInvokeHandoff = async (context, args) => this.agent(await handoff.onInvokeHandoff(context, args));
    this.handoffs.set(handoff, made);
    this.handoffs.set(made, made);
    return made;
  }

  /** A sandbox writes memories by agents of its own, when the run is over. */
  private refuseMemory(agent: Agent<any, any>): void {
    const { capabilities } = agent as { capabilities?: { type?: string; generate?: unknown }[] };
    if (!capabilities?.some((one) => one.type === "memory" && one.generate !== null) || this.options.ungated?.includes("memory")) return;
    throw new TypeError(
      'Interlock cannot judge the agents by which the sandbox capability "memory" writes memories: give it `generate: null`, or name "memory" in "ungated"',
    );
  }
}

type AnyTool = FunctionTool<any, any, any>;

/** Tools as agents of one gate have them; those of inner agents are judged in the context of the call that began them. */
class Guards {
  private readonly made = new WeakMap<object, AnyTool>();

  constructor(
    readonly gate: Gate<RunContext<any>>,
    private readonly ungated: readonly string[],
    private readonly outer?: RunContext<any>,
  ) {}

  /** The tools of agents that a run or a call in this context begins. */
  inside(context: RunContext<any>): Guards {
    return new Guards(this.gate, this.ungated, this.outer ?? context);
  }

  /** Returns a tool as an agent may have it. Throws when it cannot be judged. */
  judged<T extends Tool<any>>(tool: T): T {
    if (tool.type === "function") return this.guard(tool as AnyTool) as T;
    const name = "name" in tool && typeof tool.name === "string" ? tool.name : tool.type;
    if (this.ungated.includes(name)) return this.searched(tool);
    throw new TypeError(
      `Interlock cannot judge the tool "${name}" (${tool.type}), so it must not be offered; name it in "ungated" if it may be used without`,
    );
  }

  /** Throws when an agent lets the model have tools that are not in its list: in a stored prompt, or beside the settings of the SDK. */
  refuseRemote({ prompt, modelSettings }: Agent<any, any>): void {
    const { tools, extra_body: body } = (modelSettings?.providerData ?? {}) as { tools?: unknown; extra_body?: { tools?: unknown } };
    const found = { prompt, providerData: tools ?? body?.tools };
    for (const [name, value] of Object.entries(found)) {
      if (value === undefined || this.ungated.includes(name)) continue;
      throw new TypeError(`Interlock cannot judge the tools that "${name}" may give to the model; name it in "ungated" if they may be used without`);
    }
  }

  private guard(tool: AnyTool): AnyTool {
    if (judgedCalls.has(tool.invoke)) return tool; // also a copy, such as that of a namespace
    const known = this.made.get(tool);
    if (known) return known;
    const made = twin(tool, {
      inputGuardrails: (tool.inputGuardrails ?? []).map((guardrail) => ({
        ...guardrail,
        run: async (data) => {
          const { arguments: input, callId } = data.toolCall;
          const verdict = this.gate.take(tool.name, input, this.outer ?? data.context, callId);
          let passed = false;
          try {
            const outcome = await guardrail.run(data);
            passed = (outcome.behavior?.type ?? "allow") === "allow";
            return outcome;
          } finally {
            if (verdict && passed) this.hold(tool.name, verdict, input, callId, data.context);
            else if (verdict) this.gate.release(verdict);
          }
        },
      })),
      needsApproval: async (context, input, callId = "") => {
        if (await tool.needsApproval(context, input, callId)) return true;
        const verdict = await this.gate.ask(tool.name, input, this.outer ?? context);
        if (!verdict.waits && callId) this.hold(tool.name, verdict, input, callId, context);
        return verdict.waits;
      },
      invoke: async (context, input, details) => {
        const within = this.outer ?? context;
        const callId = details?.toolCall?.callId ?? "";
        const verdict = this.gate.take(tool.name, input, within, callId) ?? (await this.gate.ask(tool.name, input, within, { signal: details?.signal }));
        if (!verdict.allowed) return verdict.text;
        const inner = this.inside(within);
        const { value, notice } = await this.gate.perform(verdict, () => unlessAborted(details?.signal, () => inherited.run(inner, () => tool.invoke(context, input, details))), {
          ok: (result) => result !== defaultFailure && !(details && failed.has(details)),
          signal: details?.signal,
        });
        return notice === "" ? value : joined(textOf(value), notice);
      },
    });
    judgedCalls.add(made.invoke);
    this.made.set(tool, made);
    return made;
  }

  /**
   * Keeps a verdict for the call that follows at once: a guardrail, or the tool. When neither has taken it, as when the run was
   * cancelled meanwhile, the call is not made.
   */
  private hold(tool: string, verdict: Verdict, input: unknown, callId: string, context: RunContext<any>): void {
    this.gate.keep(verdict, callId);
    setImmediate(() => {
      const left = this.gate.take(tool, input, this.outer ?? context, callId);
      if (left) this.gate.release(left);
    });
  }

  /** A tool search that the program itself does: the tools that it finds are judged. */
  private searched<T extends Tool<any>>(tool: T): T {
    const made = copy(tool, {});
    for (const key of Object.getOwnPropertySymbols(tool)) {
      const search = (tool as unknown as Record<symbol, unknown>)[key];
      if (typeof search !== "function") continue;
      const judge = async (...args: unknown[]): Promise<unknown> => {
        const found = (await search(...args)) as Tool<any> | Tool<any>[] | null | undefined;
        return Array.isArray(found) ? found.map((one) => this.judged(one)) : found && this.judged(found);
      };
      Object.defineProperty(made, key, { value: judge, configurable: true });
    }
    return made;
  }
}

/** The tools' judge that holds inside of a judged call or run. */
const inherited = new Inherited<Guards>();
/** The `invoke` of tools that are judged. */
const judgedCalls = new WeakSet<object>();
/** Details of calls whose function has thrown. */
const failed = new WeakSet<object>();
/** Agents by the tools that they were made into. */
const sources = new WeakMap<object, { agent: Agent<any, any>; asTool: Agent<any, any>["asTool"] }>();
const governed = Symbol.for("interlock.openai-agents");

/** Has agents of a class judge their tools inside of judged calls, also those that no gate has made. */
function govern(agent: Agent<any, any>): void {
  replaceMethod(agent, "getAllTools", governed, (original) => async function (this: unknown, ...args: unknown[]) {
    const tools = (await original.apply(this, args)) as Tool<any>[];
    const guards = inherited.current;
    guards?.refuseRemote(this as Agent<any, any>);
    return guards ? tools.map((one) => guards.judged(one)) : tools;
  });
  replaceMethod(agent, "asTool", governed, (original) => function (this: Agent<any, any>, ...args: unknown[]) {
    govern(this);
    const tool = original.apply(this, args) as object;
    sources.set(tool, { agent: this, asTool: original as never });
    return tool;
  });
}
govern(Agent.prototype);

/** The tools of the gate of an agent. */
const gated = new WeakMap<object, Guards>();

/** Extends the gate of an agent to its whole run: guardrails, hooks and instructions can begin agents, too. */
replaceMethod(Runner.prototype, "run", governed, (original) => function (this: unknown, ...args: unknown[]) {
  const [agent, input, options] = args as [object, { _context?: unknown }, { context?: unknown } | undefined];
  const guards = gated.get(agent);
  if (!guards) return original.apply(this, args) as unknown;
  const given = input instanceof RunState ? input._context : options?.context;
  const context = given instanceof RunContext ? given : new RunContext(given);
  return inherited.run(guards.inside(context), () => original.apply(this, args) as unknown);
});

const servers = new WeakMap<object, MCPServer>();

/** An MCP server whose tools run inside of judged calls only: an agent can be copied by its settings, without its gate. */
function judgedServer(server: MCPServer): MCPServer {
  const known = servers.get(server);
  if (known) return known;
  const made = new Proxy(server, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (name === "callTool" && !inherited.current) throw new Denied({ code: undecided, message: `the call was not made: the agent that has the MCP server "${server.name}" has lost its gate; make it by gate.agent` });
        return (value as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  servers.set(server, made);
  servers.set(made, made);
  return made;
}

/** A copy of a tool. The SDK finds the agent behind a tool by the tool itself, so that a copy is made by the agent, too. */
function twin(tool: AnyTool, changes: Partial<AnyTool>): AnyTool {
  const source = sources.get(tool);
  if (!source) return copy(tool, changes);
  const made = source.asTool.call(source.agent, { toolName: tool.name, toolDescription: tool.description } as never) as AnyTool;
  Object.defineProperties(made, Object.getOwnPropertyDescriptors(copy(tool, changes)));
  sources.set(made, source);
  return made;
}

/** Shows a list of an agent with each element changed; a list that is assigned later, too. */
function show<T>(agent: Agent<any, any>, name: "tools" | "handoffs" | "mcpServers", map: (element: T) => T): void {
  let list = agent[name] as T[];
  Object.defineProperty(agent, name, {
    get: () => mapped(Object.isFrozen(list) ? [...list] : list, map),
    set: (value: T[]) => (list = value),
    enumerable: true,
    configurable: true,
  });
}

/** A method that copies of the agent do not take over as a setting. */
function hidden(agent: object, name: string, value: unknown): void {
  Object.defineProperty(agent, name, { value, writable: true, enumerable: false, configurable: true });
}

/** A model that is offered the tools that are legal in the state. */
function offering(model: Model): Model {
  const legal = (request: ModelRequest): ModelRequest => ({
    ...request,
    tools: request.tools.filter((tool) => !(tool as { providerData?: Record<string, unknown> }).providerData?.[withheld]),
  });
  return new Proxy(model, {
    get(target, name) {
      if (name === "getResponse") return (request: ModelRequest) => target.getResponse(legal(request));
      if (name === "getStreamedResponse") return (request: ModelRequest) => target.getStreamedResponse(legal(request));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
