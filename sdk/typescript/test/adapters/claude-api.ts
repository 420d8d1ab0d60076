/** A Messages API on loopback whose model plays a script, and an environment in which Claude Code calls it alone. */
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Play } from "./harness.js";

export const helper = "You are the helper of the conformance cases.";

type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

const textOf = (content: any): string => (typeof content === "string" ? content : content.map((c: any) => c.text ?? "").join("\n"));

/** The Messages API, as far as Claude Code uses it. */
export class Api {
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

export function environment(url: string, folder: string): Record<string, string | undefined> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ANTHROPIC|CLAUDE)/.test(name)));
  return {
    ...env,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CONFIG_DIR: join(folder, "claude"),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    ENABLE_TOOL_SEARCH: "false",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  };
}
