/**
 * Gates the tools of Google's Agent Development Kit, by a plugin.
 *
 * ```ts
 * const plugin = new InterlockPlugin(interlock);
 * const runner = new Runner({ app: { name: "app", rootAgent, plugins: [plugin] }, sessionService });
 * ```
 *
 * Put it first among the plugins: the first that answers for a tool decides. Every tool of every agent is judged, those of MCP
 * servers and of sub-agents too, but `transfer_to_agent`, by which an agent hands over. A refusal is the tool's response. A call
 * that a human must approve requests a confirmation, and the run ends. When the approval is decided, continue with what
 * `plugin.settle(session)` returns as the message of the user; it is empty while nobody has decided. A confirmation that comes from
 * elsewhere is no approval: the call is judged again.
 *
 * The arguments of a call that was allowed are frozen, because callbacks of an agent run after the plugin: one that changes them
 * fails, and the tool does not run.
 *
 * @packageDocumentation
 */
import {
  BasePlugin,
  createEvent,
  type BaseTool,
  type Context,
  type Event,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type ReadonlyContext,
  type Session,
} from "@google/adk";
import type { Part } from "@google/genai";
import type { Interlock } from "./client.js";
import { Gate, joined, type GateOptions, type Verdict } from "./gate.js";

/** Options of the plugin. A session of Interlock is named by the context of the run, such as its `sessionId`. */
export interface InterlockPluginOptions extends GateOptions<Pick<ReadonlyContext, "sessionId" | "userId" | "agentName">> {
  /** Whether tools that are not legal in the state are kept from the model; true by default. */
  hide?: boolean;
}

type Callback = { tool: BaseTool; toolArgs: Record<string, unknown>; toolContext: Context };

/** By which an agent hands over to another: no tool of the program. */
const transfer = "transfer_to_agent";
const confirmation = "adk_request_confirmation";

/** The plugin. */
export class InterlockPlugin extends BasePlugin {
  private readonly gate: Gate<Pick<ReadonlyContext, "sessionId" | "userId" | "agentName">>;
  private readonly decided = new Map<string, Verdict>();
  private readonly running = new WeakMap<Context, Verdict>();
  /** Responses of tools, by invocation and call, until their event is there. */
  private readonly responses = new Map<string, Map<string, { name: string; response: Record<string, unknown> }>>();

  constructor(
    client: Interlock,
    private readonly options: InterlockPluginOptions = {},
  ) {
    super("interlock");
    this.gate = new Gate(client, options);
  }

  override async beforeToolCallback({ tool, toolArgs, toolContext }: Callback): Promise<Record<string, unknown> | undefined> {
    if (tool.name === transfer) return undefined;
    const id = toolContext.functionCallId ?? "";
    const verdict = this.decided.get(id) ?? (await this.gate.ask(tool.name, toolArgs, toolContext));
    this.decided.delete(id);
    if (verdict.allowed) {
      freeze(toolArgs);
      this.running.set(toolContext, verdict);
      return undefined;
    }
    if (verdict.waits) {
      toolContext.requestConfirmation({ hint: verdict.text, payload: { approvalId: verdict.approvalId } });
      toolContext.actions.skipSummarization = true;
    }
    return { error: verdict.text };
  }

  override async afterToolCallback(call: Callback & { result: Record<string, unknown> }): Promise<Record<string, unknown> | undefined> {
    const changed = await this.after(call);
    const response = changed ?? (call.result as unknown);
    const { toolContext, tool } = call;
    const { invocationId } = toolContext.invocationContext;
    const known = this.responses.get(invocationId) ?? new Map();
    known.set(toolContext.functionCallId ?? "", { name: tool.name, response: isObject(response) ? response : { result: response } });
    this.responses.set(invocationId, known);
    return changed;
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
  }

  private async after(call: Callback & { result: Record<string, unknown> }): Promise<Record<string, unknown> | undefined> {
    const verdict = this.running.get(call.toolContext);
    if (!verdict) return undefined; // it has not run, or its failure was reported
    this.running.delete(call.toolContext);
    const result = call.result as unknown;
    const notice = await this.gate.tell(verdict, result, !(isObject(result) && result["isError"] === true));
    if (notice === "") return undefined;
    if (isObject(result)) return { ...result, notice };
    return { result: typeof result === "string" ? joined(result, notice) : result, ...(typeof result !== "string" && { notice }) };
  }

  override async onToolErrorCallback({ toolContext, error }: Callback & { error: Error }): Promise<Record<string, unknown> | undefined> {
    const verdict = this.running.get(toolContext);
    if (!verdict) return undefined;
    this.running.delete(toolContext);
    const notice = await this.gate.tell(verdict, error.message, false);
    return notice === "" ? undefined : { error: joined(error.message, notice) };
  }

  override async beforeModelCallback(call: { callbackContext: Context; llmRequest: LlmRequest }): Promise<LlmResponse | undefined> {
    const { config } = call.llmRequest;
    if (this.options.hide === false || !config?.tools) return undefined;
    const offers = await this.gate.offered(call.callbackContext);
    const legal = (name: string | undefined): boolean => name === transfer || offers(name ?? "");
    config.tools = config.tools.map((tool) =>
      "functionDeclarations" in tool && tool.functionDeclarations
        ? { ...tool, functionDeclarations: tool.functionDeclarations.filter((one) => legal(one.name)) }
        : tool,
    );
    return undefined;
  }

  /**
   * Asks Interlock about the calls of a session that wait for a confirmation, and returns the parts of the message that continues
   * with those that were decided. When there is none, nobody has decided.
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
      const verdict = this.decided.get(call.id ?? "") ?? (await this.gate.ask(call.name ?? "", call.args ?? {}, context));
      if (verdict.waits || !call.id) continue;
      this.decided.set(call.id, verdict);
      // The plugin is asked again, and has the verdict: also a refusal is its answer then.
      parts.push({ functionResponse: { id, name: confirmation, response: { confirmed: true } } });
    }
    return parts;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const one of Object.values(value)) freeze(one);
}
