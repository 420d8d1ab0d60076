// A small MCP server with a shell: the tool bash runs a command line.
import { execFileSync } from 'node:child_process';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'shell', version: '1' });
server.registerTool('bash', { description: 'Runs a command line.', inputSchema: { command: z.string() } }, ({ command }) => ({
  content: [{ type: 'text', text: execFileSync('bash', ['-c', command], { encoding: 'utf8' }) }],
}));
await server.connect(new StdioServerTransport());
