/** sdk/conformance/sdk.yaml and governance.yaml on this SDK, over the proxy, against `interlock up`. */
import { readFileSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { AwaitingApproval, ConfigurationError, Denied, Fault, Interlock, InterlockError, JsonText, Rejected, ReportError, Result, Unavailable, reason } from "../src/index.js";
import type { Decision, Outcome } from "../src/index.js";
import { govern } from "./governing.js";
import { Case, type Fault as Trouble } from "./host.js";
import { all, differences } from "./matching.js";

interface Expected {
  result?: unknown;
  error?: unknown;
  ran?: number;
  any?: true;
}

interface Step {
  call: string;
  args?: Record<string, any>;
  as?: string;
  role?: string;
  token?: string;
  for?: string;
  namespace?: string;
  recorded?: unknown;
  eventually?: boolean;
  cancel?: string;
  timeout_ms?: number;
  faults?: Trouble[];
  save?: string;
  times?: number;
  together?: Step[];
  expect?: Expected;
}

interface Table {
  fixtures: { workflows: Record<string, unknown>; policies: Record<string, unknown>; schemas: Record<string, unknown> };
  cases: Program[];
}

interface Program {
  name: string;
  category?: string;
  setup: Record<"workflows" | "policies" | "attachable" | "schemas", string[] | undefined>;
  session?: string;
  steps: Step[];
}

// Numbers that a double cannot hold stay exact on their way to the server.
const read = (file: string): Table =>
  parseYaml(readFileSync(new URL(file, import.meta.url), "utf8"), { intAsBigInt: true, merge: true }) as Table;
const tables = ["sdk", "governance"].map((name) => plain(read(`../../conformance/${name}.yaml`)) as Table);
const cases = tables.flatMap(({ fixtures, cases }) => cases.map((one) => ({ ...one, fixtures, title: [one.category, one.name].filter(Boolean).join("/") })));

/** bigint only where it must be. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  return value;
}

/** The names of the table are in snake_case. */
function canonical(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([k, v]) => [k as string, v as unknown]));
  if (Array.isArray(value)) return value.map(canonical);
  if (value === undefined) return null;
  if (value instanceof Date || value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([k, v]) => [
      k.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()),
      ["context", "data", "patch", "value", "parts"].includes(k) ? (v instanceof Map ? canonical(v) : v) : canonical(v),
    ]),
  );
}

/** Calls of the host, whose answers are in the words of the table. */
const hosted = new Set(["human", "person", "record", "traffic", "down", "up", "attempts"]);

class ToolError extends Error {}

function canonicalError(err: unknown): unknown {
  const type =
    err instanceof ToolError ? "ToolError"
    : reason(err) === "CANCELLED" || (err as Error).name === "AbortError" ? "Cancelled"
    : err instanceof Unavailable ? "Unavailable"
    : err instanceof ConfigurationError ? "ConfigurationError"
    : err instanceof Denied ? "Denied"
    : err instanceof AwaitingApproval ? "AwaitingApproval"
    : err instanceof Rejected ? "Rejected"
    : err instanceof ReportError ? "ReportError"
    : err instanceof Fault ? "Fault"
    : `${(err as Error).name}: ${(err as Error).stack}`;
  const members = canonical({ ...(err as object) }) as object;
  return { ...members, type, message: (err as Error).message, reason: reason(err), inherits: err instanceof InterlockError };
}

/** An outcome in the words of the table. */
function outcome(given: Record<string, any> = {}): Outcome {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name.replace(/_(.)/g, (_, c: string) => c.toUpperCase()), value]));
}

class Runner {
  private readonly saved = new Map<string, any>();
  private client: Interlock;
  private ran = 0;

  private settings: { server: string; token: string; session: string; run?: string; human?: string; namespace?: string };

  constructor(
    private readonly host: Case,
    session: string,
  ) {
    this.settings = { server: host.server, token: host.token, session };
    this.client = this.connect();
  }

  private connect(): Interlock {
    return new Interlock({ namespace: this.host.namespace, ...this.settings });
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  async step(step: Step): Promise<string[]> {
    if (step.faults) await this.host.faults(step.faults);
    if (step.together) {
      const before = this.ran;
      const all = (await Promise.all(step.together.map((one) => this.step(one)))).flat();
      return step.expect?.ran === undefined ? all : [...all, ...differences(step.expect.ran, this.ran - before, "/ran")];
    }
    for (let tries = 0; ; tries++) {
      const all = await Promise.all(Array.from({ length: step.times ?? 1 }, () => this.once(step)));
      if (!step.eventually || all.flat().length === 0 || tries === 200) return all.flat();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private async once(step: Step): Promise<string[]> {
    const ran = { count: 0 };
    let result: unknown;
    let error: unknown;
    const args = this.fill(step.args ?? {}) as Record<string, any>;
    try {
      const returned = await this.call(step, args, ran);
      result = hosted.has(step.call) ? returned : canonical(returned);
    } catch (err) {
      error = canonicalError(err);
    }
    if (step.save) this.saved.set(step.save, error ?? result);
    const record = step.recorded !== undefined && error === undefined ? differences(this.fill(step.recorded), await this.recorded(step, result), "/recorded") : [];
    const expected = step.expect ?? (step.recorded === undefined ? { result: {} } : {});
    if (expected.any) return [];
    const found = expected.error === undefined && error !== undefined ? [`threw ${JSON.stringify(error)}`] : record;
    if (expected.error !== undefined) found.push(...differences(this.fill(expected.error), error, "/error"));
    else if (step.expect?.result !== undefined) found.push(...differences(this.fill(expected.result), result, "/result"));
    if (expected.ran !== undefined) found.push(...differences(expected.ran, ran.count, "/ran"));
    return found.map((one) => `${step.call}: ${one}`);
  }

  /** Puts what was saved in the place of "$NAME" and "$NAME.member". */
  private fill(value: unknown): unknown {
    if (typeof value === "string" && value.startsWith("$")) {
      const [name, member] = value.slice(1).split(".");
      if (!this.saved.has(name!)) return value; // such as $return
      const saved = this.saved.get(name!);
      return member === undefined ? saved : saved[member];
    }
    if (Array.isArray(value)) return value.map((one) => this.fill(one));
    if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, this.fill(v)]));
    return value;
  }

  private async call(step: Step, args: Record<string, any>, ran: { count: number }): Promise<unknown> {
    return this.by(step, (client) => this.calls(client, step, args, ran));
  }

  /** Calls with the client that makes a step. */
  private async by<T>(step: Pick<Step, "as" | "role" | "token" | "for" | "namespace">, call: (client: Interlock) => Promise<T>): Promise<T> {
    let client = this.client;
    const other = step.role !== undefined || step.token !== undefined || step.namespace !== undefined;
    if (other) {
      const token = step.role !== undefined ? this.host.roles[step.role]! : ((this.fill(step.token) as string | undefined) ?? this.settings.token);
      client = new Interlock({ ...this.settings, token, namespace: step.namespace?.replace("other", this.host.other) ?? this.host.namespace });
    }
    try {
      const behalf = step.for === undefined ? client : client.forHuman(this.fill(step.for) as string);
      return await call(step.as === undefined ? behalf : behalf.forSession(step.as));
    } finally {
      if (other) await client.close();
    }
  }

  /** The one record of the decision that a step has got, as an operator of the namespace reads it. */
  private async recorded({ as, namespace }: Step, decided: any): Promise<unknown> {
    const operator = { role: "operator", ...(as !== undefined && { as }), ...(namespace !== undefined && { namespace }) };
    return canonical(await this.by(operator, (client) => client.explainDecision(decided.call_id, { runId: decided.run_id })));
  }

  /** A signal that is aborted once the body runs, or once an RPC hangs; undefined for a step that is not cancelled. */
  private cancels(step: Step): { signal: AbortSignal; running: () => void } | undefined {
    if (step.cancel === undefined) return undefined;
    const gone = new AbortController();
    const hangs = async (): Promise<void> => {
      while (!(await this.host.attempts()).some((one) => one.rpc === step.cancel && one.hangs)) await new Promise((resolve) => setTimeout(resolve, 5));
      gone.abort();
    };
    if (step.cancel !== "body") void hangs();
    return { signal: gone.signal, running: () => step.cancel === "body" && setTimeout(() => gone.abort(), 0) };
  }

  private async calls(client: Interlock, step: Step, args: Record<string, any>, ran: { count: number }): Promise<unknown> {
    const cancels = this.cancels(step);
    const options = {
      ...(step.timeout_ms !== undefined && { timeoutMs: step.timeout_ms }),
      ...(args["idempotency_key"] && { idempotencyKey: args["idempotency_key"] as string }),
      ...(cancels && { signal: cancels.signal }),
    };
    const checking = {
      ...options,
      ...Object.fromEntries(
        Object.entries({ folder: "folder", qualified_tool: "qualifiedTool", estimated_cost: "estimatedCostUsd", call_id: "callId", explain: "explain", dry_run: "dryRun" })
          .filter(([name]) => args[name] !== undefined)
          .map(([name, ours]) => [ours, args[name]]),
      ),
    };
    const run = (args["run"] as string | undefined) ?? "";
    const filter = (names: string[]): string => names.filter((name) => args[name]).map((name) => `${name}=${args[name]}`).join(" AND ");
    const id = (args["id"] as string | undefined) ?? "";
    switch (step.call) {
      case "load":
        return client.load(args["workflow"], { ...options, context: args["context"], ...(args["workspace"] && { workspace: args["workspace"] }) });
      case "get":
      case "get_run":
        return client.getRun(args["id"], options);
      case "transition":
        return client.transition(args["event"], args["data"], options);
      case "guard":
        return client.guard(
          args["tool"],
          args["input"],
          async (signal) => {
            ran.count++;
            this.ran++;
            cancels?.running();
            if (step.cancel === "body") await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
            if (args["throws"]) throw new ToolError(args["throws"]);
            return new Result(outcome(args["returns"]));
          },
          checking,
        );
      case "guard_items": {
        const items = client.guardItems(
          args["tool"],
          args["input"],
          () =>
            (async function* (this: Runner) {
              ran.count++;
              this.ran++;
              yield* args["yields"] as unknown[];
              if (args["throws"]) throw new ToolError(args["throws"]);
            }).call(this),
          checking,
        );
        const out: unknown[] = [];
        if (args["take"] === 0) return out;
        for await (const item of items) {
          if (out.push(item) === args["take"]) break;
        }
        return out;
      }
      case "ping":
        return client.ping(options);
      case "list_approvals":
        return all(client.listApprovals(filter(["status"]), options));
      case "approval_stats":
        return client.approvalStats(options);
      case "get_approval":
        return client.getApproval(args["approval"], options);
      case "decide_approval":
        return client.decideApproval(args["approval"], args["approve"] ?? false, { ...options, note: args["note"] ?? "" });
      case "cancel_approval":
        return client.cancelApproval(args["approval"], { ...options, reason: args["reason"] ?? "" });
      case "wait_run":
        return client.waitRun(run, { ...options, ...(args["until"] && { until: (at) => at.state === args["until"].state }) });
      case "list_runs":
        return all(client.listRuns(filter(["workflow", "status"]), { ...options, staleForSeconds: args["stale_for"] ?? 0 }));
      case "pause_run":
        return client.pauseRun(run, { ...options, reason: args["reason"] ?? "" });
      case "resume_run":
        return client.resumeRun(run, options);
      case "cancel_run":
        return client.cancelRun(run, { ...options, reason: args["reason"] ?? "" });
      case "get_run_history":
        return all(client.getRunHistory(run, options));
      case "register_workflow":
        return client.registerWorkflow(args["definition"], options);
      case "register_policy":
        return client.registerPolicy(args["definition"], { ...options, name: args["name"] ?? "" });
      case "register_schema":
        return client.registerSchema(args["name"], args["definition"], options);
      case "list_decisions":
        return all(client.listDecisions(filter(["decision", "tool", "principal"]), options));
      case "explain_decision":
        return client.explainDecision(args["call_id"], { ...options, runId: run });
      case "list_open_calls":
        return client.listOpenCalls(run, options);
      case "settle_call":
        return client.settleCall(args["call_id"], args["outcome"], { ...options, runId: run, note: args["note"] ?? "" });
      case "report_cost":
        return client.reportCost(args["source"], args["costs"], options);
      case "attempts":
        return (await this.host.attempts()).filter((one) => one.rpc === args["rpc"]);
      case "check":
        return client.check(args["tool"], args["input"], checking);
      case "report": {
        const c = args["call"];
        const decision = { ...c, callId: c.call_id, runId: c.run_id } as Decision;
        return client.report({ ...decision, sessionId: c.session_id, dryRun: c.dry_run }, outcome(args["result"]), args["ok"]);
      }
      case "wait_approval":
        return client.waitApproval(args["approval"], options);
      case "create_state":
        return client.createState(args["schema"], args["json"] ? new JsonText(args["json"]) : args["data"], options);
      case "read_state": {
        const state = await client.readState(id, { ...options, pointers: args["pointers"] ?? [] });
        const parts_json = Object.fromEntries([...state.parts].map(([k, v]) => [k, String(v)]));
        return { ...state, parts_size: state.parts.size, parts_json };
      }
      case "patch":
      case "patch_state":
        return client.patchState(id, args["ops"], options);
      case "update":
      case "update_state":
        return this.update(client, id, args, options);
      case "watch":
      case "watch_state": {
        const out = [];
        for await (const change of client.watchState(id, { after: args["after"] })) {
          if (out.push(change) === args["take"]) break;
        }
        return out;
      }
      case "create_session":
        return client.createSession(args, options);
      case "stop":
      case "stop_session":
        return client.stopSession("", { ...options, inPlace: args["in_place"] ?? false, end: args["end"] ?? false, result: args["result"] });
      case "person":
        return this.host.person(args);
      case "human":
        return this.host.human(args as { approve: boolean });
      case "record":
        return this.host.record();
      case "traffic":
        return this.host.traffic();
      case "down":
        return this.host.down();
      case "up":
        return this.host.up();
      case "reconnect":
      case "connect":
        await this.client.close();
        this.settings = { ...this.settings, ...args };
        this.client = this.connect();
        return {};
      default:
        return govern(client, step.call, args);
    }
  }

  private async update(client: Interlock, id: string, args: Record<string, any>, options: { timeoutMs?: number }): Promise<unknown> {
    if (args["throws"]) {
      return client.updateState(id, () => {
        throw new ToolError(args["throws"]);
      }, options);
    }
    if (!args["patching"]) return client.updateState(id, (doc) => void doc[args["increment"]]++, options);
    return client.updateStateText(id, async (text) => {
      await client.patchState(id, args["patching"]); // another session is faster each time
      return text.replace(/"n":\s*\d+/, '"n":1');
    }, options);
  }
}

describe("what every SDK does", () => {
  test("the table is there", () => {
    expect(tables.map((table) => table.cases.length >= 60)).toEqual([true, true]);
  });

  test.concurrent.each(cases)("$title", async ({ setup = {} as never, session, steps, fixtures }) => {
    const host = await Case.begin(inject("control"), {
      workflows: (setup.workflows ?? []).map((name) => fixtures.workflows[name]),
      policies: (setup.policies ?? []).map((name) => fixtures.policies[name]),
      attachable: (setup.attachable ?? []).map((name) => fixtures.policies[name]),
      schemas: Object.fromEntries((setup.schemas ?? []).map((name) => [name, fixtures.schemas[name]])),
    });
    const runner = new Runner(host, session ?? "agent");
    try {
      for (const step of steps) expect(await runner.step(step)).toEqual([]);
    } finally {
      await runner.close();
      await host.end();
    }
  });
});
