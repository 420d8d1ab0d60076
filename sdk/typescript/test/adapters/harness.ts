/** Runs sdk/conformance/cases.yaml against a framework: see there for what its words mean. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, inject, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { Interlock } from "../../src/index.js";
import { Case, type Fault } from "../host.js";

interface Turn {
  text?: string;
  calls?: { id: string; tool?: string; args?: Record<string, string>; delegate?: string }[];
}

interface Step {
  run?: Turn[];
  helper?: Turn[];
  as?: string;
  stream?: boolean;
  decide?: "approve" | "reject";
  note?: string;
  restart?: boolean;
  resume?: boolean;
  args?: Record<string, string>;
  move?: string;
  ran?: string[];
  told?: string[];
  asked?: number;
  counted?: number;
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
const delegates = new Set(["delegate", "mcp__world__delegate", "Agent", "Task"]);

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
    const brief = ["down", "silent"].includes(this.spec.fault ?? "");
    const client = new Interlock({ server, namespace, token, ...(brief && { timeoutMs: 1000 }) });
    return this.spec.fault === "adapter" ? broken(client) : client;
  }

  /** Sessions with a run in the case's first state; faults begin after them. */
  async prepare(): Promise<void> {
    const names = new Set(this.spec.steps.map((step) => step.as ?? "main"));
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
  run(play: Play, conversation: string, stream: boolean): Promise<End>;
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
  /** The name that the framework has for a tool. */
  wire?: (tool: string) => string;
  driver(world: World): Driver;
}

/** Declares the tests of a framework, and writes its results. */
export function conform(framework: Framework): void {
  const held: Record<string, boolean> = {};
  const cannot = framework.cannot ?? {};
  describe(framework.framework, () => {
    test("names only cases that there are", () => {
      const names = cases.map((one) => one.name);
      expect(Object.keys(cannot).filter((name) => !names.includes(name))).toEqual([]);
    });
    for (const spec of cases) {
      if (spec.name in cannot) continue;
      test.concurrent(`${spec.name}: ${spec.what}`, async () => {
        held[spec.name] = false;
        const host = await Case.begin(inject("control"), { workflows: [contract.workflow], policies: [{ role: "agent", meta: { tools: ["deploy"] }, ...contract.policy }] });
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
  await driver.open();
  try {
    for (const [number, step] of world.spec.steps.entries()) {
      const where = `step ${number + 1}`;
      let end: End = { paused: false };
      if (step.run) {
        conversation = step.as ?? "main";
        // Copies: a play is played once.
        play = new Play({ main: [...step.run], helper: [...(step.helper ?? [])] }, framework.wire);
        end = await driver.run(play, conversation, step.stream ?? false);
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
      if (end.raised !== undefined && !step.raises) throw new Error(`${where}: the framework has thrown`, { cause: end.raised });
      await expectStep(where, world, play, end, step, conversation);
    }
  } finally {
    await driver.close();
  }
}

async function expectStep(where: string, world: World, play: Play, end: End, step: Step, conversation: string): Promise<void> {
  const sorted = (list: string[]): string[] => [...list].sort();
  if (end.raised === undefined && step.paused !== "any") expect(end.paused, `${where}: paused`).toBe(step.paused ?? false);
  if (step.ran) expect(sorted(world.ran()), `${where}: ran; the model read ${JSON.stringify(play.reads)}`).toEqual(sorted(step.ran));
  const attempts = await world.host.attempts();
  const byCall = new Map(attempts.filter((a) => a.rpc === "ReportToolCall" && !delegates.has(a.tool ?? "")).map((a) => [a.key, a]));
  if (step.told) {
    const told = [...byCall.values()].map((a) => `${bare(a.tool ?? "")} ${a.ok ? "ok" : "failed"}`);
    expect(sorted(told), `${where}: told`).toEqual(sorted(step.told));
    expect(attempts.filter((a) => a.rpc === "ReportToolCall" && !delegates.has(a.tool ?? "")).length, `${where}: reported once`).toBe(byCall.size);
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
