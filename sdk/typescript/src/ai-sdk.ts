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
 * that waits; one that nobody has decided goes on waiting. A `tool-approval-response` that comes from elsewhere, such as a click in
 * a chat, is no approval: the call is judged when it runs.
 *
 * Not judged are tools that the provider executes; an agent with one of those is refused, unless `ungated` names it.
 *
 * @packageDocumentation
 */
import { wrapLanguageModel, type GenericToolApprovalFunction, type ModelMessage, type Tool, type ToolApprovalStatus, type ToolSet } from "ai";
import type { Interlock } from "./client.js";
import { InterlockError } from "./errors.js";
import { Gate, joined, type GateOptions, type Verdict } from "./gate.js";

/** A model as an object; a name is resolved by the SDK, out of reach. */
export type ModelObject = Parameters<typeof wrapLanguageModel>[0]["model"];

/** Options of the gate. A gate is for one conversation, whose session is the client's. */
export interface InterlockGateOptions extends Omit<GateOptions<undefined>, "session"> {
  /** Names of tools that cannot be judged and may be used all the same. */
  ungated?: readonly string[];
}

/** Why a tool has not run, as its error. */
export class Refused extends InterlockError {
  override name = "Refused";
}

/** Makes the settings of one conversation. */
export class InterlockGate {
  private readonly gate: Gate<undefined>;
  private readonly decided = new Map<string, Verdict>();
  private readonly notices = new Map<string, string>();

  constructor(
    client: Interlock,
    private readonly options: InterlockGateOptions = {},
  ) {
    this.gate = new Gate<undefined>(client, options);
  }

  /** The settings of a call of `generateText`, `streamText` or `ToolLoopAgent`. */
  settings<TOOLS extends ToolSet>(settings: {
    model: ModelObject;
    tools: TOOLS;
  }): { model: ModelObject; tools: TOOLS; toolApproval: GenericToolApprovalFunction<any, any, any> } {
    return { model: this.model(settings.model), tools: this.tools(settings.tools), toolApproval: this.toolApproval };
  }

  /** Denies what is not allowed, and asks for what waits. Alone it judges nothing that the client says was approved: use `tools` too. */
  readonly toolApproval: GenericToolApprovalFunction<any, any, any> = async ({ toolCall }): Promise<ToolApprovalStatus> => {
    const { toolCallId, toolName, input } = toolCall as { toolCallId: string; toolName: string; input: unknown };
    // A call that the provider executes has run already, and one that is not valid does not run.
    if ((toolCall as { invalid?: boolean }).invalid || this.options.ungated?.includes(toolName)) return "not-applicable";
    if (this.decided.get(toolCallId)?.allowed) return "not-applicable";
    const verdict = await this.gate.ask(toolName, input, undefined);
    if (verdict.waits) return { type: "user-approval", reason: verdict.text };
    if (!verdict.allowed) return { type: "denied", reason: verdict.text };
    this.decided.set(toolCallId, verdict);
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
      if ((tool as { type?: string }).type === undefined || (tool as { type?: string }).type === "function") return tool; // it runs elsewhere, after an approval
      throw new TypeError(`Interlock cannot judge the tool "${name}", which runs elsewhere; name it in "ungated" if it may be used without`);
    }
    return {
      ...tool,
      execute: async (input: unknown, options: { toolCallId: string }) => {
        const { toolCallId } = options;
        const verdict = this.decided.get(toolCallId) ?? (await this.gate.ask(name, input, undefined));
        this.decided.delete(toolCallId);
        if (!verdict.allowed) throw new Refused(verdict.text);
        const { value, notice } = await this.gate.perform(verdict, async () => {
          let last: unknown = await execute(input, options as never);
          if (isIterable(last)) {
            const parts = last;
            last = undefined;
            for await (const part of parts) last = part;
          }
          return last;
        });
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
   * Asks Interlock about the calls that wait in the messages, and adds what was decided. `waits` is true while there is one that
   * nobody has decided: then keep the messages, and settle them again later.
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
      const call = calls.get(toolCallId);
      const known = this.decided.get(toolCallId);
      const verdict = known ?? (await this.gate.ask(call?.toolName ?? "", call?.input, undefined));
      if (verdict.waits) {
        waits = true;
      } else if (verdict.allowed) {
        this.decided.set(toolCallId, verdict);
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

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
