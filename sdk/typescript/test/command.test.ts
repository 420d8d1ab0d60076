/** Commands in jails: what is asked, and what is to be executed. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AwaitingApproval, Denied, Interlock, commandLine } from "../src/index.js";
import { levelOf } from "../src/command.js";
import { Fake } from "../src/testing.js";

describe("guardCommand", () => {
  test("judges a line as the shell's, and runs it in the jail that client and server have", async () => {
    const fake = new Fake().allow("Bash").allow("shell");
    const jailed = await fake.client({ jail: { level: 3 } }).guardCommand(["echo", "a b"], { folder: "/w" });
    const id = jailed.decision.callId;
    expect(jailed.argv).toEqual(["interlock", "jail", "--run", "run_fake", "--call", id, "--", "echo 'a b'"]);
    expect(jailed.jail).toEqual({ level: 3, digest: "sha256:of-the-fake" });
    const named = await fake.client({ jail: { level: 1, program: "/opt/interlock" } }).guardCommand("true", { tool: "shell" });
    expect([named.argv[0], named.jail?.level]).toEqual(["/opt/interlock", 1]);
    const plain = await fake.client().guardCommand("echo 'a b'");
    expect([plain.argv, plain.jail]).toEqual([["/bin/bash", "--noprofile", "--norc", "-c", "echo 'a b'"], undefined]);
    fake.noJail();
    expect((await fake.client({ jail: { level: 3 } }).guardCommand("true")).argv[0]).toBe("/bin/bash");
    expect(fake.calls.map(({ tool, input, folder, jailLevel }) => [tool, input, folder, jailLevel])).toEqual([
      ["Bash", { command: "echo 'a b'" }, "/w", 3], ["shell", { command: "true" }, "", 1], ["Bash", { command: "echo 'a b'" }, "", 0],
      ["Bash", { command: "true" }, "", 3],
    ]);
  });

  test("refuses what is denied, and what has no jail where one is required", async () => {
    const fake = new Fake();
    const client = fake.client({ jail: { level: 3 } });
    await expect(client.guardCommand("true")).rejects.toBeInstanceOf(Denied);
    fake.ask("Bash");
    await expect(client.guardCommand("true")).rejects.toBeInstanceOf(AwaitingApproval);
    fake.allow("Bash");
    const before = fake.calls.length;
    await expect(fake.client().guardCommand("true", { required: true })).rejects.toMatchObject({ code: "JAIL_REQUIRED" });
    expect(fake.calls.length).toBe(before);
    fake.noJail();
    await expect(client.guardCommand("true", { required: true })).rejects.toMatchObject({ code: "JAIL_REQUIRED" });
    await client.close();
    expect(fake.reports.map(({ notExecuted }) => notExecuted)).toEqual([true]);
  });

  test("a program that says nothing of a jail is none", async () => {
    for (const [text, level] of [['{"level": 3}', 3], ['{"level": 2, "missing": "x"}', 2], ['{"level": 9}', 3], ['{"level": "3"}', 0], ["no", 0], ["", 0]] as const) {
      expect(levelOf(text)).toBe(level);
    }
    const fake = new Fake().allow("Bash");
    for (const program of ["/no/such/program", "/bin/echo", "/bin/false"]) {
      expect((await fake.client({ jail: { program } }).guardCommand("true")).jail).toBeUndefined();
    }
  });

  test("a shell reads the words that were given", () => {
    const words = ["", "a b", "it's", "$HOME", "`x`", "a\nb", "*", "~", "-n", "\\", "ä", "a;b", "#x", "=", "!x", '"', "{a,b}"];
    const out = execFileSync("/bin/sh", ["-c", "printf '%s\\0' " + commandLine(words)]).toString();
    expect(out.split("\0").slice(0, -1)).toEqual(words);
  });
});

const program = join(process.env["INTERLOCK_BIN"] ?? fileURLToPath(new URL("../../../bin", import.meta.url)), "interlock");
const jailed = spawnSync(program, ["jail", "probe", "--json"], { encoding: "utf8" });

test.skipIf(levelOf(jailed.stdout ?? "") < 3)("a command runs once, in its jail", { timeout: 240_000 }, async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "interlock-command-")));
  const [data, work] = [join(folder, "data"), join(folder, "work")];
  mkdirSync(work);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("INTERLOCK_")));
  const server = spawn(program, ["up", "--presence=none", "--data-dir", data, "--http=127.0.0.1:0", "--grpc=127.0.0.1:0", "--nats=127.0.0.1:0"], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });
  let said = "";
  server.stdout.on("data", (text) => (said += text));
  await vi.waitFor(() => expect(said).toContain("Interlock is up"), { timeout: 120_000 });
  const { grpc } = JSON.parse(readFileSync(join(data, "endpoints.json"), "utf8")) as { grpc: string };
  const tokens = JSON.parse(readFileSync(join(data, "local.json"), "utf8")) as Record<string, string>;
  const operator = new Interlock({ server: grpc, token: tokens["operator"]!, session: "commanding" });
  await operator.registerWorkflow({
    id: "commanding", initial: "reading",
    states: { reading: { allowed_tools: ["Bash"], on: { DONE: "done" } }, done: { type: "final" } },
  });
  await operator.load("commanding", { workspace: work });
  await operator.close();
  const client = new Interlock({ server: grpc, token: tokens["agent"]!, session: "commanding", jail: { program } });
  const { argv, decision } = await client.guardCommand("echo x | python3 -c 'open(\"made\", \"w\")'; ls", { folder: work, required: true });
  const run = () => spawnSync(argv[0], argv.slice(1), { cwd: work, env: { ...env, INTERLOCK_DATA: data }, encoding: "utf8" });
  const ran = run();
  expect([ran.status, ran.stdout, readdirSync(work)]).toEqual([0, "made\n", []]);
  expect((await client.report(decision, { output: ran.stdout })).accounted).toBe(true);
  expect(run()).toMatchObject({ status: 126, stderr: expect.stringContaining("was not run") });
  await client.close();
});
