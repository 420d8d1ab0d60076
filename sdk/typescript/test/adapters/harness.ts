/** Runs sdk/conformance/cases.yaml against a framework: see there for what its words mean. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, inject, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { Interlock } from "../../src/index.js";
import { Case, type Attempt, type Fault } from "../host.js";

/** How a call comes to the tool; see `way` in cases.yaml. */
export type Way = "clone" | "inner" | "later" | "subagent" | "hosted" | "changes" | "answers" | "replaces" | "background" | "generator";

/** More of how a conversation is run. */
export interface Running {
  way?: Way | undefined;
  /** Cancels it. */
  signal?: AbortSignal | undefined;
}

interface Turn {
  text?: string;
  calls?: { id: string; tool?: string; args?: Record<string, string>; delegate?: string }[];
}

interface Step {
  run?: Turn[];
  helper?: Turn[];
  as?: string;
  stream?: boolean;
  way?: Way;
  many?: number;
  hold?: boolean;
  release?: boolean;
  cancel?: "check" | "tool" | "report";
  decide?: "approve" | "reject";
  note?: string;
  restart?: boolean;
  resume?: boolean;
  args?: Record<string, string>;
  move?: string;
  ran?: string[];
  told?: string[];
  never_told?: string[];
  folders?: string[];
  asked?: number;
  counted?: number;
  refused?: boolean;
  paused?: boolean | "any";
  waits?: number;
  reads?: Record<string, string[]>;
  silent_on?: Record<string, string[]>;
  offered?: string[];
  withheld?: string[];
  raises?: boolean;
}

interface Contract {
  tools: Record<string, { args: Record<string, "string">; returns?: string; throws?: string }>;
  workflow: object;
  policy: object;
  reach: Record<string, string>;
  cases: { name: string; what: string; fault?: string; state?: string; languages?: string[]; steps: Step[] }[];
}

const conformance = new URL("../../../conformance/", import.meta.url);
export const contract = parseYaml(readFileSync(new URL("cases.yaml", conformance), "utf8"), { merge: true }) as Contract;
const cases = contract.cases.filter((one) => (one.languages ?? ["typescript"]).includes("typescript"));
type TestCase = (typeof cases)[number];

/** Tools by which frameworks let another agent take part. */
const delegates = new Set(["delegate", "task", "transfer_to_agent", "mcp__world__delegate", "Agent", "Task"]);

/** A tool's name without the prefix that a framework wants. */
const bare = (name: string): string => name.replace(/^mcp__(world|notes)__/, "");

/** Why a framework cannot hold a case, and what to do instead. */
export interface Cannot {
  reason: string;
  instead: string;
}

export interface Call {
  id: string;
  tool: string;
  args: Record<string, string>;
}

/** What the model says, by agent, and what it was shown. */
export class Play {
  readonly reads: Record<string, string> = {};
  offered: string[] | undefined;
  constructor(
    private readonly turns: Record<string, Turn[]> = {},
    private readonly wire: (tool: string) => string = (tool) => tool,
  ) {}

  /** The next turn of an agent: a text, or calls. `delegate` is the tool by which the other agent is called. */
  next(agent = "main"): { text: string; calls: Call[] } {
    const turn = this.turns[agent]?.shift() ?? { text: "end" };
    const calls = (turn.calls ?? []).map((c) =>
      c.delegate ? { id: c.id, tool: "delegate", args: { agent: c.delegate } } : { id: c.id, tool: this.wire(c.tool!), args: c.args! },
    );
    return { text: turn.text ?? "", calls };
  }

  offer(names: string[]): void {
    this.offered ??= names.map(bare);
  }

  saw(callId: string, text: string): void {
    this.reads[callId] = text;
  }
}

/** The names of so many conversations. */
function conversations(many: number): string[] {
  return Array.from({ length: many }, (_, i) => `conversation ${i + 1}`);
}

/** How a conversation stands. */
export interface End {
  paused: boolean;
  raised?: unknown;
}

/** What is around an adapter in one case: tools, sessions, a server behind a proxy. */
export class World {
  readonly sessions = new Map<string, string>();
  readonly folder = mkdtempSync(join(tmpdir(), "interlock-case-"));
  private readonly bodies: string[] = [];
  private readonly log = join(this.folder, "notes.log");
  private readonly agent: Interlock;
  /** Bodies wait for `release` while it is there. */
  private held: { begun: () => void; released: Promise<void> } | undefined;

  constructor(
    readonly host: Case,
    readonly spec: TestCase,
  ) {
    writeFileSync(this.log, "");
    this.agent = new Interlock({ server: host.server, namespace: host.namespace, token: host.token });
  }

  get usesMcp(): boolean {
    return this.spec.name.startsWith("mcp");
  }

  /** A call waits for humans in this case. */
  get asks(): boolean {
    return this.spec.steps.some((step) => step.resume ?? false);
  }

  /** A client for the adapter; it is made anew for each process that is played. */
  client(): Interlock {
    const { server, namespace, token } = this.host;
    const brief = ["down", "silent"].includes(this.spec.fault ?? "") || this.spec.steps.some((step) => step.cancel);
    const client = new Interlock({ server, namespace, token, ...(brief && { timeoutMs: 1000 }) });
    return this.spec.fault === "adapter" ? broken(client) : client;
  }

  /** Sessions with a run in the case's first state; faults begin after them. */
  async prepare(): Promise<void> {
    const names = new Set(this.spec.steps.flatMap((step) => (step.many ? conversations(step.many) : [step.as ?? "main"])));
    for (const name of names) {
      const session = `${this.spec.name}-${name}-${randomUUID().slice(0, 8)}`;
      this.sessions.set(name, session);
      if (this.spec.fault === "no-run") continue;
      const bound = this.agent.forSession(session);
      await bound.load("conformance");
      const state = this.spec.state ?? "reading";
      if (state !== "reading") await bound.transition(contract.reach[state]!);
    }
    const check = (fault: Partial<Fault>): Promise<unknown> => this.host.faults([{ rpc: "CheckToolCall", do: "refuse", times: -1, ...fault }]);
    switch (this.spec.fault) {
      case "down":
        await this.host.down();
        break;
      case "silent":
        await check({ do: "hang_before" });
        break;
      case "internal":
        await check({ do: "internal" });
        break;
      case "unknown-decision":
        await check({ do: "alter", fields: { decision: 77 } });
        break;
      case "empty-answer":
        await check({ do: "empty" });
        break;
      case "other-call":
        await check({ do: "alter", fields: { call_id: "call_00000000000000000000000000" } });
        break;
      case "garbage":
        await check({ do: "garble" });
        break;
      case "answer-lost":
        await check({ do: "reset_after", times: 1 });
        break;
      case "report-refused":
        await this.host.faults([{ rpc: "ReportToolCall", do: "internal", times: -1 }]);
        break;
      case undefined:
      case "adapter":
      case "no-run":
        break;
      default:
        throw new Error(`no fault ${this.spec.fault!}`);
    }
  }

  /** Has bodies wait. `begun` is when one has. */
  hold(): { begun: Promise<void>; release: () => void } {
    let begun = (): void => undefined;
    let released = (): void => undefined;
    const began = new Promise<void>((resolve) => (begun = resolve));
    this.held = { begun, released: new Promise<void>((resolve) => (released = resolve)) };
    return {
      begun: began,
      release: () => {
        this.held = undefined;
        released();
      },
    };
  }

  session(conversation: string): string {
    return this.sessions.get(conversation)!;
  }

  async move(conversation: string, event: string): Promise<void> {
    await this.agent.forSession(this.session(conversation)).transition(event);
  }

  ran(): string[] {
    return [...this.bodies, ...readFileSync(this.log, "utf8").split("\n").filter(Boolean)];
  }

  /** The tools: name, names of the arguments, and the body. */
  tools(): { name: string; args: string[]; run: (args: Record<string, string>) => Promise<string> }[] {
    return Object.entries(contract.tools).map(([name, { args, returns, throws }]) => ({
      name,
      args: Object.keys(args),
      run: async (given) => {
        this.bodies.push(name);
        if (this.held) {
          this.held.begun();
          await this.held.released;
        }
        const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, arg: string) => given[arg]!);
        if (throws) throw new Error(fill(throws));
        return name === "long" ? "x".repeat(95) : fill(returns!);
      },
    }));
  }

  /** The command, arguments and environment of the MCP server `notes`. */
  mcp(): { command: string; args: string[]; env: Record<string, string> } {
    const env = Object.fromEntries(Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined));
    return { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))], env: { ...env, NOTES_LOG: this.log } };
  }

  /** The same of the tools of `tools()`, for frameworks that must find them in another process. */
  stdio(): { command: string; args: string[]; env: Record<string, string> } {
    const { command, env } = this.mcp();
    return {
      command,
      args: [fileURLToPath(new URL("world-server.mjs", import.meta.url))],
      env: { ...env, TOOLS: JSON.stringify(contract.tools) },
    };
  }

  async close(): Promise<void> {
    this.agent.close();
    await this.host.end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A client whose own code fails. */
function broken(client: Interlock): Interlock {
  const fail = (): never => {
    throw new RangeError("the adapter broke");
  };
  client.check = fail;
  client.forSession = () => broken(Object.create(client) as Interlock);
  return client;
}

/** One framework under test, in one case. */
export interface Driver {
  /** Makes the adapter and the framework's objects. What the framework stores is kept from before. */
  open(): Promise<void>;
  /** Begins or continues a conversation with a message of the user. */
  run(play: Play, conversation: string, stream: boolean, how: Running): Promise<End>;
  /** Continues what paused. */
  resume(play: Play, conversation: string, args: Record<string, string> | undefined): Promise<End>;
  /** Ends what `open` has begun. */
  close(): Promise<void>;
}

export interface Framework {
  /** Name of the results' file, and of the module of the adapter. */
  framework: string;
  /** The package that is pinned. */
  package: string;
  cannot?: Record<string, Cannot>;
  /** The driver knows the ways of `way`, and cancels. */
  ways?: boolean;
  /** The name that the framework has for a tool. */
  wire?: (tool: string) => string;
  driver(world: World): Driver;
}

/** Cases that a driver cannot try yet. */
const untried = Object.fromEntries(
  cases
    .filter(({ steps }) => steps.some((step) => step.way ?? step.many ?? step.hold ?? step.cancel ?? step.folders))
    .map(({ name }): [string, Cannot] => [name, { reason: "The tests of this adapter try it in a way of their own.", instead: "See them." }]),
);

/** Declares the tests of a framework, and writes its results. */
export function conform(framework: Framework): void {
  const held: Record<string, boolean> = {};
  const cannot = { ...(!framework.ways && untried), ...framework.cannot };
  describe(framework.framework, () => {
    test("names only cases that there are", () => {
      const names = cases.map((one) => one.name);
      expect(Object.keys(cannot).filter((name) => !names.includes(name))).toEqual([]);
    });
    for (const spec of cases) {
      if (spec.name in cannot) continue;
      test.concurrent(`${spec.name}: ${spec.what}`, async () => {
        held[spec.name] = false;
        // Without a run, a policy of the role would judge alone.
        const policies = spec.fault === "no-run" ? [] : [{ role: "agent", meta: { tools: ["deploy"] }, ...contract.policy }];
        const host = await Case.begin(inject("control"), { workflows: [contract.workflow], policies });
        const world = new World(host, spec);
        try {
          await world.prepare();
          await check(framework, framework.driver(world), world);
          held[spec.name] = true;
        } finally {
          await world.close();
        }
      });
    }
    afterAll(() => {
      const results = Object.fromEntries(
        cases.map(({ name }) => [name, name in cannot ? { holds: false, ...cannot[name] } : { holds: held[name] ?? false }]),
      );
      // A run of some tests only says nothing about the others.
      if (cases.some(({ name }) => !(name in cannot) && !(name in held))) return;
      const { version } = JSON.parse(readFileSync(new URL(`../../node_modules/${framework.package}/package.json`, import.meta.url), "utf8")) as { version: string };
      const text = JSON.stringify({ framework: framework.framework, version, language: "typescript", cases: results }, null, 2) + "\n";
      const file = new URL(`results/typescript-${framework.framework}.json`, conformance);
      if (process.env["UPDATE_RESULTS"]) writeFileSync(file, text);
      else if (Object.values(held).every(Boolean)) expect(readFileSync(file, "utf8"), "stale: run the tests with UPDATE_RESULTS=1").toBe(text);
    });
  });
}

async function check(framework: Framework, driver: Driver, world: World): Promise<void> {
  let play = new Play();
  let conversation = "main";
  let left: { end: Promise<End>; play: Play; conversation: string; release: () => void } | undefined;
  await driver.open();
  try {
    for (const [number, step] of world.spec.steps.entries()) {
      const where = `step ${number + 1}`;
      let end: End = { paused: false };
      if (step.many) {
        end = await many(framework, driver, world, step);
      } else if (step.run) {
        conversation = step.as ?? "main";
        play = playOf(framework, step);
        const how: Running = { way: step.way };
        if (step.hold) {
          const { begun, release } = world.hold();
          const running = driver.run(play, conversation, step.stream ?? false, how);
          left = { end: running, play, conversation, release };
          await Promise.race([begun, running.then(() => Promise.reject(new Error(`${where}: ended before a body began`)))]);
        } else if (step.cancel) {
          end = await cancelled(step.cancel, driver, world, play, conversation, how);
        } else if (step.refused || step.raises) {
          end = await driver.run(play, conversation, step.stream ?? false, how).catch((raised: unknown) => ({ paused: false, raised }));
        } else end = await driver.run(play, conversation, step.stream ?? false, how);
      } else if (step.release) {
        ({ play, conversation } = left!);
        left!.release();
        end = await left!.end;
        left = undefined;
      } else if (step.decide) {
        await world.host.human({ approve: step.decide === "approve", note: step.note ?? "" });
        continue;
      } else if (step.restart) {
        await driver.close();
        await driver.open();
        continue;
      } else if (step.resume) {
        end = await driver.resume(play, conversation, step.args);
      } else if (step.move) {
        await world.move(step.as ?? "main", step.move);
        continue;
      }
      if (step.refused) expect(String(end.raised), `${where}: refused`).toMatch(/Interlock cannot judge/);
      else if (end.raised !== undefined && !step.raises && !step.cancel) throw new Error(`${where}: the framework has thrown`, { cause: end.raised });
      await expectStep(where, world, play, end, step, conversation);
    }
  } finally {
    left?.release();
    await left?.end.catch(() => undefined);
    await driver.close();
  }
}

/** Copies: a play is played once. */
function playOf(framework: Framework, step: Step): Play {
  return new Play({ main: [...step.run!], helper: [...(step.helper ?? [])] }, framework.wire);
}

/** Runs many conversations at once; the runs of every second one are moved before. */
async function many(framework: Framework, driver: Driver, world: World, step: Step): Promise<End> {
  const names = conversations(step.many!);
  await Promise.all(names.filter((_, i) => i % 2 === 1).map((name) => world.move(name, "READY")));
  const ends = await Promise.all(names.map((name) => driver.run(playOf(framework, step), name, false, {})));
  return ends.find((end) => end.raised !== undefined) ?? { paused: false };
}

/** Runs a conversation and cancels it at a place where the adapter waits. */
async function cancelled(at: "check" | "tool" | "report", driver: Driver, world: World, play: Play, conversation: string, how: Running): Promise<End> {
  const controller = new AbortController();
  const rpc = { check: "CheckToolCall", report: "ReportToolCall", tool: undefined }[at];
  if (rpc) await world.host.faults([{ rpc, do: "hang_after", times: 1 }]);
  const held = at === "tool" ? world.hold() : undefined;
  const running = driver.run(play, conversation, false, { ...how, signal: controller.signal }).catch((raised: unknown) => ({ paused: false, raised }));
  if (held) await held.begun;
  else await seen(world, rpc!);
  controller.abort();
  const end = await running.finally(() => held?.release());
  await seen(world, "ReportToolCall");
  await driver.close();
  return end;
}

/** Waits until a request has come to the server. */
async function seen(world: World, rpc: string): Promise<void> {
  while (!(await world.host.attempts()).some((one) => one.rpc === rpc)) await new Promise((resolve) => setImmediate(resolve));
}

async function expectStep(where: string, world: World, play: Play, end: End, step: Step, conversation: string): Promise<void> {
  const sorted = (list: string[]): string[] => [...list].sort();
  if (end.raised === undefined && step.paused !== "any") expect(end.paused, `${where}: paused`).toBe(step.paused ?? false);
  if (step.ran) expect(sorted(world.ran()), `${where}: ran; the model read ${JSON.stringify(play.reads)}`).toEqual(sorted(step.ran));
  const attempts = await world.host.attempts();
  const byCall = new Map(attempts.filter((a) => a.rpc === "ReportToolCall" && !delegates.has(a.tool ?? "")).map((a) => [a.key, a]));
  if (step.told) {
    const told = [...byCall.values()].map((a) => `${bare(a.tool ?? "")} ${outcomeOf(a)}`);
    expect(sorted(told), `${where}: told`).toEqual(sorted(step.told));
    // A report whose answer was lost is sent again.
    if (!step.cancel) expect(attempts.filter((a) => a.rpc === "ReportToolCall" && !delegates.has(a.tool ?? "")).length, `${where}: reported once`).toBe(byCall.size);
  }
  for (const never of step.never_told ?? []) {
    expect(attempts.filter((a) => a.rpc === "ReportToolCall").map((a) => `${bare(a.tool ?? "")} ${outcomeOf(a)}`), `${where}: never told`).not.toContain(never);
  }
  if (step.folders) {
    const folders = new Set(attempts.filter((a) => a.rpc === "CheckToolCall").map((a) => String(a.request?.["folder"] ?? "")));
    expect([...folders], `${where}: folders`).toEqual(step.folders.map(() => world.folder));
  }
  if (step.asked !== undefined) {
    const asked = new Set(attempts.filter((a) => a.rpc === "CheckToolCall" && !delegates.has(a.tool ?? "")).map((a) => a.key));
    expect(asked.size, `${where}: asked`).toBe(step.asked);
  }
  const record = (await world.host.record()) as { runs: { session: string; iterations: number }[]; pending: string[] };
  if (step.counted !== undefined) {
    expect(record.runs.find((run) => run.session === world.session(conversation))?.iterations, `${where}: counted`).toBe(step.counted);
  }
  if (step.waits !== undefined) expect(record.pending.length, `${where}: waits`).toBe(step.waits);
  if (end.raised === undefined) {
    for (const [call, texts] of Object.entries(step.reads ?? {})) {
      for (const text of texts) expect(play.reads[call] ?? "", `${where}: the model reads of ${call}`).toContain(text);
    }
  }
  for (const [call, texts] of Object.entries(step.silent_on ?? {})) {
    for (const text of texts) expect(play.reads[call] ?? "", `${where}: the model reads of ${call}`).not.toContain(text);
  }
  if (step.offered) {
    const offered = play.offered ?? [];
    expect(offered, `${where}: offered`).toEqual(expect.arrayContaining(step.offered));
    expect(offered.filter((name) => (step.withheld ?? []).includes(name)), `${where}: withheld`).toEqual([]);
  }
}

function outcomeOf(report: Attempt): string {
  if (report.request?.["background"]) return "background";
  return report.request?.["outcome_unknown"] ? "unknown" : report.ok ? "ok" : "failed";
}
