/** LangChain's `createAgent` with a scripted chat model. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { createDeepAgent } from "deepagents";
import { createAgent, createMiddleware } from "langchain";
import { z } from "zod";
import type { Interlock } from "../../src/index.js";
import { interlockMiddleware, threadId } from "../../src/langchain.js";
import { conform, type Driver, type End, type Play, type Running, type Way, type World } from "./harness.js";

/** Says what the play has next. */
class Model extends BaseChatModel {
  constructor(
    private readonly play: Play,
    private readonly agent: string,
    private readonly offered: string[] = [],
    /** The agent that speaks when the conversation is not the first's: a subagent has the same model. */
    private readonly sub?: string,
  ) {
    super({});
  }
  override _llmType(): string {
    return "scripted";
  }
  override bindTools(tools: { name?: string }[]): Model {
    return new Model(this.play, this.agent, tools.map((one) => String(one.name)), this.sub);
  }
  private answer(messages: BaseMessage[]): { text: string; calls: { name: string; args: object; id: string; type: "tool_call" }[] } {
    if (this.agent === "main") this.play.offer(this.offered);
    for (const message of messages) {
      if (ToolMessage.isInstance(message)) this.play.saw(message.tool_call_id, message.text);
    }
    const first = messages.some((one) => HumanMessage.isInstance(one) && one.text === "go");
    const { text, calls } = this.play.next(this.sub && !first ? this.sub : this.agent);
    const task = { name: "task", args: { description: "help", subagent_type: "general-purpose" } };
    return { text, calls: calls.map((c) => ({ ...(this.sub && c.tool === "delegate" ? task : { name: c.tool, args: c.args }), id: c.id, type: "tool_call" })) };
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { text, calls } = this.answer(messages);
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: calls as never }) }] };
  }
  override async *_streamResponseChunks(messages: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    const { text, calls } = this.answer(messages);
    const tool_call_chunks = calls.map((c, index) => ({ name: c.name, args: JSON.stringify(c.args), id: c.id, index, type: "tool_call_chunk" as const }));
    yield new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text, tool_call_chunks }) });
  }
}

/** Middleware of somebody else, between Interlock's and the tool. */
function other(way?: Way): any[] {
  if (way !== "answers" && way !== "replaces") return [];
  const not = (id = ""): ToolMessage => new ToolMessage({ content: "not from the tool", tool_call_id: id });
  return [
    createMiddleware({
      name: "other",
      wrapToolCall: async (request, handler) => {
        if (way === "replaces") await handler(request);
        return not(request.toolCall.id);
      },
    }),
  ];
}

function generator(run: (args: Record<string, string>) => Promise<string>): (args: any) => AsyncGenerator<string, string> {
  return async function* (args) {
    yield "soon";
    return await run(args);
  };
}

class LangChain implements Driver {
  private client!: Interlock;
  private mcp: MultiServerMCPClient | undefined;
  private readonly saver = new MemorySaver(); // what it holds is serialized, as in a database
  constructor(private readonly world: World) {}

  async open(): Promise<void> {
    this.client = this.world.client();
  }

  async close(): Promise<void> {
    await this.mcp?.close();
    this.client.close();
  }

  private async agent(play: Play, way?: Way): Promise<any> {
    const middleware = [interlockMiddleware(this.client, { session: threadId, folder: this.world.folder }), ...other(way)];
    const tools: any[] = this.world.tools().map(({ name, args, run }) =>
      tool(way === "generator" ? generator(run) : (given: any) => run(given), { name, description: name, schema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) }),
    );
    if (this.world.usesMcp) {
      this.mcp ??= new MultiServerMCPClient({ mcpServers: { notes: { transport: "stdio", ...this.world.mcp() } } });
      tools.push(...(await this.mcp.getTools()));
    }
    if (way === "subagent") return createDeepAgent({ model: new Model(play, "main", [], "helper"), tools, middleware, checkpointer: this.saver } as any);
    const helper = createAgent({ model: new Model(play, "helper"), tools, middleware: way === "inner" ? [] : middleware });
    const delegate = tool(
      async (_: unknown, config) => {
        const answer = await helper.invoke({ messages: [new HumanMessage("help")] }, { configurable: { thread_id: config.configurable?.["thread_id"] } });
        return answer.messages.at(-1)!.text;
      },
      { name: "delegate", description: "Lets a helper do it.", schema: z.object({ agent: z.string() }) },
    );
    if (way === "hosted") tools.push({ type: "web_search" });
    const agent = createAgent({ model: new Model(play, "main"), tools: [...tools, delegate] as any[], middleware, checkpointer: this.saver } as any);
    return way === "clone" ? agent.withConfig({ tags: ["copy"] }) : agent;
  }

  private config(conversation: string) {
    return { configurable: { thread_id: this.world.session(conversation) } };
  }

  async run(play: Play, conversation: string, stream: boolean, how: Running): Promise<End> {
    return this.invoke(play, { messages: [new HumanMessage("go")] }, conversation, stream, how);
  }

  private async invoke(play: Play, given: any, conversation: string, stream = false, { way, signal }: Running = {}): Promise<End> {
    const agent = await this.agent(play, way);
    try {
      if (!stream) return { paused: "__interrupt__" in (await agent.invoke(given, { ...this.config(conversation), ...(signal && { signal }) })) };
      for await (const _ of await agent.stream(given, { ...this.config(conversation), streamMode: ["messages", "updates"] })) void _;
      return { paused: false };
    } catch (raised) {
      return { paused: false, raised };
    }
  }

  async resume(play: Play, conversation: string, args: Record<string, string> | undefined): Promise<End> {
    if (!args) return this.invoke(play, new Command({ resume: true }), conversation);
    const agent = await this.agent(play);
    const graph = agent.graph as any;
    const state = await graph.getState(this.config(conversation));
    const last = state.values.messages.at(-1) as AIMessage;
    const changed = new AIMessage({ ...(last.id && { id: last.id }), content: last.content, tool_calls: [{ ...last.tool_calls![0]!, args }] });
    await graph.updateState(this.config(conversation), { messages: [changed] }, "model_request");
    return this.invoke(play, null, conversation);
  }
}

conform({
  framework: "langchain",
  package: "langchain",
  ways: true,
  cannot: {
    later: { reason: "An agent hands over to no other.", instead: "See `inner`." },
    "plugin-changes": {
      reason: "Arguments do not change after the judgement: those that middleware changes are judged again.",
      instead: "None needed: the tool runs only with judged arguments.",
    },
    background: { reason: "A tool that has returned has ended: the framework knows no other.", instead: "Put `client.guard` around it and return a `Result` with `background`." },
  },
  wire: (name) => name.replace(/^mcp__notes__/, ""),
  driver: (world) => new LangChain(world),
});
