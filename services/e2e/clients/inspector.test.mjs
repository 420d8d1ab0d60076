// The MCP inspector's command line lists and calls tools, over HTTP and stdio.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

import { binary, dataDir, files, filesystemServer, gated, here, http, tokens } from './setup.mjs';

const run = promisify(execFile);
const inspector = join(here, 'node_modules', '.bin', 'mcp-inspector-cli');

// inspect returns what the inspector printed, as JSON.
async function inspect(target, ...args) {
  const { stdout } = await run(process.execPath, [inspector, '--cli', ...target, ...args], { cwd: files, timeout: 240_000 });
  return JSON.parse(stdout);
}

const targets = {
  http: [`${http}/mcp?session=inspector-http`, '--transport', 'http', '--header', `Authorization: Bearer ${tokens.agent}`],
  stdio: [binary, 'mcp', '--data-dir', dataDir, '--session', 'inspector-stdio', '--upstream', `files='${process.execPath}' '${filesystemServer}' '${files}'`],
};

for (const [name, target] of Object.entries(targets)) {
  test(`the inspector over ${name}`, async () => {
    // On stdio the inspector takes what follows "--method" for itself.
    const { tools } = await inspect(target, '--method', 'tools/list');
    const own = tools.map((t) => t.name);
    for (const tool of ['transition', 'get_state', 'list_workflows', 'load_workflow', 'create_workflow', 'get_status', 'deactivate']) {
      assert.ok(own.includes(tool), `${tool} is not listed: ${own}`);
    }
    const use = (tool, ...args) => inspect(target, '--method', 'tools/call', '--tool-name', tool, ...args.flatMap((a) => ['--tool-arg', a]));
    assert.ok(!(await use('create_workflow', `definition=${JSON.stringify(gated)}`)).isError);
    assert.ok(!(await use('load_workflow', `name=${gated.id}`)).isError);
    const path = join(files, `inspector-${name}.txt`);
    const denied = await use('mcp__files__write_file', `path=${path}`, 'content=no');
    assert.equal(denied.isError, true, JSON.stringify(denied));
    assert.ok(!existsSync(path), 'a denied call has touched the disk');
    assert.ok(!(await use('transition', 'event=READY')).isError);
    assert.ok(!(await use('mcp__files__write_file', `path=${path}`, 'content=yes')).isError);
    assert.ok(existsSync(path));
  });
}
