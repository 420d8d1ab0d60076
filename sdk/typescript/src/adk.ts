/**
 * Gates the tools of Google's Agent Development Kit, by a plugin.
 *
 * ```ts
 * const plugin = new InterlockPlugin(interlock);
 * const runner = new Runner({ app: { name: "app", rootAgent, plugins: [plugin] }, sessionService });
 * ```
 *
 * Every tool of every agent is judged right before it runs, with the arguments that it gets: those of MCP servers, of sub-agents, of
 * workflows, of agents that are tools, and of runners that a tool begins. `transfer_to_agent` is judged as a tool. Code that a code
 * executor of the program runs is judged as the tool `execute_code`. A refusal is the tool's response. A call that a human must
 * approve requests a confirmation, and the run ends. When the approval is decided, continue with the parts that
 * `plugin.settle(session)` returns as the message of the user; there are none before. A confirmation from elsewhere is no
 * approval: the call is judged again. Inside of a tool a call that must be approved is refused with the approval's id.
 *
 * Tools that the model's provider runs cannot be judged: an agent with one is refused, unless `ungated` names it. Remote agents
 * (A2A) run elsewhere and are not judged.
 *
 * @packageDocumentation
 */
import {
  BaseAgent,
  BasePlugin,
  Context,
  createEvent,
  type BaseTool,
  type Event,
  type InvocationContext,
  type LlmAgent,
  type LlmRequest,
  type LlmResponse,
  type NodeContext,
  type ReadonlyContext,
  type Session,
} from "@google/adk";
import type { Content, Part } from "@google/genai";
import type { Interlock } from "./client.js";
import { Gate, joined, textOf, type GateOptions } from "./gate.js";
import { Inherited, replaceMethod, unlessAborted } from "./inherited.js";
import type { Outcome } from "./types.js";

/** The context of a run, which names a session. */
type Where = Pick<ReadonlyContext, "sessionId" | "userId" | "agentName">;

/** Options of the plugin. A session of Interlock is named by the context of the run, such as its `sessionId`. */
export interface InterlockPluginOptions extends GateOptions<Where> {
  /** Whether tools that are not legal in the state are kept from the model; true by default. */
  hide?: boolean;
  /** Names of tools that the model's provider runs and that may be used without a decision, such as `googleSearch`. */
  ungated?: readonly string[];
}

type Callback = { tool: BaseTool; toolArgs: Record<string, unknown>; toolContext: Context };
type Request = Parameters<BaseTool["runAsync"]>[0];
interface Execution {
  invocationContext: InvocationContext;
  codeExecutionInput: { code: string; language?: string };
}
interface Executor {
  executeCode(execution: Execution): Promise<unknown>;
}

const confirmation = "adk_request_confirmation";
/** The name of code that an executor runs. */
const codeTool = "execute_code";

/** The plugin. */
export class InterlockPlugin extends BasePlugin {
  private readonly gate: Gate<Where>;
  /** Where the calls of an invocation are judged that a judged call has begun. */
  private readonly outer = new Map<string, Where>();
  private readonly joined = new WeakSet<object>();
  /** Calls of long-running tools whose response is not there, and by session those whose end is not reported. */
  private readonly running = new Set<string>();
  private readonly ended = new Map<string, string[]>();
  /** Responses of tools, by invocation and call, until their event is there. */
  private readonly responses = new Map<string, Map<string, { name: string; response: Record<string, unknown> }>>();

  constructor(
    client: Interlock,
    private readonly options: InterlockPluginOptions = {},
  ) {
    super("interlock");
    this.gate = new Gate(client, options);
  }

  /** Takes part in an invocation that a judged call has begun, by a runner that may not support plugins. */
  join(context: InvocationContext, where: Where): void {
    const { pluginManager, invocationId } = context;
    if (!this.joined.has(pluginManager)) {
      if (pluginManager.getPlugin(this.name)) return; // the runner has one of its own
      pluginManager.registerPlugin(this);
      this.joined.add(pluginManager);
    }
    this.outer.set(invocationId, where);
  }

  /** Whether the plugin judges an invocation. A runner that was joined may be used elsewhere, too. */
  judges(context: InvocationContext): boolean {
    return !this.joined.has(context.pluginManager) || this.outer.has(context.invocationId);
  }

  override async beforeToolCallback({ tool, toolContext }: Callback): Promise<Record<string, unknown> | undefined> {
    const { invocationContext } = toolContext;
    if (!this.judges(invocationContext)) return undefined;
    try {
      watch(tool);
    } catch (err) {
      return { error: `POLICY_UNAVAILABLE: the call was not made: the tool cannot be judged: ${String(err)}` };
    }
    callers.set(toolContext, this);
    if (invocationContext.agent) govern(invocationContext.agent);
    return undefined;
  }

  /** Runs a call of a tool if it is allowed. */
  async call(tool: BaseTool, { args, toolContext }: Request, run: (request: Request) => Promise<unknown>, within?: Where): Promise<unknown> {
    const where = within ?? this.outer.get(toolContext.invocationContext.invocationId) ?? toolContext;
    const id = toolContext.functionCallId ?? "";
    const { abortSignal: signal } = toolContext;
    const verdict = this.gate.take(tool.name, args, where, id) ?? (await this.gate.ask(tool.name, args, where, { signal }));
    if (!verdict.allowed) {
      if (verdict.waits && where === toolContext) {
        toolContext.requestConfirmation({ hint: verdict.text, payload: { approvalId: verdict.approvalId } });
        toolContext.actions.skipSummarization = true;
      }
      return { error: verdict.text };
    }
    const asked = (): number => Object.keys(toolContext.actions.requestedToolConfirmations ?? {}).length;
    const before = asked();
      const go = (given: unknown): Promise<unknown> =>
        unlessAborted(signal, () => inherited.run({ plugin: this, where }, () => run({ args: given as Request["args"], toolContext })));
      const { value, notice } = await this.gate.perform(verdict, go, {
        // A tool that wants a confirmation of its own has not done its work.
        ok: (result) => asked() === before && !(isObject(result) && result["isError"] === true),
        outcome: () => this.goesOn(tool, toolContext),
        signal,
      });
      return noticed(value, notice);
  }

  /** The work of a long-running tool goes on after its report. A report of the session says when it has ended. */
  private goesOn(tool: BaseTool, { sessionId, functionCallId = "" }: Context): Outcome {
    const backgroundEnded = this.ended.get(sessionId)?.shift();
    const background = tool.isLongRunning ? programOf(tool.name, functionCallId) : undefined;
    if (background) this.running.add(background);
    return { ...(background && { background }), ...(backgroundEnded && { backgroundEnded }) };
  }

  /** Notes which long-running calls have ended: their response comes as a message of the user. */
  override async onUserMessageCallback({ userMessage, invocationContext }: { userMessage: Content; invocationContext: InvocationContext }): Promise<undefined> {
    for (const { functionResponse } of userMessage?.parts ?? []) {
      const program = programOf(functionResponse?.name ?? "", functionResponse?.id ?? "");
      if (!this.running.delete(program)) continue;
      const { id } = invocationContext.session;
      this.ended.set(id, [...(this.ended.get(id) ?? []), program]);
    }
  }

  /** Runs code of a code executor if it is allowed. */
  async execute(execution: Execution, run: () => Promise<unknown>): Promise<unknown> {
    const { invocationContext } = execution;
    const within = this.outer.get(invocationContext.invocationId) ?? whereOf(invocationContext);
    const { code, language } = execution.codeExecutionInput;
    const verdict = await this.gate.ask(codeTool, { code, ...(language !== undefined && { language }) }, within);
    if (!verdict.allowed) return { stdout: "", stderr: verdict.text, outputFiles: [] };
    const { value } = await this.gate.perform(verdict, run, {
      ok: (result) => !(isObject(result) && typeof result["stderr"] === "string" && result["stderr"] !== ""),
      output: (result) => textOf(result),
    });
    return value;
  }

  override async afterToolCallback({ tool, toolContext, result }: Callback & { result: Record<string, unknown> }): Promise<undefined> {
    const { invocationId } = toolContext.invocationContext;
    const known = this.responses.get(invocationId) ?? new Map();
    known.set(toolContext.functionCallId ?? "", { name: tool.name, response: isObject(result) ? result : { result } });
    this.responses.set(invocationId, known);
  }

  /**
   * ADK 2.0.0 drops the responses of a turn in which one call requests a confirmation, those of calls that have run too, and refuses
   * to continue without them. So they are stored here.
   */
  override async onEventCallback({ invocationContext, event }: { invocationContext: InvocationContext; event: Event }): Promise<Event | undefined> {
    const known = this.responses.get(event.invocationId);
    const parts = event.content?.parts ?? [];
    for (const part of parts) known?.delete(part.functionResponse?.id ?? "");
    if (!known || !parts.some((part) => part.functionCall?.name === confirmation)) return undefined;
    const responses = [...known].map(([id, { name, response }]): Part => ({ functionResponse: { id, name, response } }));
    this.responses.delete(event.invocationId);
    await invocationContext.sessionService?.appendEvent({
      session: invocationContext.session,
      event: createEvent({
        invocationId: event.invocationId, author: event.author, branch: event.branch, actions: event.actions,
        content: { role: "user", parts: responses },
      } as Partial<Event>),
    });
    return undefined;
  }

  override async afterRunCallback({ invocationContext }: { invocationContext: InvocationContext }): Promise<void> {
    this.responses.delete(invocationContext.invocationId);
    this.outer.delete(invocationContext.invocationId);
  }

  override async beforeModelCallback(call: { callbackContext: Context; llmRequest: LlmRequest }): Promise<LlmResponse | undefined> {
    const { config, toolsDict } = call.llmRequest;
    const { invocationContext } = call.callbackContext;
    if (!this.judges(invocationContext)) return undefined;
    requests.set(call.llmRequest, this);
    governModel((invocationContext.agent as Partial<LlmAgent> | undefined)?.canonicalModel);
    Object.values(toolsDict).forEach(watch); // a tool can call another one
    if (!config?.tools) return undefined;
    this.refuseHosted(config.tools);
    if (this.options.hide === false) return undefined;
    const offers = await this.gate.offered(this.outer.get(invocationContext.invocationId) ?? call.callbackContext);
    config.tools = config.tools.map((tool) =>
      "functionDeclarations" in tool && tool.functionDeclarations
        ? { ...tool, functionDeclarations: tool.functionDeclarations.filter((one) => offers(one.name ?? "")) }
        : tool,
    );
    return undefined;
  }

  /** Throws when a tool of a live agent runs where it cannot be judged. */
  async refuseLive(agent: LlmAgent, invocationContext: InvocationContext): Promise<void> {
    if (typeof agent.canonicalTools !== "function") return;
    const toolContext = new Context({ invocationContext });
    for (const tool of await agent.canonicalTools(toolContext)) {
      if (tool._getDeclaration()) continue; // it runs here
      const config: NonNullable<LlmRequest["config"]> = {};
      await tool.processLlmRequest({ toolContext, llmRequest: { model: agent.canonicalModel.model, contents: [], toolsDict: {}, liveConnectConfig: {}, config } });
      this.refuseHosted(config.tools ?? []);
    }
  }

  /** Throws when one of the tools runs where it cannot be judged. */
  refuseHosted(tools: readonly object[]): void {
    for (const tool of tools) {
      for (const name of Object.keys(tool)) {
        if (name === "functionDeclarations" || this.options.ungated?.includes(name)) continue;
        throw new TypeError(
          `Interlock cannot judge the tool "${name}", which the model's provider runs, so it must not be offered; name it in "ungated" if it may be used without`,
        );
      }
    }
  }

  /**
   * Asks Interlock about the calls of a session that wait for a confirmation, and returns the parts of the message that continues
   * with those that were decided. There is none while no approval is decided.
   */
  async settle(session: Session): Promise<Part[]> {
    const waiting = new Map<string, { id?: string; name?: string; args?: Record<string, unknown> }>();
    let author = "";
    for (const event of session.events) {
      for (const part of event.content?.parts ?? []) {
        if (part.functionCall?.name === confirmation && part.functionCall.id) {
          waiting.set(part.functionCall.id, (part.functionCall.args as { originalFunctionCall?: object })?.originalFunctionCall ?? {});
          author = event.author ?? "";
        }
        if (part.functionResponse?.name === confirmation && part.functionResponse.id) waiting.delete(part.functionResponse.id);
      }
    }
    const parts: Part[] = [];
    for (const [id, call] of waiting) {
      const context = { sessionId: session.id, userId: session.userId, agentName: author };
      const verdict = await this.gate.ask(call.name ?? "", call.args ?? {}, context);
      if (verdict.waits || !call.id) continue;
      this.gate.keep(verdict, call.id);
      // The plugin is asked again, and has the verdict: also a refusal is its answer then.
      parts.push({ functionResponse: { id, name: confirmation, response: { confirmed: true } } });
    }
    return parts;
  }
}

/** The plugin that holds inside of a judged call. */
const inherited = new Inherited<{ plugin: InterlockPlugin; where: Where }>();
/** The plugin that judges a call, from the plugin's callback to the tool. */
const callers = new WeakMap<Context, InterlockPlugin>();
const watched = new WeakSet<object>();
const governed = Symbol.for("interlock.adk");

/** Lets a tool run only after the plugin that judges the call has allowed it. */
function watch(tool: BaseTool): void {
  if (watched.has(tool)) return;
  const run = tool.runAsync;
  const value = async (request: Request): Promise<unknown> => {
    const plugin = callers.get(request.toolContext);
    callers.delete(request.toolContext);
    const go = (given: Request): Promise<unknown> => run.call(tool, given);
    if (plugin) return plugin.call(tool, request, go);
    const outer = inherited.current; // a tool that another tool calls
    return outer ? outer.plugin.call(tool, request, go, outer.where) : go(request);
  };
  Object.defineProperty(tool, "runAsync", { value, writable: true, enumerable: false, configurable: true });
  const { toolset } = tool as { toolset?: { codeExecutor?: Executor } };
  if (toolset) guardExecutor(toolset); // that of skills
  watched.add(tool);
}

/** Has agents and nodes of a class judged inside of judged calls, by any runner, and the code of their executors always. */
function govern(agent: object): void {
  for (const name of ["run", "runAsync", "runLive"]) {
    replaceMethod(agent, name, governed, (original) => function (this: object, ...args: [InvocationContext | NodeContext, ...unknown[]]) {
      const context = "invocationContext" in args[0] ? args[0].invocationContext : args[0];
      const outer = inherited.current;
      outer?.plugin.join(context, outer.where);
      const plugin = pluginOf(context);
      const go = (): AsyncGenerator => original.apply(this, args) as AsyncGenerator;
      if (!plugin) return go();
      guardExecutor(this as { codeExecutor?: Executor });
      const where = outer?.where ?? whereOf(context);
      return eachIn({ plugin, where }, name === "runLive" ? live(plugin, this as LlmAgent, context, go) : go());
    });
  }
}
govern(BaseAgent.prototype);

/** The plugin that judges a request to a model. */
const requests = new WeakMap<object, InterlockPlugin>();

/** Has the tools of a request looked at when it is made: callbacks and plugins may add some until then. */
function governModel(model: object | undefined): void {
  if (!model) return;
  replaceMethod(model, "generateContentAsync", governed, (original) => function (this: object, request: LlmRequest, ...rest: unknown[]) {
    requests.get(request)?.refuseHosted(request.config?.tools ?? []);
    return original.call(this, request, ...rest) as unknown;
  });
}

/** Refuses an agent whose request no callback sees. */
async function* live(plugin: InterlockPlugin, agent: LlmAgent, context: InvocationContext, go: () => AsyncGenerator): AsyncGenerator {
  await plugin.refuseLive(agent, context);
  yield* go();
}

/** Items that are made where an adapter holds: callbacks of agents can begin runners, too. */
function eachIn(adapter: { plugin: InterlockPlugin; where: Where }, items: AsyncGenerator): AsyncGenerator {
  return new Proxy(items, {
    get: (target, name) => {
      if (name === Symbol.asyncIterator) return () => eachIn(adapter, items);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (...args: unknown[]): unknown => inherited.run(adapter, () => value.apply(target, args) as unknown) : value;
    },
  });
}

function whereOf({ session, agent }: InvocationContext): Where {
  return { sessionId: session.id, userId: session.userId, agentName: agent?.name ?? "" };
}

/** The name of the work that a call of a long-running tool has begun. */
function programOf(tool: string, callId: string): string {
  return `${tool} ${callId}`;
}

function pluginOf(context: InvocationContext): InterlockPlugin | undefined {
  const plugin = context.pluginManager.getPlugin("interlock");
  return plugin instanceof InterlockPlugin && plugin.judges(context) ? plugin : undefined;
}

const executors = new WeakSet<object>();

function guardExecutor(owner: { codeExecutor?: Executor }): void {
  const executor = owner.codeExecutor;
  if (!executor || executors.has(executor)) return;
  const guarded = new Proxy(executor, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "executeCode") return typeof value === "function" ? (value.bind(target) as unknown) : value;
      return (execution: Execution): Promise<unknown> => {
        const run = (): Promise<unknown> => target.executeCode(execution);
        const plugin = pluginOf(execution.invocationContext);
        return plugin ? plugin.execute(execution, run) : run();
      };
    },
  });
  executors.add(guarded);
  owner.codeExecutor = guarded;
}

/** Adds a notice for the model to a result. */
function noticed(result: unknown, notice: string): unknown {
  if (notice === "") return result;
  if (isObject(result)) return { ...result, notice };
  return { result: typeof result === "string" ? joined(result, notice) : result, ...(typeof result !== "string" && { notice }) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
