// A gRPC client that is built from the same protos.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';

import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

import { gated, grpcAddress, root, tokens } from './setup.mjs';

const options = {
  keepCase: true, longs: String, enums: String, defaults: true,
  includeDirs: ['proto', 'third_party/protovalidate', 'third_party/googleapis'].map((dir) => join(root, dir)),
};
const { interlock, google } = grpc.loadPackageDefinition(loadSync([
  'interlock/engine/v1/workflow_service.proto', 'interlock/engine/v1/run_service.proto',
  'interlock/policy/v1/policy_enforcer_service.proto',
  'google/rpc/status.proto', 'google/rpc/error_details.proto',
], options));
const plain = grpc.credentials.createInsecure();
const workflows = new interlock.engine.v1.WorkflowService(grpcAddress, plain);
const runs = new interlock.engine.v1.RunService(grpcAddress, plain);
const policy = new interlock.policy.v1.PolicyEnforcerService(grpcAddress, plain);
after(() => [workflows, runs, policy].forEach((client) => client.close()));

function as(role, namespace = 'node-grpc') {
  const metadata = new grpc.Metadata();
  if (role) metadata.set('authorization', `Bearer ${tokens[role]}`);
  metadata.set('interlock-namespace', namespace);
  return metadata;
}

const call = (client, method, request, metadata = as('agent')) =>
  promisify(client[method]).call(client, request, metadata, { deadline: Date.now() + 30_000 });

// reasonOf is the reason in the details of a google.rpc.Status: in a google.rpc.ErrorInfo.
const reasonOf = (status) => {
  const info = status.details.find((d) => d.type_url.endsWith('google.rpc.ErrorInfo'));
  return info.value.toString('latin1').match(/[A-Z_]{3,}/)[0];
};

// failure is the status code and the reason of a call that has to fail.
async function failure(promise) {
  const error = await promise.then(() => assert.fail('the call did not fail'), (e) => e);
  const [details] = error.metadata.get('grpc-status-details-bin');
  assert.ok(details, `no details: ${error}`);
  const text = Buffer.from(details).toString('latin1');
  assert.ok(text.includes('google.rpc.ErrorInfo') && text.includes('interlock'), text);
  return { code: error.code, text, message: error.details };
}

test('a gated walk', async () => {
  const registered = await call(workflows, 'RegisterWorkflow', { definition: Buffer.from(JSON.stringify(gated)) });
  assert.equal(registered.workflow.version, '1');
  const { run } = await call(runs, 'StartRun', { workflow: gated.id, context: Buffer.from('{"id":9007199254740993}') });
  assert.equal(run.status, 'RUN_STATUS_RUNNING');
  assert.match(run.context.toString(), /9007199254740993/, 'a 64-bit integer in a context stays itself');
  const check = (tool) => call(policy, 'CheckToolCall', { run_id: run.run_id, tool, input: Buffer.from('{}') });
  const denied = await check('mcp__files__write_file');
  assert.equal(denied.decision, 'DECISION_DENY');
  assert.equal(denied.code, 'DECISION_CODE_TOOL_NOT_ALLOWED');
  assert.deepEqual(denied.legal_events.map((e) => e.event), ['READY']);

  const versions = [];
  const watch = runs.WatchRun({ run_id: run.run_id }, as('observer'));
  const ended = new Promise((resolve, reject) => {
    watch.on('data', (update) => versions.push(Number(update.run.version)));
    watch.on('end', resolve);
    watch.on('error', reject);
  });
  const moved = await call(runs, 'TransitionRun', { run_id: run.run_id, event: 'READY', expected_version: '1' });
  assert.equal(moved.accepted, true);
  assert.equal((await check('mcp__files__write_file')).decision, 'DECISION_ALLOW');
  const rejected = await call(runs, 'TransitionRun', { run_id: run.run_id, event: 'NOTHING' });
  assert.equal(rejected.rejection.code, 'REJECTION_CODE_UNKNOWN_EVENT');
  await call(runs, 'TransitionRun', { run_id: run.run_id, event: 'DONE' });
  await ended;
  assert.equal(versions.at(-1), 3);
  const { entries } = await call(runs, 'GetRunHistory', { run_id: run.run_id });
  assert.deepEqual(entries.map((e) => e.run_version), ['1', '2', '3']);
});

test('a stream of checks', async () => {
  await call(workflows, 'RegisterWorkflow', { definition: Buffer.from(JSON.stringify(gated)) });
  const { run } = await call(runs, 'StartRun', { workflow: gated.id });
  const stream = policy.CheckToolCalls(as('agent'));
  const answers = new Map();
  const done = new Promise((resolve, reject) => {
    stream.on('data', (answer) => {
      answers.set(answer.correlation_id, answer.results.map((r) => r.decision?.decision ?? reasonOf(r.error)));
      if (answers.size === 20) stream.end();
    });
    stream.on('end', resolve);
    stream.on('error', reject);
  });
  for (let i = 1; i <= 20; i += 1) {
    stream.write({ correlation_id: i, calls: [{ run_id: run.run_id, tool: 'mcp__files__read_text_file' }, { run_id: run.run_id, tool: 'mcp__files__write_file' }, { run_id: run.run_id }] });
  }
  await done;
  for (let i = 1; i <= 20; i += 1) {
    assert.deepEqual(answers.get(String(i)), ['DECISION_ALLOW', 'DECISION_DENY', 'INVALID_REQUEST']);
  }
});

test('failures carry their reason', async () => {
  const none = await failure(call(runs, 'GetRun', { run_id: 'run_none' }));
  assert.equal(none.code, grpc.status.NOT_FOUND);
  assert.match(none.text, /NOT_FOUND/);
  const invalid = await failure(call(workflows, 'RegisterWorkflow', { definition: Buffer.from('{"id":1}') }));
  assert.equal(invalid.code, grpc.status.INVALID_ARGUMENT);
  assert.match(invalid.text, /INVALID_DEFINITION/);
  assert.match(invalid.text, /google\.rpc\.BadRequest/);
  const nobody = await failure(call(runs, 'GetRun', { run_id: 'run_none' }, as('')));
  assert.equal(nobody.code, grpc.status.UNAUTHENTICATED);
  const observer = await failure(call(runs, 'CancelRun', { run_id: 'run_none' }, as('observer')));
  assert.equal(observer.code, grpc.status.PERMISSION_DENIED);
  const large = await failure(call(workflows, 'RegisterWorkflow', { definition: Buffer.alloc((1 << 20) + 1, ' ') }));
  assert.equal(large.code, grpc.status.RESOURCE_EXHAUSTED);
  assert.match(large.text, /TOO_LARGE/);
  assert.ok(google.rpc.Status);
});
