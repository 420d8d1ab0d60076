// The tools of the conformance cases as an MCP server on stdio, for frameworks that must find them in another process.
// It writes the names of the tools that ran to NOTES_LOG. TOOLS has them, as cases.yaml does.
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "world", version: "1.0.0" });
for (const [name, { args, returns, throws }] of Object.entries(JSON.parse(process.env.TOOLS))) {
  const inputSchema = Object.fromEntries(Object.keys(args).map((arg) => [arg, z.string()]));
  server.registerTool(name, { description: name, inputSchema }, (given) => {
    appendFileSync(process.env.NOTES_LOG, name + "\n");
    const fill = (text) => text.replace(/\{(\w+)\}/g, (_, arg) => given[arg]);
    if (throws) throw new Error(fill(throws));
    return { content: [{ type: "text", text: name === "long" ? "x".repeat(95) : fill(returns) }] };
  });
}
await server.connect(new StdioServerTransport());
