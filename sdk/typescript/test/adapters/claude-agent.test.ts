/** The Claude Agent SDK and the Claude Code that it brings, with a Messages API on loopback that says what the play has. */
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createSdkMcpServer, query, tool, type HookCallback, type Options, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { guarded, resume } from "../../src/claude-agent.js";
import type { Interlock } from "../../src/index.js";
import { conform, Play, type Driver, type End, type World } from "./harness.js";

const helper = "You are the helper of the conformance cases.";

type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

const textOf = (content: any): string => (typeof content === "string" ? content : content.map((c: any) => c.text ?? "").join("\n"));

/** The Messages API, as far as Claude Code uses it. */
class Api {
  play = new Play();
  private readonly server: Server;

  constructor() {
    this.server = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => chunks.push(chunk));
      req.on("end", () => {
        if (req.method !== "POST") return void res.writeHead(200).end();
        const body = JSON.parse(Buffer.concat(chunks).toString());
        const json = (value: unknown) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
        if (req.url?.includes("count_tokens")) return void json({ input_tokens: 10 });
        const content = this.answer(body);
        const message = {
          id: "msg_" + randomUUID(), type: "message", role: "assistant", model: body.model, content,
          stop_reason: content.some((c) => c.type === "tool_use") ? "tool_use" : "end_turn", stop_sequence: null,
          usage: { input_tokens: 10, output_tokens: 10 },
        };
        if (!body.stream) return void json(message);
        const events: any[] = [{ type: "message_start", message: { ...message, content: [], stop_reason: null } }];
        content.forEach((block, index) => {
          const start = block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
          const delta =
            block.type === "text" ? { type: "text_delta", text: block.text } : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
          events.push({ type: "content_block_start", index, content_block: start }, { type: "content_block_delta", index, delta }, { type: "content_block_stop", index });
        });
        events.push({ type: "message_delta", delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } }, { type: "message_stop" });
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(""));
      });
    });
  }

  async url(): Promise<string> {
    if (!this.server.listening) await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(body: any): Block[] {
    if (!body.tools?.length) return [{ type: "text", text: "{}" }]; // a title, or whether there is a topic
    const agent = JSON.stringify(body.system ?? "").includes(helper) ? "helper" : "main";
    if (agent === "main") this.play.offer(body.tools.map((one: { name: string }) => one.name));
    let last = "";
    for (const message of body.messages) {
      if (message.role === "assistant") last = "";
      for (const block of Array.isArray(message.content) ? message.content : []) {
        if (block.type === "tool_result") {
          last = block.tool_use_id.replace(/^toolu_/, "");
          this.play.saw(last, textOf(block.content));
        } else if (block.type === "text" && last) {
          this.play.saw(last, this.play.reads[last] + "\n" + block.text); // what hooks add to a result
        }
      }
    }
    const { text, calls } = this.play.next(agent);
    return [
      { type: "text", text: text || "..." },
      ...calls.map((c): Block =>
        c.tool === "delegate"
          ? { type: "tool_use", id: "toolu_" + c.id, name: "Agent", input: { description: "help", prompt: "help", subagent_type: c.args["agent"] } }
          : { type: "tool_use", id: "toolu_" + c.id, name: c.tool, input: c.args },
      ),
    ];
  }
}

class Claude implements Driver {
  private client!: Interlock;
  private readonly api = new Api();
  private readonly ids = new Map<string, string>();
  private open_ = 0;
  constructor(private readonly world: World) {}

  async open(): Promise<void> {
    this.open_++;
    this.client = this.world.client();
  }

  async close(): Promise<void> {
    this.client.close();
    // It is closed once more before it is made anew than after.
    if (this.open_ === 1 + this.world.spec.steps.filter((step) => step.restart).length) this.api.close();
  }

  private async options(play: Play, more: Partial<Options>, args?: Record<string, string>): Promise<Options> {
    this.api.play = play;
    const tools = this.world.tools().map(({ name, args, run }) =>
      tool(name, name, Object.fromEntries(args.map((arg) => [arg, z.string()])), async (given) => ({
        content: [{ type: "text" as const, text: await run(given as Record<string, string>) }],
      })),
    );
    const sessions = new Map([...this.ids].map(([name, id]) => [id, this.world.session(name)]));
    const changing: HookCallback = async () => ({
      hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: args! },
    });
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ANTHROPIC|CLAUDE)/.test(name)));
    const options: Options = {
      tools: ["Agent"],
      mcpServers: {
        // Claude Code resumes a deferred call before it has found the tools of this program, see src/claude-agent.ts.
        world: this.world.asks ? { type: "stdio" as const, ...this.world.stdio() } : createSdkMcpServer({ name: "world", tools }),
        ...(this.world.usesMcp && { notes: { type: "stdio" as const, ...this.world.mcp() } }),
      },
      strictMcpConfig: true,
      settingSources: [],
      cwd: this.world.folder,
      agents: { helper: { description: "helps", prompt: helper } },
      ...(args && { hooks: { PreToolUse: [{ hooks: [changing] }] } }),
      env: {
        ...env,
        ANTHROPIC_BASE_URL: await this.api.url(),
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CONFIG_DIR: join(this.world.folder, "claude"),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        ENABLE_TOOL_SEARCH: "false",
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      },
      ...more,
    };
    return guarded(options, this.client, { session: (given) => sessions.get(given.session_id) ?? "" });
  }

  async run(play: Play, conversation: string, stream: boolean): Promise<End> {
    const id = randomUUID();
    this.ids.set(conversation, id);
    return this.read(query({ prompt: "go", options: await this.options(play, { sessionId: id, includePartialMessages: stream }) }));
  }

  async resume(play: Play, conversation: string, args: Record<string, string> | undefined): Promise<End> {
    return this.read(resume(await this.options(play, { resume: this.ids.get(conversation)! }, args)));
  }

  private async read(messages: AsyncIterable<SDKMessage>): Promise<End> {
    const end: End = { paused: false };
    for await (const message of messages) {
      if (message.type === "result") end.paused = "deferred_tool_use" in message && message.deferred_tool_use !== undefined;
    }
    return end;
  }
}

const list = "Claude Code takes the list of tools when a conversation begins; a hook cannot change what is offered in a turn.";

conform({
  framework: "claude-agent",
  package: "@anthropic-ai/claude-agent-sdk",
  cannot: {
    hidden: {
      reason: list,
      instead: "Leave tools that are never legal out of `tools` and `mcpServers`. A call of one that is not legal now is denied, and the model reads what is.",
    },
    "hidden-unavailable": { reason: list, instead: "Nothing: every call is denied while there is no decision." },
  },
  wire: (name) => (name.startsWith("mcp__") ? name : "mcp__world__" + name),
  driver: (world) => new Claude(world),
});
