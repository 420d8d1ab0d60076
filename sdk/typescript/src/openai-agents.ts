/**
 * Gates the tools of the OpenAI Agents SDK.
 *
 * ```ts
 * const gate = new InterlockGate(interlock);
 * const result = await run(gate.agent(agent), "...");
 * ```
 *
 * Function tools, tools of MCP servers that the program connects to, and agents as tools are judged, those of agents that take
 * over by a hand-off too. A refusal is the tool's result. A call that a human must approve interrupts the run: keep
 * `result.state`, and when the approval is decided, continue with `await gate.settle(state)` and `run(agent, state)`. `settle`
 * asks Interlock about each call that waits, and approves or rejects it in the state; one that nobody has decided goes on waiting.
 * A call that was approved in the state alone does not run.
 *
 * Not judged are hand-offs themselves, and tools that do not run in this program or have no function: hosted tools, shells,
 * computers and patches. An agent with one of those is refused, unless `ungated` names it.
 *
 * @packageDocumentation
 */
import {
  Agent,
  Handoff,
  tool as makeTool,
  type FunctionTool,
  type Model,
  type ModelRequest,
  type RunContext,
  type RunState,
  type Tool,
} from "@openai/agents";
import type { Interlock } from "./client.js";
import { Gate, joined, textOf, type GateOptions, type Verdict } from "./gate.js";

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

/** What `tool` answers when a function has thrown and the tool has no `errorFunction`. */
const defaultFailure = "An error occurred while running the tool. Please try again.";
/** Marks a tool that is not to be offered, from the tools of a turn to the request of its model. */
const withheld = "interlockWithheld";

/** Makes agents whose tools are judged. One of it serves any number of agents and conversations. */
export class InterlockGate {
  private readonly gate: Gate<RunContext<any>>;
  private readonly agents = new WeakMap<object, Agent<any, any>>();
  private readonly tools = new WeakMap<object, FunctionTool<any, any, any>>();
  private readonly failed = new WeakSet<object>();
  private readonly decided = new Map<string, Verdict>();

  constructor(
    client: Interlock,
    private readonly options: InterlockGateOptions = {},
  ) {
    this.gate = new Gate(client, options);
  }

  /** The agent with its tools judged, and those of the agents that it can hand off to. */
  agent<TContext, TAgent extends Agent<TContext, any>>(agent: TAgent): TAgent {
    const known = this.agents.get(agent);
    if (known) return known as TAgent;
    const hide = this.options.hide !== false && typeof agent.model === "object";
    const guarded = agent.clone({
      handoffs: [],
      ...(hide && { model: offering(agent.model as Model) }),
    } as never) as Agent<any, any>;
    // Before its hand-offs, which may lead back to it.
    this.agents.set(agent, guarded);
    this.agents.set(guarded, guarded);
    guarded.handoffs = agent.handoffs.map((one) => this.handoff(one as Agent<any, any> | Handoff<any, any>));
    const all = guarded.getAllTools.bind(guarded);
    guarded.getAllTools = async (context, ...rest) => {
      const tools = (await all(context, ...rest)).map((one) => this.judged(one as Tool<any>));
      if (!hide) return tools as never;
      const offers = await this.gate.offered(context);
      return tools.map((one) =>
        one.type !== "function" || offers(one.name) ? one : copy(one, { providerData: { ...one.providerData, [withheld]: true } }),
      ) as never;
    };
    return guarded as TAgent;
  }

  /** Makes a tool that is judged, as `tool` does; a function that throws is reported as failed whatever `errorFunction` answers. */
  readonly tool: typeof makeTool = ((options: Parameters<typeof makeTool>[0]) => {
    const { execute } = options as { execute: (input: unknown, context: unknown, details?: object) => unknown };
    const made = makeTool({
      ...options,
      name: options.name ?? execute.name,
      execute: async (input: unknown, context: unknown, details?: object) => {
        try {
          return await execute(input, context, details);
        } catch (err) {
          if (details) this.failed.add(details);
          throw err;
        }
      },
    } as never);
    return this.judged(made as never);
  }) as never;

  /**
   * Asks Interlock about the calls that wait in a state: approves those that are allowed now, and rejects those that are not.
   * What nobody has decided goes on waiting.
   */
  async settle(state: RunState<any, any>): Promise<void> {
    for (const item of state.getInterruptions()) {
      const callId = "callId" in item.rawItem ? item.rawItem.callId : undefined;
      const verdict = await this.gate.ask(item.name ?? "", item.arguments ?? "", state._context);
      if (verdict.waits) continue;
      if (!verdict.allowed || !callId) {
        state.reject(item, { message: verdict.allowed ? "the call has no id" : verdict.text });
        continue;
      }
      this.decided.set(callId, verdict);
      state.approve(item);
    }
  }

  private handoff(handoff: Agent<any, any> | Handoff<any, any>): Agent<any, any> | Handoff<any, any> {
    if (handoff instanceof Agent) return this.agent(handoff);
    const made = copy(handoff, { agent: this.agent(handoff.agent) });
    made.onInvokeHandoff = async (context, args) => this.agent(await handoff.onInvokeHandoff(context, args));
    return made;
  }

  /** A tool as an agent may have it. */
  private judged<T extends Tool<any>>(tool: T): T {
    if (tool.type === "function") return this.guard(tool as FunctionTool<any, any, any>) as T;
    const name = "name" in tool && typeof tool.name === "string" ? tool.name : tool.type;
    if (this.options.ungated?.includes(name)) return tool;
    throw new TypeError(
      `Interlock cannot judge the tool "${name}" (${tool.type}), so it must not be offered; name it in "ungated" if it may be used without`,
    );
  }

  private guard(tool: FunctionTool<any, any, any>): FunctionTool<any, any, any> {
    const known = this.tools.get(tool);
    if (known) return known;
    const made = copy(tool, {});
    made.needsApproval = async (context, input, callId) => {
      if (await tool.needsApproval(context, input, callId)) return true;
      const verdict = await this.gate.ask(tool.name, input, context);
      if (!verdict.waits && callId) this.decided.set(callId, verdict);
      return verdict.waits;
    };
    made.invoke = async (context, input, details) => {
      const callId = details?.toolCall?.callId ?? "";
      const verdict = this.decided.get(callId) ?? (await this.gate.ask(tool.name, input, context));
      this.decided.delete(callId);
      if (!verdict.allowed) return verdict.text;
      const { value, notice } = await this.gate.perform(verdict, () => tool.invoke(context, input, details), {
        ok: (result) => result !== defaultFailure && !(details && this.failed.has(details)),
      });
      return notice === "" ? value : joined(textOf(value), notice);
    };
    this.tools.set(tool, made);
    this.tools.set(made, made);
    return made;
  }
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

/** A copy with everything that an object has, symbols included. */
function copy<T extends object>(value: T, changes: Partial<T>): T {
  const made = Object.create(Object.getPrototypeOf(value) as object, Object.getOwnPropertyDescriptors(value)) as T;
  for (const [name, change] of Object.entries(changes)) {
    Object.defineProperty(made, name, { value: change, writable: true, enumerable: true, configurable: true });
  }
  return made;
}
