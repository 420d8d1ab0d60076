/** The AI SDK with a scripted model. */
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, isStepCount, streamText, tool, type ModelMessage, type ToolSet } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { z } from "zod";
import { InterlockGate } from "../../src/ai-sdk.js";
import type { Interlock } from "../../src/index.js";
import { conform, type Driver, type End, type Play, type Running, type World } from "./harness.js";

const usage: any = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

function scripted(play: Play, agent: string): MockLanguageModelV4 {
  const answer = ({ prompt, tools }: any): any[] => {
    if (agent === "main") play.offer((tools ?? []).map((one: { name: string }) => one.name));
    for (const message of prompt) {
      if (message.role !== "tool") continue;
      for (const part of message.content) {
        if (part.type !== "tool-result") continue;
        const { type, value, reason } = part.output;
        play.saw(part.toolCallId, type === "execution-denied" ? reason : type === "content" ? value.map((one: any) => one.text).join("\n") : typeof value === "string" ? value : JSON.stringify(value));
      }
    }
    const { text, calls } = play.next(agent);
    if (calls.length === 0) return [{ type: "text", text }];
    return calls.map((c) => ({ type: "tool-call", toolCallId: c.id, toolName: c.tool, input: JSON.stringify(c.args) }));
  };
  const finish = (content: any[]): any => ({ unified: content.some((one) => one.type === "tool-call") ? "tool-calls" : "stop", raw: undefined });
  return new MockLanguageModelV4({
    doGenerate: async (options) => {
      const content = answer(options);
      return { content, finishReason: finish(content), usage, warnings: [] };
    },
    doStream: async (options) => {
      const content = answer(options);
      const chunks: any[] = [{ type: "stream-start", warnings: [] }];
      for (const one of content) {
        if (one.type === "text") chunks.push({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: one.text }, { type: "text-end", id: "t" });
        else chunks.push(one);
      }
      chunks.push({ type: "finish", finishReason: finish(content), usage });
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
    },
  });
}

/** A tool that yields its result in the end. */
const yielding = (run: (given: any) => Promise<string>) =>
  async function* (given: any) {
    yield "...";
    yield await run(given);
  };

const none = { reason: "The framework has no such way.", instead: "None." };

class AISDK implements Driver {
  private client!: Interlock;
  private readonly gates = new Map<string, InterlockGate>();
  private mcp: Awaited<ReturnType<typeof createMCPClient>> | undefined;
  /** The messages of each conversation, as a database has them. */
  private readonly kept = new Map<string, string>();
  constructor(private readonly world: World) {}

  async open(): Promise<void> {
    this.client = this.world.client();
    this.gates.clear();
    if (this.world.usesMcp) this.mcp = await createMCPClient({ transport: new StdioTransport(this.world.mcp()) });
  }

  async close(): Promise<void> {
    await this.mcp?.close();
    this.client.close();
  }

  private gate(conversation: string): InterlockGate {
    let gate = this.gates.get(conversation);
    if (!gate) this.gates.set(conversation, (gate = new InterlockGate(this.client.forSession(this.world.session(conversation)), { folder: this.world.folder })));
    return gate;
  }

  private async invoke(play: Play, conversation: string, messages: ModelMessage[], stream = false, { way, signal }: Running = {}): Promise<End> {
    const gate = this.gate(conversation);
    const tools: ToolSet = Object.fromEntries(
      this.world.tools().map(({ name, args, run }) => [
        name,
        tool({ description: name, inputSchema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))), execute: way === "generator" ? yielding(run) : (given: any) => run(given) }),
      ]),
    );
    if (way === "hosted") tools["web_search"] = { type: "provider", id: "openai.web_search", args: {}, isProviderExecuted: true, inputSchema: z.object({}) } as never;
    Object.assign(tools, await this.mcp?.tools());
    const delegate = tool({
      description: "Lets a helper do it.",
      inputSchema: z.object({ agent: z.string() }),
      execute: async () =>
        (await generateText({
          ...(way === "inner" ? { model: scripted(play, "helper"), tools } : gate.settings({ model: scripted(play, "helper"), tools: { ...tools } })),
          prompt: "help", stopWhen: isStepCount(9),
        } as any)).text,
    });
    const settings: any = { ...gate.settings({ model: scripted(play, "main"), tools: { ...tools, delegate } }), messages, stopWhen: isStepCount(9), ...(signal && { abortSignal: signal }) };
    let made: ModelMessage[];
    if (stream) {
      const result = streamText(settings);
      for await (const _ of result.fullStream) void _;
      const steps = await result.steps;
      made = steps.flatMap((step) => step.response.messages) as ModelMessage[];
    } else {
      const result = await generateText(settings);
      made = result.responseMessages as ModelMessage[];
    }
    this.kept.set(conversation, JSON.stringify([...messages, ...made]));
    const parts = made.flatMap((one) => (typeof one.content === "string" ? [] : (one.content as any[])));
    const answered = new Set(parts.filter((part) => part.type === "tool-approval-response").map((part) => part.approvalId as string));
    const paused = parts.some((part) => part.type === "tool-approval-request" && !answered.has(part.approvalId));
    return { paused };
  }

  async run(play: Play, conversation: string, stream: boolean, how: Running): Promise<End> {
    const before = JSON.parse(this.kept.get(conversation) ?? "[]") as ModelMessage[];
    return this.invoke(play, conversation, [...before, { role: "user", content: "go" }], stream, how);
  }

  async resume(play: Play, conversation: string, args: Record<string, string> | undefined): Promise<End> {
    const messages = JSON.parse(this.kept.get(conversation)!) as ModelMessage[];
    if (args) {
      for (const { content } of messages) {
        for (const part of (typeof content === "string" ? [] : content) as any[]) {
          if (part.type === "tool-call") part.input = args;
          if (part.type === "tool-approval-request" && "inputSchemaInput" in part) part.inputSchemaInput = args;
        }
      }
    }
    const settled = await this.gate(conversation).settle(messages);
    if (settled.waits) return { paused: true };
    return this.invoke(play, conversation, settled.messages);
  }
}

conform({
  framework: "ai-sdk",
  package: "ai",
  ways: true,
  cannot: {
    clone: none,
    later: none,
    subagent: { reason: "The framework makes no agents.", instead: "See `inner`." },
    "plugin-changes": {
      reason: "Arguments that a callback changes are judged when the tool runs, as those of another call.",
      instead: "None needed: the tool gets no arguments that were not judged.",
    },
    "plugin-answers": none,
    "plugin-replaces": none,
    background: { reason: "The result of a tool is its end.", instead: "Put `client.guard` around the work, and return a `Result` with `background`." },
  },
  wire: (name) => name.replace(/^mcp__notes__/, ""), driver: (world) => new AISDK(world),
});
