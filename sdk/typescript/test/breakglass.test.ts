/** Calls while no connection can be made: docs/breakglass.md. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRouterTransport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Denied, Interlock, Unavailable, type Options } from "../src/index.js";
import { Decision, DecisionCode } from "../src/gen/interlock/policy/v1/decision_pb.js";
import { PolicyEnforcerService } from "../src/gen/interlock/policy/v1/policy_enforcer_service_pb.js";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
const kid = createHash("sha256").update(raw).digest("hex");
const encode = (value: unknown): string => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

let folder: string;
let away: string;
let closing: Server;
let serial = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "interlock-glass-"));
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  away = `127.0.0.1:${(gone.address() as AddressInfo).port}`;
  await new Promise((resolve) => gone.close(resolve));
  closing = createServer((socket: Socket) => socket.destroy());
  await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  closing.close();
  await rm(folder, { recursive: true });
});

interface Change {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  /** Replaces the text of the claims, before it is signed. */
  text?: (claims: string) => string;
  /** Replaces the signed token. */
  token?: (token: string) => string;
  mode?: number;
}

/** Writes a grant for the tool Bash, and its key. */
async function granted({ claims = {}, header = {}, text = (all) => all, token = (all) => all, mode = 0o600 }: Change = {}): Promise<string> {
  const file = join(folder, `g${serial++}.jws`);
  const now = Math.floor(Date.now() / 1000);
  const all = { jti: "bg_1", iss: "interlock", aud: "default", sub: "agent", tools: ["Bash", "mcp__k8s__*"], iat: now, exp: now + 3600, reason: "on call", by: "olga", ...claims };
  const signed = `${encode({ alg: "EdDSA", typ: "interlock-breakglass+jwt", kid, ...header })}.${encode(text(JSON.stringify(all)))}`;
  await writeFile(file, token(`${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`) + "\n", { mode: 0o600 });
  await chmod(file, mode);
  await writeFile(file + ".pub", publicKey.export({ type: "spki", format: "pem" }), { mode: 0o600 });
  return file;
}

interface Line {
  prev: string;
  hash: string;
  entry: string;
}
const lines = async (grant: string): Promise<Line[]> => (await readFile(grant + ".spool", "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line) as Line);

function client(grant: string, more: Options = {}): Interlock {
  return new Interlock({ server: away, session: "ops", timeoutMs: 200, breakGlass: { grant, principal: "agent" }, ...more });
}

async function guard(of: Interlock, tool = "Bash", input: unknown = { command: "ls" }): Promise<boolean> {
  let ran = false;
  try {
    await of.guard(tool, input, () => void (ran = true));
  } catch (err) {
    if (!(err instanceof Denied)) throw err;
  }
  await of.close();
  return ran;
}

describe("a call without contact", () => {
  test("is written down, then made", async () => {
    const grant = await granted();
    const of = client(grant);
    let before: Line[] = [];
    const { report } = await of.guard("Bash", { command: "ls", n: 1 }, async () => void (before = await lines(grant)));
    expect(report?.accounted).toBe(false);
    await of.guard("get", {}, () => 0, { qualifiedTool: "mcp__k8s__get" });
    await of.close();
    expect(before).toHaveLength(1);
    const [first, second] = await lines(grant);
    const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
    expect(first!.prev).toBe(hash("bg_1"));
    expect(first!.hash).toBe(hash(first!.prev + "\n" + first!.entry));
    expect(second!.prev).toBe(first!.hash);
    const entries = [first!, second!].map((line) => JSON.parse(line.entry) as Record<string, unknown>);
    expect(entries[0]).toMatchObject({ grant: "bg_1", seq: 1, kind: "use", tool: "Bash", input: { command: "ls", n: 1 }, session: "ops", client: "typescript" });
    expect(entries[1]).toMatchObject({ seq: 2, tool: "mcp__k8s__get", spool: entries[0]!["spool"] });
  });

  test.each<[string, Change, Options, string?, unknown?]>([
    ["of another tool", {}, {}, "Edit"],
    ["of another case of letters", {}, {}, "bash"],
    ["of another command", { claims: { commands: ["ls"] } }, {}, "Bash", { command: "ls -a" }],
    ["with a command twice", { claims: { commands: ["ls"] } }, {}, "Bash", Buffer.from('{"command":"rm","command":"ls"}')],
    ["with an input that is no JSON", {}, {}, "Bash", Buffer.from('1,"kind":"refused"')],
    ["of another principal", { claims: { sub: "root" } }, {}],
    ["of another namespace", {}, { namespace: "other" }],
    ["with a grant that has ended", { claims: { iat: 1, exp: 2 } }, {}],
    ["with a grant that begins later", { claims: { iat: Date.now(), exp: Date.now() + 10 } }, {}],
    ["with a grant of two days", { claims: { exp: Math.floor(Date.now() / 1000) + 200_000 } }, {}],
    ["with a grant of all tools", { claims: { tools: ["*"] } }, {}],
    ["with a grant of another issuer", { claims: { iss: "me" } }, {}],
    ["with a grant that has more claims", { claims: { admin: "yes" } }, {}],
    ["with a claim twice", { text: (all) => all.replace('"sub":"agent"', '"sub":"root","sub":"agent"') }, {}],
    ["with another algorithm", { header: { alg: "none" } }, {}],
    ["with another header", { header: { crit: ["x"] } }, {}],
    ["with another key", { header: { kid: "0".repeat(64) } }, {}],
    ["with a grant that was changed", { token: (all) => all.replace(/\.(.)/, (_, c: string) => (c === "e" ? ".f" : ".e")) }, {}],
    ["with another signature", { token: (all) => all.replace(/\.(.)(?=[^.]*$)/, (_, c: string) => (c === "A" ? ".B" : ".A")) }, {}],
    ["with no signature", { token: (all) => all.replace(/\.[^.]*$/, ".") }, {}],
    ["with a grant that others can write", { mode: 0o666 }, {}],
    ["without a grant", {}, { breakGlass: undefined }],
    ["that was begun by a connection", {}, { server: "closing" }],
    ["by TLS that fails", {}, { server: "closing", tls: {} }],
  ])("%s is not made", async (_, change, options, tool, input) => {
    const grant = await granted(change);
    const server = options.server === "closing" ? `127.0.0.1:${(closing.address() as AddressInfo).port}` : away;
    expect(await guard(client(grant, { ...options, server }), tool, input)).toBe(false);
    await expect(readFile(grant + ".spool")).rejects.toThrow("ENOENT");
  });

  test("of a command that the grant names is made", async () => {
    expect(await guard(client(await granted({ claims: { commands: ["ls"] } })))).toBe(true);
  });

  test("of a dry run is not made", async () => {
    const of = client(await granted());
    await expect(of.check("Bash", {}, { dryRun: true })).rejects.toBeInstanceOf(Unavailable);
    await of.close();
  });

  test("is not made when its spool is held, altered, or cut", async () => {
    const grant = await granted();
    expect(await guard(client(grant))).toBe(true);
    expect(await guard(client(grant))).toBe(true);
    const whole = await readFile(grant + ".spool", "utf8");
    for (const altered of [whole.replace("ls", "rm"), whole.trimEnd(), whole.slice(whole.indexOf("\n") + 1)]) {
      await writeFile(grant + ".spool", altered);
      expect(await guard(client(grant))).toBe(false);
    }
    await writeFile(grant + ".spool", whole);
    await writeFile(grant + ".spool.lock", "");
    expect(await guard(client(grant))).toBe(false);
    await rm(grant + ".spool.lock");
    expect(await guard(client(grant))).toBe(true);
    expect(await lines(grant)).toHaveLength(3);
  });
});

test("an answer is contact, and what it refuses does not pass later", async () => {
  const grant = await granted();
  const transport = createRouterTransport(({ service }) => {
    service(PolicyEnforcerService, { checkToolCall: () => ({ decision: Decision.DENY, code: DecisionCode.POLICY_DENIED, message: "no" }) });
  });
  expect(await guard(client(grant, { transport }))).toBe(false);
  expect(await guard(client(grant, { transport }))).toBe(false);
  expect((await lines(grant)).map((line) => (JSON.parse(line.entry) as { kind: string }).kind)).toEqual(["refused"]);
  expect(await guard(client(grant))).toBe(false);
  expect(await guard(client(grant), "mcp__k8s__get", {})).toBe(true);
});

test("settings of the environment", async () => {
  const grant = await granted();
  const env = { INTERLOCK_SERVER: away, INTERLOCK_SESSION: "ops", INTERLOCK_BREAKGLASS: grant, INTERLOCK_PRINCIPAL: "agent" };
  expect(await guard(Interlock.fromEnv({ timeoutMs: 200 }, env))).toBe(true);
});
