/** The package as users get it: packed, installed into an empty project, imported on Node 20 and 22. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const here = fileURLToPath(new URL("..", import.meta.url));

test("npm pack, npm install, import", { timeout: 300_000 }, async () => {
  const project = await mkdtemp(join(tmpdir(), "interlock-sdk-"));
  try {
    const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], { cwd: here });
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    const outside = packed.files.map((f) => f.path).filter((path) => !/^(dist\/.*\.(js|d\.ts)|LICENSE|README\.md|package\.json)$/.test(path));
    expect(outside).toEqual([]);
    await writeFile(join(project, "package.json"), '{"type":"module"}');
    await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", join(project, packed.filename)], { cwd: project });
    const manifest = JSON.parse(await readFile(join(here, "package.json"), "utf8")) as { dependencies: object };
    const installed = JSON.parse(await readFile(join(project, "package-lock.json"), "utf8")) as { packages: object };
    // The transport, and nothing else.
    expect(Object.keys(installed.packages).filter((path) => path !== "" && !path.includes("@interlock")).sort()).toEqual(
      Object.keys(manifest.dependencies).map((name) => "node_modules/" + name).sort(),
    );
    await writeFile(
      join(project, "use.mjs"),
      `import { Interlock, Unavailable } from "@interlock/sdk";
       import { RunService } from "@interlock/sdk/gen/interlock/engine/v1/run_service_pb.js";
       const client = new Interlock({ server: "127.0.0.1:1", session: "s", timeoutMs: 200 });
       let ran = false;
       const err = await client.guard("Read", {}, () => { ran = true; }).catch((e) => e);
       client.close();
       console.log(process.versions.node.split(".")[0], err instanceof Unavailable, ran, RunService.typeName);`,
    );
    for (const node of [process.execPath, join(here, "node_modules/node/bin/node"), process.env["npm_node_execpath"] ?? "node"]) {
      const { stdout: version } = await run(node, ["--version"]);
      const { stdout: said } = await run(node, ["use.mjs"], { cwd: project });
      expect(said.trim()).toBe(`${version.slice(1).split(".")[0]!} true false interlock.engine.v1.RunService`);
    }
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});
