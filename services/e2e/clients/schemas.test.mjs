// The published JSON Schemas, as editors and other validators read them: Ajv, the JSON
// language service of VS Code, and Python's jsonschema.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import Ajv2020 from 'ajv/dist/2020.js';
import vscode from 'vscode-json-languageservice';

import { binary, http, root } from './setup.mjs';

const { getLanguageService, TextDocument } = vscode;

const examples = join(root, 'examples');
const read = (file) => JSON.parse(readFileSync(join(examples, file), 'utf8'));
const scenario = { workflow: 'w.json', cases: [{ name: 'x', steps: [{ event: 'GO', expect: { state: 'b' } }] }] };
const process_ = {
  name: 'check', initial: 'tests',
  states: { tests: { question: 'Do the tests pass?', answers: { yes: { next: null, action: 'complete' }, no: { next: null, action: 'block' } } } },
};
const component = { name: 'Memory', slug: 'memory', schema_definition: { notes: { type: 'string' } } };
// A good document of each kind, a mistake in it, and where the mistake is.
const kinds = {
  workflow: [read('bugfix.json'), (d) => { d.states.planning.alowed_tools = []; }, 'alowed_tools'],
  policy: [{ role: 'agent', allow: [{ capability: 'bash' }] }, (d) => { d.allow[0].rate_limits = {}; }, 'rate_limits'],
  process: [process_, (d) => { d.stats = {}; }, 'stats'],
  component: [component, (d) => { d.persistance = 'none'; }, 'persistance'],
  scenario: [scenario, (d) => { d.cases[0].steps[0].expects = {}; }, 'expects'],
};
const broken = (kind) => {
  const [good, spoil] = kinds[kind];
  const bad = structuredClone(good);
  spoil(bad);
  return bad;
};

const schemas = {};
for (const kind of Object.keys(kinds)) schemas[kind] = await (await fetch(`${http}/${kind}-schema.json`)).json();

for (const kind of Object.keys(kinds)) {
  const [good, , mistake] = kinds[kind];
  const bad = broken(kind);

  test(`${kind}: the command line prints what the server serves`, () => {
    const printed = execFileSync(binary, ['validate', '--schema', kind], { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(printed), schemas[kind]);
    assert.equal(schemas[kind].$id, `https://interlock.run/${kind}-schema.json`);
  });

  test(`${kind}: Ajv`, () => {
    const validate = new Ajv2020({ strictTypes: false, allErrors: true }).compile(schemas[kind]);
    assert.ok(validate(good), JSON.stringify(validate.errors));
    assert.ok(!validate(bad));
    assert.ok(JSON.stringify(validate.errors).includes(mistake), JSON.stringify(validate.errors));
  });

  test(`${kind}: VS Code`, async () => {
    const service = getLanguageService({});
    service.configure({ validate: true, schemas: [{ uri: schemas[kind].$id, fileMatch: ['*'], schema: structuredClone(schemas[kind]) }] }); // it resolves references in place
    const diagnose = async (doc) => {
      const text = TextDocument.create('file:///w.json', 'json', 1, JSON.stringify(doc, null, 2));
      return (await service.doValidation(text, service.parseJSONDocument(text))).map((d) => d.message);
    };
    assert.deepEqual(await diagnose(good), []);
    assert.match((await diagnose(bad)).join('\n'), new RegExp(mistake));
  });
}

test('names in any script', () => {
  const validate = new Ajv2020({ strict: false }).compile(schemas.workflow);
  const named = (name) => ({ id: 'größe', initial: name, states: { [name]: { on: { 計画: 'ende' } }, ende: { type: 'final' } } });
  for (const name of ['prüfen', '計画', 'étape_1', 'a.b:c-d']) assert.ok(validate(named(name)), `${name}: ${JSON.stringify(validate.errors)}`);
  for (const name of ['a b', '-a', 'a/b', 'a\u200bb', 'a\u202eb', '']) assert.ok(!validate(named(name)), name);
});

test('Python', () => {
  const dir = mkdtempSync(join(tmpdir(), 'schemas-'));
  for (const kind of Object.keys(kinds)) {
    writeFileSync(join(dir, `${kind}.json`), JSON.stringify({ schema: schemas[kind], good: kinds[kind][0], bad: broken(kind), mistake: kinds[kind][2] }));
  }
  const program = `
import json, pathlib, sys
from jsonschema import Draft202012Validator
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    row = json.loads(file.read_text())
    Draft202012Validator.check_schema(row["schema"])
    validator = Draft202012Validator(row["schema"])
    validator.validate(row["good"])
    errors = [e.message for e in validator.iter_errors(row["bad"])]
    assert any(row["mistake"] in e for e in errors), (file.name, errors)
    print(file.name)
`;
  const out = execFileSync('python3', ['-c', program, dir], { encoding: 'utf8' });
  assert.equal(out.trim().split('\n').length, Object.keys(kinds).length);
});
