// The deploy gate of the documentation, as written, through a real MCP client: its
// policy limits the shell, asks before files are written, and an answer ends it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { binary, dataDir, eventually, files, http, root, textOf, tokens } from './setup.mjs';

const gate = readFileSync(join(root, 'examples/deploy-gate.json'), 'utf8');

async function rest(method, path, token, body) {
  const answer = await fetch(new URL(path, http), {
    method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

async function connect(session) {
  const client = new Client({ name: 'e2e', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', http), {
    requestInit: { headers: { Authorization: `Bearer ${tokens.agent}`, 'X-Interlock-Session': session } },
  }));
  return client;
}

const call = (client, name, args = {}) => client.callTool({ name, arguments: args });
const bash = (client, command) => call(client, 'mcp__shell__bash', { command });
const interlock = (...args) => spawnSync(binary, [...args, '--data-dir', dataDir], { encoding: 'utf8' });
// What only people do takes no token from the data folder without a terminal.
const human = (...args) => interlock(...args, '--token', tokens.approver);

async function begin(session) {
  const client = await connect(session);
  const loaded = textOf(await call(client, 'load_workflow', { name: 'deploy-gate' }));
  assert.match(loaded, /Walk through the deployment checklist/);
  assert.match(loaded, /target environment correct/);
  await eventually('the shell is listed', async () => (await client.listTools()).tools.some((t) => t.name.endsWith('bash')));
  return client;
}

test.before(async () => {
  const made = await rest('POST', '/v1/processes', tokens.operator, gate);
  assert.equal(made.status, 201, JSON.stringify(made.body));
});

test('bash fifty times, then not until the window reopens', async () => {
  const client = await begin('limits');
  try {
    for (let i = 1; i <= 50; i++) {
      const result = await bash(client, `echo call ${i}`);
      assert.ok(!result.isError, `call ${i}: ${textOf(result)}`);
      assert.match(textOf(result), new RegExp(`call ${i}\\b`));
    }
    const over = await bash(client, 'echo too many');
    assert.equal(over.isError, true);
    assert.match(textOf(over), /RATE_LIMITED|50 calls/);
    assert.match(textOf(over), /20\d\d-\d\d-\d\dT\d\d:\d\d/, 'it says when the window reopens');
    const again = await begin('another-session');
    try {
      assert.equal((await bash(again, 'echo a way round')).isError, true, 'the limit is the policy’s, not a session’s');
    } finally {
      await again.close();
    }
  } finally {
    await client.close();
  }
});

test('a write asks, and continues once after a human approved it', async () => {
  const client = await begin('writes');
  try {
    const path = join(files, 'released.txt');
    const write = () => call(client, 'mcp__filesystem__write_file', { path, content: 'v1' });
    const asked = await write();
    assert.equal(asked.isError, true);
    const id = textOf(asked).match(/apr_[0-9a-z]+/)?.[0];
    assert.ok(id, textOf(asked));
    assert.ok(!existsSync(path));
    assert.ok(textOf(await write()).includes(id), 'the same call is the same question');

    const self = await rest('POST', `/v1/approvals/${id}/approve`, tokens.agent, {});
    assert.equal(self.status, 403, JSON.stringify(self.body));
    assert.ok(!existsSync(path));

    const shown = interlock('approval', 'show', id);
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /mcp:filesystem:write_file/);
    assert.match(shown.stdout, /released\.txt/);
    const waiting = call(client, 'wait_approval', { approval_id: id, timeout_seconds: 60 });
    const approved = human('approval', 'approve', id, '--note', 'go');
    assert.equal(approved.status, 0, approved.stderr);
    assert.match(textOf(await waiting), /granted|approved/i);

    const written = await write();
    assert.ok(!written.isError, textOf(written));
    assert.equal(readFileSync(path, 'utf8'), 'v1');
    const another = textOf(await write());
    const next = another.match(/apr_[0-9a-z]+/)?.[0];
    assert.ok(next && next !== id, `an approval admits one call: ${another}`);
    const rejected = human('approval', 'reject', next, '--note', 'once is enough');
    assert.equal(rejected.status, 0, rejected.stderr);
    const after = await write();
    assert.equal(after.isError, true);
    assert.match(textOf(after), /once is enough/);
  } finally {
    await client.close();
  }
});

test('an answer leads on, or blocks the session', async () => {
  const client = await begin('answers');
  try {
    const unknown = await call(client, 'process_step', { answer: 'maybe' });
    assert.equal(unknown.isError, true);
    assert.match(textOf(unknown), /yes/);
    assert.match(textOf(unknown), /no/);
    assert.match(textOf(await call(client, 'process_step', { answer: 'yes' })), /migrations been reviewed/);
    assert.match(textOf(await call(client, 'process_step', { answer: 'no', note: 'not reviewed' })), /BLOCKED|blocked/);
    const list = await call(client, 'mcp__filesystem__list_directory', { path: files });
    assert.equal(list.isError, true, 'a blocked session may do nothing');
    const log = execFileSync(binary, ['decisions', '--data-dir', dataDir, '--token', tokens.operator, '-o', 'json'], { encoding: 'utf8' });
    assert.ok(JSON.parse(log).length > 50);
    const audit = await eventually('the decisions are sealed', () => {
      const verify = interlock('audit', 'verify', '--token', tokens.operator, '-o', 'json');
      return verify.status === 0 && JSON.parse(verify.stdout).chains.every((c) => !c.unsealed) && verify;
    });
    assert.equal(audit.status, 0);
  } finally {
    await client.close();
  }
});
