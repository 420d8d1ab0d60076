/** The examples of docs/sdk.md, docs/adapters.md and of the README are type-checked, and run against a server. */
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { Case } from "./host.js";

const run = promisify(execFile);
const here = fileURLToPath(new URL("..", import.meta.url));
const folder = join(here, ".examples");

// The page loads it again in the same session.
const bugfix = {
  id: "bugfix", initial: "looking", meta: { enforcement: "while_running" },
  states: { looking: { instructions: "Find it.", allowed_tools: ["Read", "Edit", "Bash", "Deploy"], on: { READY: "done" } }, done: { type: "final" } },
};
const review = {
  type: "object", required: ["status", "findings"],
  properties: { status: { type: "string" }, findings: { type: "array", items: { type: "string" } } },
};
const shipping = {
  id: "shipping", initial: "testing",
  evidence: { tests: { tool: "Bash", command: "make test" } },
  guards: { tested: { evidence: "tests" } },
  states: {
    testing: { allowed_tools: ["Bash"], on: { SHIP: { target: "shipped", guard: "tested", requires_approval: true } } },
    shipped: { type: "final" },
  },
};
const asks = { name: "asks", role: "agent", meta: { tools: ["Deploy"] }, ask: [{ capability: "tool:Deploy" }] };

/** What the examples have around them. */
const before = `
import { writeFile as write } from "node:fs/promises";
const writeFile = (name: string, text: string) => write(new URL(name, import.meta.url), text);
const edit = (name: string): string => "edited " + name;
const folder = "/repo";
const runTests = (): string => "passed";
const as = (role: string) => new Interlock({ ...address, token: process.env[role] ?? "", session: "shipping" });
const address = { server: process.env["INTERLOCK_SERVER"] ?? "", namespace: process.env["INTERLOCK_NAMESPACE"] ?? "" };
const notify = (approval: string) => void as("APPROVER").decideApproval(approval, true);
const tokenOfAda = process.env["ADA"] ?? "";
const operator = new Interlock({ ...address, token: process.env["OPERATOR"] ?? "" });
void [folder, runTests, as, notify, tokenOfAda, operator];
`;

async function blocks(file: string, kind = "ts"): Promise<string[]> {
  const text = await readFile(new URL(file, import.meta.url), "utf8");
  return [...text.matchAll(new RegExp("^```" + kind + "\\n(.*?)^```$", "gms"))].map((match) => match[1]!);
}

/** One program of blocks: the imports first, each name once, the rest in a block of its own but for what later ones use. */
function program(all: string[], more: string): string {
  const imports = new Map<string, Set<string>>();
  const bodies = all.map((block) =>
    block.replace(/^import \{ (.*) \} from "(.*)";\n/gm, (_, names: string, from: string) => {
      const known = imports.get(from) ?? new Set();
      names.split(", ").forEach((name) => known.add(name));
      imports.set(from, known);
      return "";
    }),
  );
  const head = [...imports].map(([from, names]) => `import { ${[...names].join(", ")} } from "${from}";`).join("\n");
  return `${head}\n${before}\n${more}\n${bodies.map((body) => `{\n${body}\n}`).join("\n")}\nclient.close();\noperator.close();\n`;
}

/** A block whose client is trusted: what an agent reports is no evidence. */
const shipped = (block: string): string =>
  `const interlock = as("OPERATOR");\n${block}\nconsole.log("shipped", (await interlock.waitRun("", { timeoutMs: 120_000 })).status);`;

test("the documented TypeScript compiles and runs", { timeout: 300_000 }, async () => {
  const page = await blocks("../../../docs/sdk.md");
  const [guarding, proving] = await blocks("../README.md");
  expect(page.length).toBeGreaterThanOrEqual(8);
  const host = await Case.begin(inject("control"), { workflows: [bugfix, shipping], policies: [asks], schemas: { review } });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const guarded = (block: string) => block.replace("async function deploy", "void deploy;\nasync function deploy");
  const source = program(
    ['import { AwaitingApproval, Interlock } from "@interlock/sdk";\n' + guarding, ...page.map(guarded), shipped(proving!)],
    `const client = Interlock.fromEnv();\nawait client.load("bugfix");\nawait as("OPERATOR").load("shipping", { workspace: folder });`,
  );
  await writeFile(join(folder, "page.ts"), source);
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: "../tsconfig.json", compilerOptions: { rootDir: ".", outDir: "out", noUnusedLocals: false, skipLibCheck: true, types: ["node"], typeRoots: ["../node_modules/@types"] }, include: ["*.ts"] }),
  );
  const adapters = await blocks("../../../docs/adapters.md", "ts adapter");
  expect(adapters).toHaveLength(6);
  // They need models; test/adapters has the frameworks at work.
  const around = `import type { Interlock } from "@interlock/sdk";\ndeclare const interlock: Interlock;\ndeclare const prompt: string;\nvoid [interlock, prompt];\n`;
  await Promise.all(adapters.map((block, i) => writeFile(join(folder, `adapter${i}.ts`), around + block + "export {};\n")));
  await run("npx", ["tsc", "-p", folder], { cwd: here }).catch((err: { stdout: string }) => {
    throw new Error(err.stdout + source);
  });
  const { token: ADA } = (await host.person({ name: "ada", groups: ["support"] })) as { token: string };
  const env = { ...process.env, ADA, OPERATOR: host.roles["operator"], APPROVER: host.roles["approver"], INTERLOCK_SERVER: host.server, INTERLOCK_TOKEN: host.token, INTERLOCK_NAMESPACE: host.namespace, INTERLOCK_SESSION: "review-42" };
  const { stdout } = await run(process.execPath, [join(folder, "out", "page.js")], { cwd: here, env });
  expect(stdout).toContain("edited");
  expect(stdout).toContain("[ 'main.go:42' ]");
  expect(stdout).toContain("agent ada [ 'ticket-7' ]");
  expect(stdout).toContain("NARROWED  agent ada [ 'ticket-7' ]");
  expect(stdout).toContain("shipped COMPLETED");
  await host.end();
});
