// The OpenAPI document is one that strict tools accept: redocly's recommended rules, with
// every warning an error but the one about WebSockets, which answer 101.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const cli = join(import.meta.dirname, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');

test('redocly finds nothing in the OpenAPI document', async (t) => {
  const answer = await fetch(`${process.env.E2E_HTTP}/openapi.json`);
  assert.equal(answer.status, 200);
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'openapi.json'), await answer.text());
  await writeFile(join(folder, 'redocly.yaml'), 'extends: [recommended]\n');
  const lint = promisify(execFile)(process.execPath, [cli, 'lint', 'openapi.json', '--format=json'], {
    cwd: folder,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' },
    maxBuffer: 1 << 26,
  });
  const { stdout } = await lint.catch((failure) => failure);
  const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{')));
  const others = problems.filter((p) => !(p.ruleId === 'operation-2xx-response' && JSON.stringify(p.location).includes('~1v1~1ws')));
  assert.deepEqual(others.map((p) => `${p.ruleId}: ${p.message} at ${p.location?.[0]?.pointer}`), []);
  assert.equal(totals.errors, 0);
});
