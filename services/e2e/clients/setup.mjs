// What every test here needs: where the running Interlock is, and small checks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

function required(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are run by "go test ./services/e2e -run Clients"`);
  return value;
}

export const http = required('E2E_HTTP');
export const grpcAddress = required('E2E_GRPC');
export const binary = required('E2E_INTERLOCK');
export const dataDir = required('E2E_DATA');
// The folder that the filesystem server may touch.
export const files = required('E2E_FILES');
export const natsAddress = required('E2E_NATS');
export const tokens = JSON.parse(readFileSync(required('E2E_TOKENS'), 'utf8'));

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const here = fileURLToPath(new URL('.', import.meta.url));
export const filesystemServer = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'));

// gated lets an agent read first and write only after READY, three times.
export const gated = {
  id: 'gated-files',
  initial: 'reading',
  states: {
    reading: {
      instructions: 'Look around.',
      allowed_tools: ['mcp__files__read_text_file', 'mcp__files__list_directory'],
      on: { READY: 'writing' },
    },
    writing: {
      allowed_tools: ['mcp__files__read_text_file', 'mcp__files__write_file', 'mcp__everything__*'],
      max_iterations: 3,
      on: { DONE: 'done' },
    },
    done: { type: 'final' },
  },
};

// offers lets an agent get prompts and read resources after OPEN, but those of one kind.
export const offers = {
  id: 'gated-offers',
  initial: 'looking',
  states: {
    looking: { allowed_tools: ['Read'], on: { OPEN: 'open' } },
    open: {
      allowed_tools: ['mcp__everything__*'],
      disallowed_tools: ['mcp__everything__resource:demo://resource/dynamic/blob/*'],
      on: { DONE: 'done' },
    },
    done: { type: 'final' },
  },
};

// textOf is all the text of a tool's result.
export function textOf(result) {
  return result.content.filter((c) => c.type === 'text').map((c) => c.text).join('\n');
}

// eventually polls until check answers something true.
export async function eventually(what, check) {
  const deadline = Date.now() + 240_000;
  for (;;) {
    const value = await check();
    if (value) return value;
    assert.ok(Date.now() < deadline, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
