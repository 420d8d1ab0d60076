/** The Claude Agent SDK and the Claude Code that it brings, with a Messages API on loopback that says what the play has. */
import { randomUUID } from "node:crypto";
import { createSdkMcpServer, query, tool, type HookCallback, type Options, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { guarded, resume } from "../../src/claude-agent.js";
import type { Interlock } from "../../src/index.js";
import { Api, environment, helper } from "./claude-api.js";
import { conform, type Driver, type End, type Play, type World } from "./harness.js";

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
      env: environment(await this.api.url(), this.world.folder),
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

const list = "Claude Code takes the list of tools when a conversation begins; a hook cannot change the tools offered in a turn.";

conform({
  framework: "claude-agent",
  package: "@anthropic-ai/claude-agent-sdk",
  cannot: {
    hidden: {
      reason: list,
      instead: "Leave tools that are never legal out of `tools` and `mcpServers`. A call of one that is not legal now is denied, and the model reads the legal ones.",
    },
    "hidden-unavailable": { reason: list, instead: "None needed: every call is denied while there is no decision." },
  },
  wire: (name) => (name.startsWith("mcp__") ? name : "mcp__world__" + name),
  driver: (world) => new Claude(world),
});
