/**
 * Gates the tools of LangChain agents.
 *
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [interlockMiddleware(interlock)], checkpointer });
 * ```
 *
 * A refusal is the tool's message, with status "error". A call that a human must approve interrupts the graph, which needs a
 * checkpointer; resume it with `new Command({ resume: true })` when the approval is decided. What resumes it is no approval:
 * Interlock decides again, about the arguments of that moment.
 *
 * @packageDocumentation
 */
import { ToolMessage } from "@langchain/core/messages";
import { Command, getConfig, interrupt } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { Interlock } from "./client.js";
import { Gate, joined, type GateOptions, type Verdict } from "./gate.js";

/** What a session is named by: the config of a run of the graph. */
export interface GraphConfig {
  readonly configurable?: Readonly<Record<string, unknown>>;
}

/** Options of the middleware. */
export interface MiddlewareOptions extends GateOptions<GraphConfig> {
  /** Whether tools that are not legal in the state are kept from the model; true by default. */
  hide?: boolean;
}

/** The thread of a conversation, for the option `session`: every thread then has a run of its own. */
export function threadId(config: GraphConfig): string {
  const id = config.configurable?.["thread_id"];
  if (typeof id !== "string" || id === "") throw new TypeError("the config of the graph has no thread_id");
  return id;
}

/** What is asked of humans, as the value of an interrupt. */
export interface Question {
  readonly type: "interlock_approval";
  readonly approvalId: string;
  readonly tool: string;
  readonly args: unknown;
  readonly toolCallId: string;
  readonly message: string;
}

/** Middleware of `createAgent`. Put it last, next to the tools, so that it judges the arguments that they get. */
export function interlockMiddleware(client: Interlock, options: MiddlewareOptions = {}): AgentMiddleware {
  const gate = new Gate<GraphConfig>(client, options);
  return createMiddleware({
    name: "Interlock",
    wrapToolCall: async (request, handler) => {
      const { name, args, id } = request.toolCall;
      const config = (): GraphConfig => getConfig() as GraphConfig;
      const ask = async (): Promise<Verdict> => {
        let context: GraphConfig = {};
        try {
          context = config();
        } catch {
          // Outside of a graph: a session that is a function of the config fails then, and refuses.
        }
        return gate.ask(name, args, context);
      };
      let verdict = await ask();
      while (verdict.waits) {
        const question: Question = {
          type: "interlock_approval", approvalId: verdict.approvalId, tool: name, args, toolCallId: id ?? "", message: verdict.text,
        };
        // Returns when the graph was resumed, though perhaps nobody has decided.
        interrupt(question);
        verdict = await ask();
      }
      if (!verdict.allowed) {
        return new ToolMessage({ content: verdict.text, name, tool_call_id: id ?? "", status: "error" });
      }
      const { value, notice } = await gate.perform(verdict, () => handler(request), {
        ok: (result) => !(ToolMessage.isInstance(result) && result.status === "error"),
        output: (result) => (ToolMessage.isInstance(result) ? result.content : (result as Command).update),
      });
      return noticed(value, notice);
    },
    ...(options.hide !== false && {
      wrapModelCall: async (request, handler) => {
        let config: GraphConfig = {};
        try {
          config = getConfig() as GraphConfig;
        } catch {
          // As above.
        }
        const offers = await gate.offered(config);
        return handler({ ...request, tools: request.tools.filter((tool) => offers(nameOf(tool))) });
      },
    }),
  }) as AgentMiddleware;
}

function nameOf(tool: unknown): string {
  const { name, type, function: fn } = tool as { name?: unknown; type?: unknown; function?: { name?: unknown } };
  return String(name ?? fn?.name ?? type ?? "");
}

/** A result with what the model should be told with it. */
function noticed(result: ToolMessage | Command, notice: string): ToolMessage | Command {
  if (notice === "") return result;
  if (ToolMessage.isInstance(result)) return withNotice(result, notice);
  const messages = (result.update as { messages?: unknown[] } | undefined)?.messages;
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
