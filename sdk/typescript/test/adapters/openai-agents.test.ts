/** The OpenAI Agents SDK with a scripted model. */
import { Agent, MCPServerStdio, RunState, run, setTracingDisabled, tool, Usage, webSearchTool, type Model, type ModelRequest, type ModelResponse, type StreamEvent } from "@openai/agents";
import { z } from "zod";
import type { Interlock } from "../../src/index.js";
import { InterlockGate } from "../../src/openai-agents.js";
import { conform, type Driver, type End, type Play, type Running, type Way, type World } from "./harness.js";

setTracingDisabled(true);

class Scripted implements Model {
  constructor(
    private readonly play: Play,
    private readonly agent: string,
    private readonly delegate = "transfer_to_helper",
  ) {}

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    if (this.agent === "main") this.play.offer(request.tools.map((one) => (one as { name: string }).name));
    for (const item of Array.isArray(request.input) ? request.input : []) {
      if (item.type === "function_call_result") {
        const parts = (Array.isArray(item.output) ? item.output : [item.output]) as (string | { text?: string })[];
        this.play.saw(item.callId, parts.map((one) => (typeof one === "string" ? one : one.text)).join("\n"));
      }
    }
    const { text, calls } = this.play.next(this.agent);
    const output: any[] = calls.map((c) => ({
      type: "function_call", callId: c.id, status: "completed",
      name: c.tool === "delegate" ? this.delegate : c.tool,
      arguments: c.tool !== "delegate" ? JSON.stringify(c.args) : this.delegate === "delegate" ? '{"input":"help"}' : "{}",
    }));
    if (calls.length === 0) output.push({ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] });
    return { usage: new Usage(), output };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { output } = await this.getResponse(request);
    yield { type: "response_done", response: { id: "r", output, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } } } as StreamEvent;
  }
}

/** What comes between the model and a tool. */
function plugin(way?: Way): object {
  const not = async (): Promise<object> => ({ behavior: { type: "rejectContent", message: "not from the tool" } });
  if (way === "answers") return { inputGuardrails: [{ type: "tool_input", name: "answers", run: not }] };
  return way === "replaces" ? { outputGuardrails: [{ type: "tool_output", name: "replaces", run: not }] } : {};
}

class OpenAI implements Driver {
  private client!: Interlock;
  private gate!: InterlockGate;
  private servers: MCPServerStdio[] = [];
  private kept = "";
  constructor(private readonly world: World) {}

  async open(): Promise<void> {
    this.client = this.world.client();
    this.gate = new InterlockGate(this.client, { session: (context) => this.world.session(context.context.conversation), folder: this.world.folder });
    if (this.world.usesMcp) {
      this.servers = [new MCPServerStdio({ name: "notes", ...this.world.mcp() })];
      await Promise.all(this.servers.map((server) => server.connect()));
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
    this.client.close();
  }

  private agent(play: Play, way?: Way): Agent<any, any> {
    const plain = way === "inner" || way === "later"; // tools that know nothing of Interlock
    const tools: any[] = this.world.tools().map(({ name, args, run }) =>
      (plain ? tool : this.gate.tool)({
        name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))),
        execute: (given: any) => run(given),
        errorFunction: (_: unknown, err: unknown) => `it failed: ${(err as Error).message}`,
        ...plugin(way),
      } as any),
    );
    const helper = new Agent<any>({ name: "helper", model: new Scripted(play, "helper"), tools });
    if (way === "hosted") tools.push(webSearchTool());
    if (way === "inner") tools.push(helper.asTool({ toolName: "delegate" }));
    const handoffs = way === "inner" || way === "later" ? [] : [helper];
    const model = new Scripted(play, "main", way === "inner" ? "delegate" : undefined);
    const agent = this.gate.agent(new Agent<any>({ name: "main", model, tools, handoffs, mcpServers: this.servers }));
    if (way === "later") agent.handoffs.push(helper);
    return way === "clone" ? agent.clone({ name: "copy" }) : agent;
  }

  private end(result: { interruptions?: unknown[]; state: { toString(): string } }): End {
    const paused = (result.interruptions?.length ?? 0) > 0;
    if (paused) this.kept = result.state.toString();
    return { paused };
  }

  async run(play: Play, conversation: string, stream: boolean, { way, signal }: Running): Promise<End> {
    const agent = this.agent(play, way);
    const context = { conversation };
    if (!stream) return this.end(await run(agent, "go", { context, ...(signal && { signal }) }));
    const streamed = await run(agent, "go", { context, stream: true });
    for await (const _ of streamed) void _;
    await streamed.completed;
    return this.end(streamed as never);
  }

  async resume(play: Play, _: string, args: Record<string, string> | undefined): Promise<End> {
    const agent = this.agent(play);
    let kept = this.kept;
    if (args) {
      // The SDK has nothing for that but the text of the state.
      const escaped = (value: object): string => JSON.stringify(JSON.stringify(value)).slice(1, -1);
      kept = kept.replaceAll(escaped({ target: "test" }), escaped(args));
    }
    const state = await RunState.fromString<any, any>(agent, kept);
    await this.gate.settle(state);
    return this.end((await run(agent, state)) as never);
  }
}

conform({
  framework: "openai-agents",
  package: "@openai/agents",
  ways: true,
  cannot: {
    subagent: { reason: "The framework makes no agents.", instead: "See `inner`." },
    "plugin-changes": {
      reason: "Arguments do not change after the judgement: they are a text that the model has written.", instead: "None needed: they run as they were judged.",
    },
    background: { reason: "A tool that has returned has ended: the framework knows no other.", instead: "Put `client.guard` around it and return a `Result` with `background`." },
    generator: { reason: "A tool returns one result.", instead: "Put `client.guard` around the generator." },
  },
  wire: (name) => name.replace(/^mcp__notes__/, ""),
  driver: (world) => new OpenAI(world),
});
