// Plays a scenario by `interlock test`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function playScenario(text, files) {
  const folder = mkdtempSync(join(tmpdir(), "interlock-scenario-"));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
    writeFileSync(join(folder, "run.test.yaml"), text);
    return execFileSync(process.env.INTERLOCK, ["test", join(folder, "run.test.yaml")], { encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
