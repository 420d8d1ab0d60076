// A NATS client sees every event, with CloudEvents headers.
import assert from 'node:assert/strict';
import test from 'node:test';

import { connect, consumerOpts } from 'nats';

import { gated, http, natsAddress, tokens } from './setup.mjs';

const namespace = 'node-nats';

async function post(path, body) {
  const response = await fetch(http + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${tokens.agent}`, 'Content-Type': 'application/json', 'X-Interlock-Namespace': namespace },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

// A walk, and the subjects and types that it has to be announced by, in order.
async function walk() {
  await post('/v1/workflows', gated);
  const run = await post('/v1/runs', { workflow: gated.id });
  const base = `/v1/runs/${run.run_id}`;
  await post(`${base}/check`, { tool: 'mcp__files__write_file', input: { path: '/secret/path' } });
  await post(`${base}/transition`, { event: 'READY' });
  await post(`${base}/check`, { tool: 'mcp__files__write_file', input: {} });
  await post(`${base}/transition`, { event: 'DONE' });
  const of = (entity, type) => `interlock.${namespace}.${entity}.${run.run_id}.${type}`;
  return [of('run', 'started'), of('toolcall', 'denied'), of('run', 'transitioned'), of('toolcall', 'allowed'),
    of('run', 'transitioned'), of('run', 'completed')];
}

function verify(message) {
  const header = (name) => message.headers.get(name);
  const event = JSON.parse(message.string());
  const [, , entity, id, type] = message.subject.split('.');
  assert.equal(header('ce-specversion'), '1.0');
  assert.equal(header('ce-id'), header('Nats-Msg-Id'));
  assert.equal(header('ce-id').split('@')[0], event.id); // and the era of the store
  assert.ok(header('ce-source') && header('ce-type') && header('ce-subject'), 'a required CloudEvents attribute is missing');
  assert.ok(!Number.isNaN(Date.parse(header('ce-time'))));
  assert.match(header('content-type'), /json/);
  assert.deepEqual([event.entity, event.type, event.namespace], [entity, type, namespace]);
  assert.equal(event.entity_id ?? event.entityId, id);
  assert.ok(!message.string().includes('/secret/path'), 'an event holds a tool\'s input');
}

test('a core subscription', { timeout: 240_000 }, async () => {
  const nc = await connect({ servers: natsAddress });
  const messages = nc.subscribe(`interlock.${namespace}.*.*.*`);
  await nc.flush();
  const want = await walk();
  const got = [];
  for await (const message of messages) {
    verify(message);
    if (!message.subject.includes('.workflow.')) got.push(message.subject);
    if (got.length === want.length) break;
  }
  assert.deepEqual(got, want);
  await nc.close();
});

test('an ordered consumer of the stream', { timeout: 240_000 }, async () => {
  const nc = await connect({ servers: natsAddress });
  const want = await walk();
  const id = want[0].split('.')[3];
  const options = consumerOpts();
  options.orderedConsumer();
  options.deliverAll();
  const messages = await nc.jetstream().subscribe(`interlock.${namespace}.*.${id}.*`, options);
  const got = [];
  for await (const message of messages) {
    verify(message);
    got.push(message.subject);
    if (got.length === want.length) break;
  }
  assert.deepEqual(got, want);
  await nc.close();
});
