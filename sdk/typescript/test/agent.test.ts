/** The agent of docs/agent-examples.md is type-checked, runs, and prints what the page has. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const here = fileURLToPath(new URL("..", import.meta.url));
const agents = join(here, "../../examples/agents");

test("the example agent compiles", { timeout: 300_000 }, async () => {
  const folder = join(here, ".examples-agent");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyFile(join(agents, "typescript/agent.ts"), join(folder, "agent.ts"));
  const compilerOptions = { rootDir: ".", noEmit: true, erasableSyntaxOnly: true, types: ["node"], typeRoots: ["../node_modules/@types"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../tsconfig.json", compilerOptions, include: ["*.ts"] }));
  await run("npx", ["tsc", "-p", folder], { cwd: here }).catch((err: { stdout: string }) => {
    throw new Error(err.stdout);
  });
});

test("the example agent prints its transcript", { timeout: 300_000 }, async () => {
  const page = await readFile(join(here, "../../docs/agent-examples.md"), "utf8");
  const documented = /^```text\n(.*?)^```$/ms.exec(page)?.[1] ?? "";
  const env = { ...process.env, INTERLOCK_BINARY: process.env["INTERLOCK_BINARY"] ?? join(here, "../../bin/interlock") };
  const { stdout } = await run(join(agents, "run"), ["typescript"], { env });
  expect(stdout.replace(/\(\d\d:\d\d:\d\d, /g, "(..., ")).toBe(documented);
  expect(stdout).toContain('denied: Tool "Bash" is not allowed in state "plan".');
  expect(stdout).toContain("waits for a human\n  approved; now in deploy\n");
  expect(stdout.split("deployed version 2")).toHaveLength(2);
  expect(stdout).toMatch(/^deployments: 1$/m);
});
