// Real MCP clients, of the oldest and newest protocols that they speak, walk
// through a gated workflow with real MCP servers behind the gate: what is denied
// never reaches the disk.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { Client as NewClient, StreamableHTTPClientTransport as NewHTTP } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as OldClient } from 'sdk-2025-03-26/client/index.js';
import { StdioClientTransport as OldStdio } from 'sdk-2025-03-26/client/stdio.js';
import { StreamableHTTPClientTransport as OldHTTP } from 'sdk-2025-03-26/client/streamableHttp.js';

import { binary, dataDir, eventually, files, filesystemServer, gated, http, textOf, tokens } from './setup.mjs';

const info = { name: 'e2e', version: '1' };
const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } };

function overHTTP(Transport, session) {
  return new Transport(new URL('/mcp', http), {
    requestInit: { headers: { Authorization: `Bearer ${tokens.agent}`, 'X-Interlock-Session': session } },
  });
}

function overStdio(Transport, session) {
  return new Transport({
    command: binary,
    args: ['mcp', '--data-dir', dataDir, '--session', session,
      '--upstream', `files='${process.execPath}' '${filesystemServer}' '${files}'`],
    env: { PATH: process.env.PATH, HOME: files },
    stderr: 'inherit',
  });
}

// The newest protocol is stateless: its lists do not follow the state.
const clients = [
  { name: 'oldest over HTTP', version: '2025-03-26', client: () => new OldClient(info), transport: (s) => overHTTP(OldHTTP, s), follows: true },
  { name: 'older over HTTP', version: '2025-11-25', client: () => new Client(info), transport: (s) => overHTTP(StreamableHTTPClientTransport, s), follows: true, everything: true },
  { name: 'newest over HTTP', version: '2026-07-28', client: () => new NewClient(info, pinned), transport: (s) => overHTTP(NewHTTP, s), follows: false, everything: true },
  { name: 'oldest over stdio', version: '2025-03-26', client: () => new OldClient(info), transport: (s) => overStdio(OldStdio, s), follows: true },
  { name: 'older over stdio', version: '2025-11-25', client: () => new Client(info), transport: (s) => overStdio(StdioClientTransport, s), follows: true },
  { name: 'newest over stdio', version: '2026-07-28', client: () => new NewClient(info, pinned), transport: (s) => overStdio(NewStdio, s), follows: false },
];

async function connect(c, session) {
  const client = c.client();
  await client.connect(c.transport(session));
  return client;
}

const call = (client, name, args = {}) => client.callTool({ name, arguments: args });

async function accepted(client, name, args) {
  const result = await call(client, name, args);
  assert.ok(!result.isError, `${name}: ${textOf(result)}`);
  return textOf(result);
}

async function refused(client, name, args, ...mentions) {
  const result = await call(client, name, args);
  const text = textOf(result);
  assert.equal(result.isError, true, `${name} is not refused: ${text}`);
  for (const word of mentions) assert.ok(text.includes(word), `the refusal of ${name} does not mention ${word}: ${text}`);
}

const listed = async (client) => (await client.listTools()).tools.map((t) => t.name);

for (const c of clients) {
  test(`${c.name}: a gated walk`, async () => {
    const session = `walk-${c.name.replaceAll(' ', '-')}`;
    const client = await connect(c, session);
    try {
      assert.equal(client.getServerVersion().name, 'interlock');
      await accepted(client, 'create_workflow', { definition: gated });
      assert.match(await accepted(client, 'load_workflow', { name: gated.id }), /reading/);
      await eventually('the upstream server is listed', async () => (await listed(client)).includes('mcp__files__read_text_file'));

      const read = join(files, 'read.txt');
      writeFileSync(read, 'what is written here');
      assert.match(await accepted(client, 'mcp__files__read_text_file', { path: read }), /what is written here/);

      const target = join(files, `${session}.txt`);
      await refused(client, 'mcp__files__write_file', { path: target, content: 'no' }, 'reading', 'READY');
      assert.ok(!existsSync(target), 'a denied call has touched the disk');
      if (c.follows) assert.ok(!(await listed(client)).includes('mcp__files__write_file'), 'a tool that is not allowed is listed');

      await refused(client, 'transition', { event: 'DONE' }, 'READY');
      assert.match(await accepted(client, 'transition', { event: 'READY', rationale: 'seen enough' }), /writing/);
      await eventually('what is allowed now is listed', async () => (await listed(client)).includes('mcp__files__write_file'));
      await accepted(client, 'mcp__files__write_file', { path: target, content: 'first' });
      assert.equal(readFileSync(target, 'utf8'), 'first');
      await accepted(client, 'mcp__files__write_file', { path: target, content: 'second' });
      assert.equal(readFileSync(target, 'utf8'), 'second');
      if (c.everything) {
        await eventually('the other upstream server is listed', async () => (await listed(client)).some((n) => n.endsWith('echo')));
        assert.match(await accepted(client, 'mcp__everything__echo', { message: 'anybody there?' }), /anybody there\?/);
      } else {
        await accepted(client, 'mcp__files__read_text_file', { path: target });
      }
      await refused(client, 'mcp__files__write_file', { path: target, content: 'fourth' }, '3', 'DONE');
      assert.equal(readFileSync(target, 'utf8'), 'second', 'a call over the limit has touched the disk');

      assert.match(await accepted(client, 'transition', { event: 'DONE' }), /COMPLETED/);
      assert.match(await accepted(client, 'get_status'), /COMPLETED/);
      await accepted(client, 'mcp__files__write_file', { path: target, content: 'enforcement is over' });
    } finally {
      await client.close();
    }
  });
}

test('the protocol that was asked for is spoken', async () => {
  for (const c of clients.filter((one) => one.name.endsWith('HTTP'))) {
    const transport = c.transport('versions');
    const client = c.client();
    await client.connect(transport);
    // The oldest one does not tell; it speaks one version only.
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
    if (c.version !== '2025-03-26') assert.equal(spoken, c.version);
    assert.ok((await listed(client)).includes('get_state'));
    await client.close();
  }
});

test('a client is told when its tools change', async () => {
  const c = clients[1];
  const client = await connect(c, 'told');
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { told += 1; });
  await accepted(client, 'create_workflow', { definition: gated });
  await accepted(client, 'load_workflow', { name: gated.id });
  await eventually('it is told of the workflow', () => told > 0);
  const before = told;
  // Somebody else moves the same session on.
  const other = await connect(clients[2], 'told');
  await accepted(other, 'transition', { event: 'READY' });
  await eventually('it is told of the transition', () => told > before);
  await Promise.all([client.close(), other.close()]);
});

test('nothing is called without a workflow', async () => {
  for (const c of clients.filter((one) => one.name.endsWith('HTTP'))) {
    const client = await connect(c, `unbound-${c.version}`);
    const target = join(files, `unbound-${c.version}.txt`);
    await refused(client, 'mcp__files__write_file', { path: target, content: 'no' }, 'load_workflow');
    assert.ok(!existsSync(target));
    await client.close();
  }
});

test('nobody comes in without a token', async () => {
  for (const headers of [{}, { Authorization: 'Bearer wrong-token-wrong-token' }]) {
    const client = new Client(info);
    await assert.rejects(client.connect(new StreamableHTTPClientTransport(new URL('/mcp', http), { requestInit: { headers } })));
  }
});
