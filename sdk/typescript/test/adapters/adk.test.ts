/** Google's ADK with a scripted model. */
import {
  AgentTool, BaseLlm, BasePlugin, FunctionTool, GOOGLE_SEARCH, InMemorySessionService, LlmAgent, LogLevel, LongRunningFunctionTool, MCPToolset, Runner, setLogLevel, StreamingMode,
  type BaseLlmConnection, type LlmRequest, type LlmResponse,
} from "@google/adk";
import type { Part } from "@google/genai";
import { z } from "zod";
import { InterlockPlugin } from "../../src/adk.js";
import type { Interlock } from "../../src/index.js";
import { conform, type Driver, type End, type Play, type Running, type Way, type World } from "./harness.js";

setLogLevel(LogLevel.ERROR);

class Scripted extends BaseLlm {
  constructor(
    private readonly play: Play,
    private readonly agent: string,
    private readonly way?: Way,
  ) {
    super({ model: way === "hosted" ? "gemini-2.5-pro" : "scripted" });
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    if (this.agent === "main") {
      this.play.offer((request.config?.tools ?? []).flatMap((tool: any) => (tool.functionDeclarations ?? []).map((one: { name: string }) => one.name)));
    }
    for (const { parts } of request.contents) {
      for (const part of parts ?? []) {
        const response = part.functionResponse;
        if (response?.id) this.play.saw(response.id, Object.values(response.response ?? {}).map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n"));
      }
    }
    const { text, calls } = this.play.next(this.agent);
    const parts: Part[] = calls.map((c) => ({
      functionCall:
        c.tool !== "delegate" ? { id: c.id, name: c.tool, args: { ...c.args } }
        : this.way === "inner" ? { id: c.id, name: "delegate", args: { request: "help" } }
        : { id: c.id, name: "transfer_to_agent", args: { agentName: "helper" } },
    }));
    yield { content: { role: "model", parts: parts.length > 0 ? parts : [{ text }] } } as LlmResponse;
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error("not live");
  }
}

/** A plugin of somebody else. */
class Other extends BasePlugin {
  constructor(private readonly way: Way) {
    super("other");
  }
  override async beforeToolCallback(): Promise<Record<string, unknown> | undefined> {
    return this.way === "answers" ? { result: "not from the tool" } : undefined;
  }
  override async afterToolCallback(): Promise<Record<string, unknown> | undefined> {
    return this.way === "replaces" ? { result: "not from the tool" } : undefined;
  }
}

class ADK implements Driver {
  private client!: Interlock;
  private plugin!: InterlockPlugin;
  private mcp: MCPToolset | undefined;
  private readonly sessions = new InMemorySessionService();
  constructor(private readonly world: World) {}

  async open(): Promise<void> {
    this.client = this.world.client();
    this.plugin = new InterlockPlugin(this.client, { session: (context) => context.sessionId, folder: this.world.folder });
    if (this.world.usesMcp) this.mcp = new MCPToolset({ type: "StdioConnectionParams", serverParams: this.world.mcp() });
  }

  async close(): Promise<void> {
    await this.mcp?.close();
    this.client.close();
  }

  private runner(play: Play, way?: Way): Runner {
    const Made = way === "background" ? LongRunningFunctionTool : FunctionTool;
    const tools = (): any[] => [
      ...this.world.tools().map(({ name, args, run }) =>
        new Made({
          name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) as any,
          execute: (given: any) => run(given),
        }),
      ),
      ...(this.mcp ? [this.mcp] : []),
    ];
    const helper = new LlmAgent({ name: way === "inner" ? "delegate" : "helper", model: new Scripted(play, "helper"), tools: tools() });
    const more = way === "hosted" ? [GOOGLE_SEARCH] : way === "inner" ? [new AgentTool({ agent: helper })] : [];
    const subAgents = way === "inner" || way === "later" ? [] : [helper];
    let agent = new LlmAgent({ name: "main", model: new Scripted(play, "main", way), tools: [...tools(), ...more], subAgents });
    if (way === "later") {
      agent.subAgents.push(helper);
      helper.parentAgent = agent;
    }
    if (way === "clone") agent = agent.clone({ name: "copy" });
    const plugins = [this.plugin, ...(way === "answers" || way === "replaces" ? [new Other(way)] : [])];
    return new Runner({ appName: "cases", agent, sessionService: this.sessions, plugins });
  }

  private of(conversation: string) {
    return { appName: "cases", userId: "user", sessionId: this.world.session(conversation) };
  }

  private async invoke(play: Play, conversation: string, parts: Part[], stream = false, { way, signal }: Running = {}): Promise<End> {
    const { userId, sessionId } = this.of(conversation);
    const end: End = { paused: false };
    for await (const event of this.runner(play, way).runAsync({
      userId, sessionId, newMessage: { role: "user", parts }, ...(signal && { abortSignal: signal }), ...(stream && { runConfig: { streamingMode: StreamingMode.SSE } as any }),
    })) {
      if (event.errorMessage) throw new Error(event.errorMessage);
      if (event.content?.parts?.some((part) => part.functionCall?.name === "adk_request_confirmation")) end.paused = true;
    }
    return end;
  }

  async run(play: Play, conversation: string, stream: boolean, how: Running): Promise<End> {
    if (!(await this.sessions.getSession(this.of(conversation)))) await this.sessions.createSession(this.of(conversation));
    return this.invoke(play, conversation, [{ text: "go" }], stream, how);
  }

  async resume(play: Play, conversation: string, args: Record<string, string> | undefined): Promise<End> {
    if (args) {
      // ADK has nothing for that but the events that are stored.
      const { appName, userId, sessionId } = this.of(conversation);
      for (const event of (this.sessions as any).sessions[appName][userId][sessionId].events) {
        for (const part of event.content?.parts ?? []) {
          if (part.functionCall?.args?.originalFunctionCall) part.functionCall.args.originalFunctionCall.args = args;
          else if (part.functionCall) part.functionCall.args = args;
        }
      }
    }
    const session = await this.sessions.getSession(this.of(conversation));
    const parts = await this.plugin.settle(session!);
    return parts.length === 0 ? { paused: true } : this.invoke(play, conversation, parts);
  }
}

conform({
  framework: "adk",
  package: "@google/adk",
  ways: true,
  cannot: {
    subagent: { reason: "The framework makes no agents.", instead: "See `inner`." },
    "plugin-changes": {
      reason: "Arguments do not change after the judgement: the tool is judged when it is called, with its final arguments.",
      instead: "None needed: earlier changes of a plugin are judged.",
    },
    generator: { reason: "A tool returns one result.", instead: "Put `client.guard` around the generator." },
  },
  wire: (name) => name.replace(/^mcp__notes__/, ""),
  driver: (world) => new ADK(world),
});
