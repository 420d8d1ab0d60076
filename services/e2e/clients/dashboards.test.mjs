// The program of docs/dashboards.md counts what happens.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import test from 'node:test';

import { gated, http, natsAddress, tokens } from './setup.mjs';

const namespace = 'node-dashboard';

async function post(path, body) {
  const response = await fetch(http + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${tokens.agent}`, 'Content-Type': 'application/json', 'X-Interlock-Namespace': namespace },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

test('a live count in 20 lines', { timeout: 240_000 }, async () => {
  const page = readFileSync(new URL('../../../docs/dashboards.md', import.meta.url), 'utf8');
  const program = /```js live-count\.mjs\n([^]*?)\n```/.exec(page)[1];
  assert.ok(program.trim().split('\n').length <= 20, 'the program is longer than the page says');
  // Next to this file, so that it finds its package.
  const file = new URL(`./live-count-${process.pid}.mjs`, import.meta.url);
  writeFileSync(file, program);
  await post('/v1/workflows', gated); // before the program looks
  const child = spawn(process.execPath, [file.pathname], {
    env: { ...process.env, NATS_URL: natsAddress, SUBJECT: `interlock.${namespace}.>` }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const until = async (name) => {
      for (;;) {
        const { value, done } = await lines.next();
        assert.ok(!done, `the program ended before it counted: ${name}`);
        const counts = JSON.parse(value);
        if (counts[name]) return counts;
      }
    };
    await until('workflow registered');
    const run = await post('/v1/runs', { workflow: gated.id });
    await post(`/v1/runs/${run.run_id}/check`, { tool: 'mcp__files__write_file', input: {} });
    await post(`/v1/runs/${run.run_id}/transition`, { event: 'READY' });
    assert.deepEqual(await until('run transitioned'), {
      'workflow registered': 1, 'run started': 1, 'toolcall denied': 1, 'run transitioned': 1,
    });
  } finally {
    child.kill();
    rmSync(file);
  }
});
