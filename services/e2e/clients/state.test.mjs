// A tree of sessions shares a state over MCP: the root creates it, a child reads
// and patches it, and refusals say what to do.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Client as NewClient, StreamableHTTPClientTransport as NewHTTP } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { binary, dataDir, files, http, textOf, tokens } from './setup.mjs';

const info = { name: 'e2e', version: '1' };

const schema = {
  type: 'object',
  required: ['status', 'tasks'],
  additionalProperties: false,
  properties: {
    status: { enum: ['pending', 'in_progress', 'completed'] },
    tasks: { type: 'array', items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, status: { enum: ['running', 'done'] } } } },
    id: { type: 'integer' },
  },
};
const initial = { status: 'pending', tasks: [{ name: 'build' }, { name: 'test' }] };

async function post(path, token, body) {
  const response = await fetch(http + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

const headersOf = (session, more) => ({ Authorization: `Bearer ${tokens.agent}`, ...(session && { 'X-Interlock-Session': session }), ...more });
const overHTTP = (session, more) => new StreamableHTTPClientTransport(new URL('/mcp', http), { requestInit: { headers: headersOf(session, more) } });

async function connect(transport, client = new Client(info)) {
  await client.connect(transport);
  return client;
}

const call = (client, name, args = {}) => client.callTool({ name, arguments: args });

async function accepted(client, name, args) {
  const result = await call(client, name, args);
  assert.ok(!result.isError, `${name}: ${textOf(result)}`);
  return result;
}

async function refused(client, name, args, code, ...mentions) {
  const result = await call(client, name, args);
  const text = textOf(result);
  assert.equal(result.isError, true, `${name} is not refused: ${text}`);
  assert.equal(result.structuredContent.code, code, text);
  for (const word of mentions) assert.ok(text.includes(word), `the refusal of ${name} does not mention ${word}: ${text}`);
  return result.structuredContent;
}

const begin = (name) => post('/v1/schemas', tokens.operator, { name, json_schema: schema });
const child = (name, parent) => post('/v1/sessions', tokens.agent, { session_name: name, parent_session_name: parent });

test('a tree shares a state', { timeout: 240_000 }, async () => {
  await begin('mcp-tree');
  const root = await connect(overHTTP('mcp-root'));
  const listed = (await root.listTools()).tools;
  for (const name of ['state_create', 'state_read', 'state_update', 'state_patch', 'state_schema']) {
    const tool = listed.find((t) => t.name === name);
    assert.ok(tool, `${name} is not listed`);
    assert.ok(!('state_id' in tool.inputSchema.properties) && !('session' in tool.inputSchema.properties), 'the state is the connection\'s');
  }

  await refused(root, 'state_read', {}, 'NO_SESSION', 'mcp-root', 'state_create', 'X-Interlock-Session');
  await refused(root, 'state_create', { schema_name: 'mcp-tre', initial_data: initial }, 'NOT_FOUND', 'mcp-tree (version 1)');
  await refused(root, 'state_create', { schema_name: 'mcp-tree', initial_data: { status: 'lazy', tasks: [] } }, 'SCHEMA_VIOLATION', '/status');
  await refused(root, 'state_create', { schema_name: 'mcp-tree', initial_data: JSON.stringify(initial) }, 'SCHEMA_VIOLATION', 'give the JSON itself');
  const created = (await accepted(root, 'state_create', { schema_name: 'mcp-tree', initial_data: initial })).structuredContent;
  assert.match(created.state_id, /^wfstate_/);
  assert.deepEqual(created, { state_id: created.state_id, version: 1, data: initial });
  const again = await refused(root, 'state_create', { schema_name: 'mcp-tree', initial_data: initial }, 'FAILED_PRECONDITION', 'state_read');
  assert.equal(again.state_id, created.state_id);

  const at = await child('mcp-child', 'mcp-root');
  assert.equal(at.workflow_state_id, created.state_id);
  const worker = await connect(overHTTP('mcp-child'));
  assert.deepEqual((await accepted(worker, 'state_read')).structuredContent, created);
  await refused(worker, 'state_create', { schema_name: 'mcp-tree', initial_data: initial }, 'FAILED_PRECONDITION', 'root');
  const patched = await accepted(worker, 'state_patch', {
    operations: [{ op: 'test', path: '/status', value: 'pending' }, { op: 'add', path: '/tasks/1/status', value: 'done' }], expected_version: 1,
  });
  const want = { ...initial, tasks: [{ name: 'build' }, { name: 'test', status: 'done' }] };
  assert.deepEqual(patched.structuredContent, { state_id: created.state_id, version: 2, data: want });

  // The root sees it, in parts.
  assert.deepEqual((await accepted(root, 'state_read', { pointers: ['/tasks/1', '/none'] })).structuredContent, {
    state_id: created.state_id, version: 2,
    parts: [{ pointer: '/tasks/1', found: true, value: { name: 'test', status: 'done' } }, { pointer: '/none', found: false, value: null }],
  });
  assert.deepEqual((await accepted(root, 'state_read', { version: 1 })).structuredContent, created);
  const known = (await accepted(root, 'state_schema')).structuredContent;
  assert.deepEqual(known, { schema_name: 'mcp-tree', schema_version: 1, json_schema: schema, state_id: created.state_id, version: 2 });

  // What the others need to mend it is in every refusal.
  const conflict = await refused(worker, 'state_update', { data: initial, expected_version: 1 }, 'VERSION_CONFLICT', 'state_read', 'expected_version 2');
  assert.equal(conflict.current_version, 2);
  const invalid = await refused(worker, 'state_patch', { operations: [{ op: 'replace', path: '/tasks/0/name', value: 7 }] }, 'SCHEMA_VIOLATION', '/tasks/0/name', 'state_schema', 'version 2');
  assert.ok(invalid.problems.some((p) => p.pointer === '/tasks/0/name'), JSON.stringify(invalid));
  await refused(worker, 'state_patch', { operations: [{ op: 'remove', path: '/tasks/9' }] }, 'PATCH_FAILED', '/tasks/9', 'version 2', 'then patch again');
  await refused(worker, 'state_patch', { operations: [{ op: 'delete', path: '/tasks' }] }, 'INVALID_JSON', '/operations/0/op');

  const lock = await post(`/v1/states/${created.state_id}/lock`, tokens.operator, { holder: 'deployment', ttl_seconds: 60 });
  const locked = await refused(worker, 'state_patch', { operations: [] }, 'LOCKED', 'deployment', 'until');
  assert.equal(locked.locked_by, 'deployment');
  assert.ok(Date.parse(locked.locked_until) > Date.now() - 60_000);
  assert.match(textOf(await accepted(worker, 'state_read')), /locked by "deployment"/);
  await fetch(`${http}/v1/states/${created.state_id}/lock`, {
    method: 'DELETE', headers: { Authorization: `Bearer ${tokens.operator}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ fencing_token: lock.fencing_token }),
  });
  await accepted(worker, 'state_update', { data: { status: 'completed', tasks: [] } });
  await Promise.all([root.close(), worker.close()]);
});

test('every client reads what was written, to the last digit', { timeout: 240_000 }, async () => {
  await begin('mcp-digits');
  const id = '9007199254740993';
  const made = await post('/v1/states', tokens.agent, `{"schema_name":"mcp-digits","session_name":"mcp-digits","initial_data":{"tasks":[],"status":"pending","id":${id}}}`);
  const stdio = () => new StdioClientTransport({
    command: binary, args: ['mcp', '--data-dir', dataDir, '--session', 'mcp-digits'], env: { PATH: process.env.PATH, HOME: files }, stderr: 'inherit',
  });
  const newest = new NewClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const clients = [
    await connect(overHTTP('mcp-digits')), await connect(stdio()),
    await connect(new NewHTTP(new URL('/mcp', http), { requestInit: { headers: headersOf('mcp-digits') } }), newest),
  ];
  for (const [i, client] of clients.entries()) {
    const text = textOf(await accepted(client, 'state_read'));
    assert.ok(text.endsWith(`{"tasks":[],"status":"pending","id":${id}}`), text);
    const patched = await accepted(client, 'state_patch', { operations: [{ op: 'test', path: '/status', value: 'pending' }] });
    assert.equal(patched.structuredContent.version, i + 2);
    assert.equal(patched.structuredContent.state_id, made.state_id);
    await client.close();
  }
});

test('the state is that of the session', { timeout: 240_000 }, async () => {
  await begin('mcp-rights');
  const root = await connect(overHTTP('mcp-owner'));
  const { state_id: state } = (await accepted(root, 'state_create', { schema_name: 'mcp-rights', initial_data: initial })).structuredContent;
  // A state's name is no right to it, and no session either.
  const nameless = await connect(overHTTP('', { 'X-Workflow-State-Id': state }));
  await refused(nameless, 'state_read', {}, 'NO_SESSION', 'X-Interlock-Session');
  const stranger = await connect(overHTTP('mcp-stranger', { 'X-Workflow-State-Id': state }));
  await refused(stranger, 'state_read', {}, 'NO_SESSION', 'mcp-stranger');
  await post('/v1/sessions', tokens.agent, { session_name: 'mcp-stranger' });
  await refused(stranger, 'state_patch', { operations: [] }, 'PERMISSION_DENIED', 'another tree', 'X-Workflow-State-Id');
  const plain = await connect(overHTTP('mcp-stranger'));
  await refused(plain, 'state_read', {}, 'NO_STATE', 'Create it with state_create');
  const orphan = await child('mcp-orphan', 'mcp-stranger');
  assert.equal(orphan.workflow_state_id, null);
  const left = await connect(overHTTP('mcp-orphan'));
  await refused(left, 'state_read', {}, 'NO_STATE', 'mcp-stranger');
  // Those of the tree may name it.
  await child('mcp-heir', 'mcp-owner');
  const heir = await connect(overHTTP('mcp-heir', { 'X-Workflow-State-Id': state }));
  assert.equal((await accepted(heir, 'state_read')).structuredContent.state_id, state);
  await refused(heir, 'state_create', { schema_name: 'mcp-rights', initial_data: initial }, 'FAILED_PRECONDITION', state);
  await Promise.all([root, nameless, stranger, plain, left, heir].map((c) => c.close()));
});
