// One MCP client call per line: {url, token, session, workspace, tool, arguments} on standard
// input is answered by {text, isError} on standard output. Every call connects
// anew, as a client does whose server was restarted.
import { createInterface } from 'node:readline';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

async function answer({ url, token, session, workspace, tool, arguments: args }) {
  const client = new Client({ name: 'walker', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { Authorization: `Bearer ${token}`, 'X-Interlock-Session': session, 'X-Interlock-Workspace': workspace } },
  }));
  try {
    const listed = (await client.listTools()).tools.map((t) => t.name);
    const result = await client.callTool({ name: tool, arguments: args ?? {} });
    const text = result.content.filter((c) => c.type === 'text').map((c) => c.text).join('\n');
    return { text, isError: result.isError === true, listed };
  } finally {
    await client.close();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const said = await answer(JSON.parse(line)).catch((e) => ({ text: String(e), isError: true, listed: [] }));
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
