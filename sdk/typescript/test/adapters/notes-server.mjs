// The MCP server `notes` of the conformance cases, on stdio. It writes the names of the tools that ran to NOTES_LOG.
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "notes", version: "1.0.0" });
for (const [name, did] of [["search", "found"], ["erase", "erased"]]) {
  server.registerTool(name, { description: name + "s notes", inputSchema: { query: z.string() } }, ({ query }) => {
    appendFileSync(process.env.NOTES_LOG, name + "\n");
    return { content: [{ type: "text", text: `${did} ${query}` }] };
  });
}
await server.connect(new StdioServerTransport());
