// Real MCP clients of four releases, each with the newest protocol that it speaks, walk
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
import { Client as OldestClient } from 'sdk-1.10/client/index.js';
import { StdioClientTransport as OldestStdio } from 'sdk-1.10/client/stdio.js';
import { StreamableHTTPClientTransport as OldestHTTP } from 'sdk-1.10/client/streamableHttp.js';
import { Client as OldClient } from 'sdk-1.17/client/index.js';
import { StdioClientTransport as OldStdio } from 'sdk-1.17/client/stdio.js';
import { StreamableHTTPClientTransport as OldHTTP } from 'sdk-1.17/client/streamableHttp.js';

import { binary, dataDir, eventually, files, filesystemServer, gated, http, offers, textOf, tokens } from './setup.mjs';

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
const releases = [
  { name: 'SDK 1.10', version: '2025-03-26', Client: OldestClient, HTTP: OldestHTTP, Stdio: OldestStdio },
  { name: 'SDK 1.17', version: '2025-06-18', Client: OldClient, HTTP: OldHTTP, Stdio: OldStdio },
  { name: 'SDK 1.32', version: '2025-11-25', Client, HTTP: StreamableHTTPClientTransport, Stdio: StdioClientTransport },
  { name: 'SDK 2', version: '2026-07-28', Client: NewClient, options: pinned, HTTP: NewHTTP, Stdio: NewStdio },
];
const clients = releases.flatMap((r) => {
  const common = { version: r.version, client: () => new r.Client(info, r.options), follows: r.version < '2026' };
  return [
    { ...common, name: `${r.name} over HTTP`, transport: (s) => overHTTP(r.HTTP, s), everything: true },
    { ...common, name: `${r.name} over stdio`, transport: (s) => overStdio(r.Stdio, s) },
  ];
});
const over = (version) => clients.find((c) => c.version === version);

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
    // The oldest one does not tell; it speaks no newer version.
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
    if (c.version !== '2025-03-26') assert.equal(spoken, c.version);
    assert.ok((await listed(client)).includes('get_state'));
    await client.close();
  }
});

for (const c of clients.filter((one) => one.everything)) {
  test(`${c.name}: prompts and resources`, async () => {
    const session = `offers-${c.version}`;
    const client = await connect(c, session);
    try {
      await accepted(client, 'create_workflow', { definition: offers });
      await accepted(client, 'load_workflow', { name: offers.id });
      const prompts = async () => (await client.listPrompts()).prompts.map((p) => p.name);
      if (c.follows) assert.deepEqual(await prompts(), [], 'what is not allowed is listed');
      await assert.rejects(client.getPrompt({ name: 'mcp__everything__simple-prompt' }), (e) => {
        assert.equal(e.code, -32000);
        assert.match(e.message, /looking/);
        assert.match(e.message, /OPEN/);
        return true;
      });
      const uri = 'demo://resource/dynamic/text/1';
      await assert.rejects(client.readResource({ uri }), /looking/);
      await accepted(client, 'transition', { event: 'OPEN' });

      await eventually('the prompts are listed', async () => (await prompts()).includes('mcp__everything__simple-prompt'));
      const { messages } = await client.getPrompt({ name: 'mcp__everything__simple-prompt' });
      assert.ok(messages[0].content.text.length > 0);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.some((t) => t.uriTemplate.startsWith('demo://resource/dynamic/text/')), JSON.stringify(resourceTemplates));
      assert.match((await client.readResource({ uri })).contents[0].text, /Resource 1/);
      await assert.rejects(client.readResource({ uri: 'demo://resource/dynamic/blob/1' }), /blob/);
    } finally {
      await client.close();
    }
  });
}

test('a client is told when its tools change', async () => {
  const c = over('2025-11-25');
  const client = await connect(c, 'told');
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { told += 1; });
  await accepted(client, 'create_workflow', { definition: gated });
  await accepted(client, 'load_workflow', { name: gated.id });
  await eventually('it is told of the workflow', () => told > 0);
  const before = told;
  // Somebody else moves the same session on.
  const other = await connect(over('2026-07-28'), 'told');
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
