/** sdk/conformance/sdk.yaml on this SDK, over the proxy, against `interlock up`. */
import { readFileSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { AwaitingApproval, Denied, Fault, Interlock, InterlockError, JsonText, Rejected, ReportError, Result, Unavailable, reason } from "../src/index.js";
import type { Decision } from "../src/index.js";
import { Case, type Fault as Trouble } from "./host.js";
import { differences } from "./matching.js";

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
  timeout_ms?: number;
  faults?: Trouble[];
  save?: string;
  times?: number;
  together?: Step[];
  expect?: Expected;
}

interface Table {
  fixtures: { workflows: Record<string, unknown>; policies: Record<string, unknown>; schemas: Record<string, unknown> };
  cases: { name: string; setup: Record<"workflows" | "policies" | "schemas", string[] | undefined>; session?: string; steps: Step[] }[];
}

// Numbers that a double cannot hold stay exact on their way to the server.
const read = (file: string): Table =>
  parseYaml(readFileSync(new URL(file, import.meta.url), "utf8"), { intAsBigInt: true, merge: true }) as Table;
const { fixtures, cases } = plain(read("../../conformance/sdk.yaml")) as Table;

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
  if (value instanceof Date || value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([k, v]) => [
      k.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()),
      ["context", "data", "patch", "value", "parts"].includes(k) ? (v instanceof Map ? canonical(v) : v) : canonical(v),
    ]),
  );
}

/** Calls of the host, whose answers are in the words of the table. */
const hosted = new Set(["human", "record", "traffic", "down", "up"]);

class ToolError extends Error {}

function canonicalError(err: unknown): unknown {
  const type =
    err instanceof ToolError ? "ToolError"
    : err instanceof Unavailable ? "Unavailable"
    : err instanceof Denied ? "Denied"
    : err instanceof AwaitingApproval ? "AwaitingApproval"
    : err instanceof Rejected ? "Rejected"
    : err instanceof ReportError ? "ReportError"
    : err instanceof Fault ? "Fault"
    : `${(err as Error).name}: ${(err as Error).stack}`;
  const members = canonical({ ...(err as object) }) as object;
  return { ...members, type, message: (err as Error).message, reason: reason(err), inherits: err instanceof InterlockError };
}

class Runner {
  private readonly saved = new Map<string, any>();
  private client: Interlock;
  private ran = 0;

  constructor(
    private readonly host: Case,
    private readonly session: string,
  ) {
    this.client = this.connect();
  }

  private connect(): Interlock {
    const { server, namespace, token } = this.host;
    return new Interlock({ server, namespace, token, session: this.session });
  }

  close(): void {
    this.client.close();
  }

  async step(step: Step): Promise<string[]> {
    if (step.faults) await this.host.faults(step.faults);
    if (step.together) {
      const before = this.ran;
      const all = (await Promise.all(step.together.map((one) => this.step(one)))).flat();
      return step.expect?.ran === undefined ? all : [...all, ...differences(step.expect.ran, this.ran - before, "/ran")];
    }
    const all = await Promise.all(Array.from({ length: step.times ?? 1 }, () => this.once(step)));
    return all.flat();
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
    const expected = step.expect ?? { result: {} };
    if (expected.any) return [];
    const found = expected.error === undefined && error !== undefined ? [`threw ${JSON.stringify(error)}`] : [];
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
    const client = step.as === undefined ? this.client : this.client.forSession(step.as);
    const options = step.timeout_ms === undefined ? {} : { timeoutMs: step.timeout_ms };
    const ofState = { ...options, ...(args["id"] && { id: args["id"] as string }) };
    switch (step.call) {
      case "load":
        return client.load(args["workflow"], { ...options, context: args["context"], ...(args["workspace"] && { workspace: args["workspace"] }) });
      case "get":
        return client.get(options);
      case "transition":
        return client.transition(args["event"], args["data"], options);
      case "guard":
        return client.guard(
          args["tool"],
          args["input"],
          () => {
            ran.count++;
            this.ran++;
            if (args["throws"]) throw new ToolError(args["throws"]);
            const { output, bytes, files_changed } = args["returns"] ?? {};
            return new Result({ output, bytes, filesChanged: files_changed });
          },
          options,
        );
      case "check":
        return client.check(args["tool"], args["input"], options);
      case "report": {
        const c = args["call"];
        const decision = { ...c, callId: c.call_id, runId: c.run_id } as Decision;
        return { notice: await client.report(decision, args["result"], args["ok"]) };
      }
      case "wait_approval":
        return client.waitApproval(args["approval"], options);
      case "create_state":
        return client.createState(args["schema"], args["json"] ? new JsonText(args["json"]) : args["data"], options);
      case "read_state": {
        const state = await client.readState({ ...ofState, pointers: args["pointers"] ?? [] });
        const parts_json = Object.fromEntries([...state.parts].map(([k, v]) => [k, String(v)]));
        return { ...state, parts_size: state.parts.size, parts_json };
      }
      case "patch":
        return client.patch(args["ops"], ofState);
      case "update":
        return this.update(client, args, ofState);
      case "watch": {
        const out = [];
        for await (const change of client.watch({ after: args["after"], ...(args["id"] && { id: args["id"] }) })) {
          if (out.push(change) === args["take"]) break;
        }
        return out;
      }
      case "create_session":
        return client.createSession(args, options);
      case "stop":
        return client.stop({ ...options, inPlace: args["in_place"] ?? false });
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
        this.client.close();
        this.client = this.connect();
        return {};
      default:
        throw new Error(`no call ${step.call}`);
    }
  }

  private async update(client: Interlock, args: Record<string, any>, options: { timeoutMs?: number; id?: string }): Promise<unknown> {
    if (args["throws"]) {
      return client.update(() => {
        throw new ToolError(args["throws"]);
      }, options);
    }
    if (!args["patching"]) return client.update((doc) => void doc[args["increment"]]++, options);
    return client.updateText(async (text) => {
      await client.patch(args["patching"]); // another session is faster each time
      return text.replace(/"n":\s*\d+/, '"n":1');
    }, options);
  }
}

describe("what every SDK does", () => {
  test("the table is there", () => {
    expect(cases.length).toBeGreaterThan(40);
  });

  test.concurrent.each(cases)("$name", async ({ setup, session, steps }) => {
    const host = await Case.begin(inject("control"), {
      workflows: (setup.workflows ?? []).map((name) => fixtures.workflows[name]),
      policies: (setup.policies ?? []).map((name) => fixtures.policies[name]),
      schemas: Object.fromEntries((setup.schemas ?? []).map((name) => [name, fixtures.schemas[name]])),
    });
    const runner = new Runner(host, session ?? "agent");
    try {
      for (const step of steps) expect(await runner.step(step)).toEqual([]);
    } finally {
      runner.close();
      await host.end();
    }
  });
});
