/** LangChain's `createAgent` with a scripted chat model. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { createAgent } from "langchain";
import { z } from "zod";
import type { Interlock } from "../../src/index.js";
import { interlockMiddleware, threadId } from "../../src/langchain.js";
import { conform, type Driver, type End, type Play, type World } from "./harness.js";

/** Says what the play has next. */
class Model extends BaseChatModel {
  constructor(
    private readonly play: Play,
    private readonly agent: string,
    private readonly offered: string[] = [],
  ) {
    super({});
  }
  override _llmType(): string {
    return "scripted";
  }
  override bindTools(tools: { name?: string }[]): Model {
    return new Model(this.play, this.agent, tools.map((one) => String(one.name)));
  }
  private answer(messages: BaseMessage[]): { text: string; calls: { name: string; args: object; id: string; type: "tool_call" }[] } {
    if (this.agent === "main") this.play.offer(this.offered);
    for (const message of messages) {
      if (ToolMessage.isInstance(message)) this.play.saw(message.tool_call_id, message.text);
    }
    const { text, calls } = this.play.next(this.agent);
    return { text, calls: calls.map((c) => ({ name: c.tool, args: c.args, id: c.id, type: "tool_call" })) };
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

  private async agent(play: Play) {
    const middleware = [interlockMiddleware(this.client, { session: threadId })];
    const tools: any[] = this.world.tools().map(({ name, args, run }) =>
      tool((given: any) => run(given), { name, description: name, schema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) }),
    );
    if (this.world.usesMcp) {
      this.mcp ??= new MultiServerMCPClient({ mcpServers: { notes: { transport: "stdio", ...this.world.mcp() } } });
      tools.push(...(await this.mcp.getTools()));
    }
    const helper = createAgent({ model: new Model(play, "helper"), tools, middleware });
    const delegate = tool(
      async (_: unknown, config) => {
        const answer = await helper.invoke({ messages: [new HumanMessage("help")] }, { configurable: { thread_id: config.configurable?.["thread_id"] } });
        return answer.messages.at(-1)!.text;
      },
      { name: "delegate", description: "Lets a helper do it.", schema: z.object({ agent: z.string() }) },
    );
    return createAgent({ model: new Model(play, "main"), tools: [...tools, delegate] as any[], middleware, checkpointer: this.saver } as any);
  }

  private config(conversation: string) {
    return { configurable: { thread_id: this.world.session(conversation) } };
  }

  async run(play: Play, conversation: string, stream: boolean): Promise<End> {
    return this.invoke(play, { messages: [new HumanMessage("go")] }, conversation, stream);
  }

  private async invoke(play: Play, given: any, conversation: string, stream = false): Promise<End> {
    const agent = await this.agent(play);
    try {
      if (!stream) return { paused: "__interrupt__" in (await agent.invoke(given, this.config(conversation))) };
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

conform({ framework: "langchain", package: "langchain", wire: (name) => name.replace(/^mcp__notes__/, ""), driver: (world) => new LangChain(world) });
