/**
 * A stand-in for Interlock in tests of your own program, with vitest, node:test or any other runner.
 *
 * ```ts
 * const fake = new Fake();
 * fake.allow("Edit");
 * await fake.client().guard("Edit", { file_path: "main.go" }, () => "edited");
 * assert.deepEqual(fake.calls.map((call) => call.tool), ["Edit"]);
 * ```
 *
 * The client above it is the real one: it refuses, repeats and reports as in production. The fake decides by the rules of the test
 * alone, and denies every other call. It has one run for every session, which accepts every event.
 *
 * @packageDocumentation
 */
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary, type DescMessage, type Message } from "@bufbuild/protobuf";
import { BytesValueSchema, DurationSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createRouterTransport, type ConnectRouter, type Transport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ApprovalKind, ApprovalStatus } from "./gen/interlock/approval/v1/approval_pb.js";
import { ApprovalService } from "./gen/interlock/approval/v1/approval_service_pb.js";
import { RunStatus } from "./gen/interlock/engine/v1/run_pb.js";
import { RunService } from "./gen/interlock/engine/v1/run_service_pb.js";
import { WorkflowService } from "./gen/interlock/engine/v1/workflow_service_pb.js";
import { Decision as DecisionKind, DecisionCode as CodeKind } from "./gen/interlock/policy/v1/decision_pb.js";
import { PolicyEnforcerService, type CheckToolCallRequest, type ReportToolCallRequest } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { Interlock } from "./client.js";
import type { Options } from "./base.js";
import { digestOf } from "./digest.js";
import { decode, type Json } from "./json.js";
import type { DecisionCode, DecisionValue } from "./types.js";

/** A call that was judged. One that the client has sent again is one call. */
export interface FakeCall {
  readonly tool: string;
  readonly input: Json | undefined;
  readonly decision: DecisionValue;
  readonly callId: string;
  /** The session, or the run of a client that is bound to one. */
  readonly session: string;
  readonly qualifiedTool: string;
  readonly folder: string;
  readonly dryRun: boolean;
  /** The level of the jail that the client has for it. */
  readonly jailLevel: number;
}

/** The report of a call. */
export interface FakeReport {
  readonly tool: string;
  readonly ok: boolean;
  readonly callId: string;
  /** Such a call was allowed. */
  readonly accounted: boolean;
  readonly output: string;
  readonly filesChanged: readonly string[];
  readonly costUsd: string;
  readonly outcomeUnknown: boolean;
  /** The client does not make the call. */
  readonly notExecuted: boolean;
  readonly background: string;
  readonly backgroundEnded: string;
}

interface Answer {
  decision: DecisionValue;
  code: DecisionCode;
  message: string;
  approvalId: string;
}

interface Question {
  readonly id: string;
  readonly key: string;
  status: ApprovalStatus;
  note: string;
  /** Resolves when it is decided. */
  readonly decided: Promise<void>;
  readonly decide: () => void;
}

const run = "run_fake";

/** The fake. */
export class Fake {
  /** The calls that were judged, in their order. */
  readonly calls: FakeCall[] = [];
  /** Their reports, in their order; repeats are left out. */
  readonly reports: FakeReport[] = [];
  /** Events of transitions, in their order. */
  readonly events: string[] = [];
  private readonly rules: { tool: string; answer: Omit<Answer, "approvalId"> }[] = [];
  private readonly answers = new Map<string, Answer>();
  private readonly questions = new Map<string, Question>();
  private away = false;
  private jails = true;
  private readonly transport: Transport = createRouterTransport((router) => this.routes(router));
  private server: Http2Server | undefined;

  // The rules. Of several that match, the newest decides.

  /** Allows a tool; a name may end with * for all that begin so. */
  allow(tool: string): this {
    return this.rule(tool, "ALLOW", "", "");
  }

  /** Denies a tool. */
  deny(tool: string, denial: { code?: DecisionCode; message?: string } = {}): this {
    const code = denial.code ?? "TOOL_NOT_ALLOWED";
    if (code === "" || CodeKind[code] === undefined) throw new TypeError(`"${code}" is no code of a decision; give one such as "POLICY_DENIED"`);
    return this.rule(tool, "DENY", code, denial.message ?? `the fake denies ${tool}`);
  }

  /** Asks humans about every call of a tool: `approve` and `reject` decide. An approval admits one call of the same arguments. */
  ask(tool: string): this {
    return this.rule(tool, "ASK", "APPROVAL_REQUIRED", "a human must approve this call first");
  }

  private rule(tool: string, decision: DecisionValue, code: DecisionCode, message: string): this {
    this.rules.unshift({ tool, answer: { decision, code, message } });
    return this;
  }

  /** Grants an approval; without an id the only one that waits. */
  approve(approvalId = "", note = ""): void {
    this.decide(approvalId, ApprovalStatus.GRANTED, note);
  }

  /** Rejects an approval; without an id the only one that waits. */
  reject(approvalId = "", note = ""): void {
    this.decide(approvalId, ApprovalStatus.REJECTED, note);
  }

  /** Gives no jails from now on, as a server with --jail off. */
  noJail(): void {
    this.jails = false;
  }

  /** Fails every request from now on, as a server that is away. */
  down(): void {
    this.away = true;
  }

  /** Answers again. */
  up(): void {
    this.away = false;
  }

  /** Ids of the approvals that wait. */
  get approvals(): string[] {
    return [...this.questions.values()].filter((one) => one.status === ApprovalStatus.PENDING).map((one) => one.id);
  }

  /** Allowed calls that were not reported. */
  get openCalls(): FakeCall[] {
    const reported = new Set(this.reports.map((one) => one.callId));
    return this.calls.filter((one) => one.decision === "ALLOW" && !one.dryRun && !reported.has(one.callId));
  }

  /** Makes a client of the fake; on a machine without a jail, unless `jail` gives it one. */
  client(options: Options = {}): Interlock {
    return new Interlock({ session: "fake", token: "the token of the fake", jail: { level: 0 }, ...options, transport: this.transport });
  }

  /** Serves on loopback, and returns the environment by which `Interlock.fromEnv()` calls the fake. End it with `close`. */
  async serve(): Promise<Record<string, string>> {
    const handler = connectNodeAdapter({ routes: (router) => this.routes(router) });
    const server = (this.server ??= createServer(handler));
    if (!server.listening) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { INTERLOCK_SERVER: `127.0.0.1:${(server.address() as AddressInfo).port}`, INTERLOCK_TOKEN: "the token of the fake", INTERLOCK_SESSION: "fake" };
  }

  /** Ends serving. */
  close(): void {
    this.server?.close();
    this.server = undefined;
  }

  private routes(router: ConnectRouter): void {
    router.service(PolicyEnforcerService, {
      checkToolCall: (request) => this.reachable(() => this.check(request)),
      reportToolCall: (request) => this.reachable(() => this.report(request)),
      reportCost: (request) => this.reachable(() => ({ counted: request.costs.length, totalUsd: "0" })),
    });
    const fake = this;
    router.service(ApprovalService, {
      getApproval: ({ approvalId }) => this.reachable(() => ({ approval: this.approval(approvalId) })),
      async *watchApproval({ approvalId }, context) {
        yield fake.reachable(() => ({ approval: fake.approval(approvalId) }));
        const gone = new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }));
        await Promise.race([fake.questions.get(approvalId)!.decided, gone]);
        yield { approval: fake.approval(approvalId) };
      },
    });
    router.service(RunService, {
      startRun: ({ sessionId }) => this.reachable(() => ({ run: this.run(sessionId) })),
      getRun: ({ sessionId }) => this.reachable(() => ({ run: this.run(sessionId) })),
      transitionRun: ({ sessionId, event }) =>
        this.reachable(() => {
          this.events.push(event);
          return { accepted: true, run: this.run(sessionId) };
        }),
    });
    router.service(WorkflowService, { listWorkflows: () => this.reachable(() => ({})) });
  }

  private reachable<T>(answer: () => T): T {
    if (!this.away) return answer();
    throw new ConnectError("the fake is down", Code.Unavailable, undefined, [later]);
  }

  private run(sessionId: string) {
    return { runId: run, workflow: "fake", workflowVersion: 1n, sessionId, state: "fake", status: RunStatus.RUNNING, context: new TextEncoder().encode("{}") };
  }

  private decide(approvalId: string, status: ApprovalStatus, note: string): void {
    const waiting = this.approvals;
    if (approvalId === "" && waiting.length !== 1) throw new TypeError(`${waiting.length} approvals wait, not one: name one of ${JSON.stringify(waiting)}`);
    const found = this.questions.get(approvalId || waiting[0]!);
    if (!found || found.status !== ApprovalStatus.PENDING) {
      throw new TypeError(`approval "${approvalId}" does not wait; those that do are ${JSON.stringify(waiting)}`);
    }
    Object.assign(found, { status, note });
    found.decide();
  }

  private check(q: CheckToolCallRequest) {
    let answer = q.dryRun ? undefined : this.answers.get(q.callId);
    if (!answer) {
      answer = this.judge(q);
      if (!q.dryRun) this.answers.set(q.callId, answer);
      this.calls.push({
        tool: q.tool, input: readable(q.input), decision: answer.decision, callId: q.callId, session: q.sessionId || q.runId,
        qualifiedTool: q.qualifiedTool, folder: q.folder, dryRun: q.dryRun, jailLevel: q.jailLevel,
      });
    }
    return {
      decision: DecisionKind[answer.decision], code: answer.code === "" ? CodeKind.UNSPECIFIED : CodeKind[answer.code], message: answer.message,
      approvalId: answer.approvalId, callId: q.dryRun ? "" : q.callId, runId: run, state: "fake",
      ...(answer.decision === "ALLOW" && q.jailLevel > 0 && this.jails ? { jail: { level: q.jailLevel, digest: "sha256:of-the-fake" } } : {}),
    };
  }

  private judge(q: CheckToolCallRequest): Answer {
    const rule = this.rules.find(({ tool }) => tool === q.tool || (tool.endsWith("*") && q.tool.startsWith(tool.slice(0, -1))));
    if (!rule) {
      const message = `no rule in the fake is for "${q.tool}": call fake.allow("${q.tool}"), fake.deny or fake.ask`;
      return { decision: "DENY", code: "TOOL_NOT_ALLOWED", message, approvalId: "" };
    }
    return rule.answer.decision === "ASK" ? this.asked(q, rule.answer) : { ...rule.answer, approvalId: "" };
  }

  /** The decision where humans are asked. */
  private asked(q: CheckToolCallRequest, asks: Omit<Answer, "approvalId">): Answer {
    const key = JSON.stringify([q.sessionId || q.runId, q.tool, digestOf(Buffer.from(q.input).toString())]);
    const known = [...this.questions.values()].find((one) => one.key === key && one.status !== ApprovalStatus.USED);
    if (q.dryRun) return { ...asks, approvalId: known?.id ?? "" };
    if (!known) {
      let decide = (): void => undefined;
      const decided = new Promise<void>((resolve) => (decide = resolve));
      const id = `apr_fake_${this.questions.size + 1}`;
      this.questions.set(id, { id, key, status: ApprovalStatus.PENDING, note: "", decided, decide });
      return { ...asks, approvalId: id };
    }
    const approvalId = known.id;
    if (known.status === ApprovalStatus.PENDING) return { ...asks, code: "APPROVAL_PENDING", message: "a human has not decided yet", approvalId };
    if (known.status === ApprovalStatus.GRANTED) {
      known.status = ApprovalStatus.USED;
      return { decision: "ALLOW", code: "", message: "", approvalId };
    }
    return { decision: "DENY", code: "POLICY_DENIED", message: "a human has rejected this call" + (known.note && `: ${known.note}`), approvalId };
  }

  private report(r: ReportToolCallRequest) {
    const answer = this.answers.get(r.callId);
    const accounted = answer?.decision === "ALLOW";
    // A check that is still on its way is denied.
    if (r.notExecuted && !answer) this.answers.set(r.callId, { decision: "DENY", code: "POLICY_DENIED", message: "the call was given up", approvalId: "" });
    if (!this.reports.some((one) => one.callId === r.callId)) {
      this.reports.push({
        tool: r.tool, ok: r.ok, callId: r.callId, accounted, output: Buffer.from(r.output).toString(), filesChanged: r.filesChanged,
        costUsd: r.costUsd, outcomeUnknown: r.outcomeUnknown, notExecuted: r.notExecuted, background: r.background,
        backgroundEnded: r.backgroundEnded,
      });
    }
    return { run: this.run(r.sessionId), accounted };
  }

  private approval(id: string) {
    const found = this.questions.get(id);
    if (!found) throw new ConnectError(`the fake has no approval ${id}`, Code.NotFound);
    const outcome = `the approval is ${ApprovalStatus[found.status].toLowerCase()}` + (found.note && `: ${found.note}`);
    return { approvalId: id, status: found.status, kind: ApprovalKind.TOOL_CALL, outcome, runId: run };
  }
}

/**
 * A google.rpc.RetryInfo of an hour, so that clients do not wait for a fake that is down. Its message is one field with a Duration,
 * which has the form of a BytesValue on the wire.
 */
const later = (() => {
  const typeName = "google.rpc.RetryInfo";
  const value = toBinary(DurationSchema, create(DurationSchema, { seconds: 3600n }));
  return { desc: { ...BytesValueSchema, typeName } as DescMessage, value: { ...create(BytesValueSchema, { value }), $typeName: typeName } as Message };
})();

/** An input as JSON; undefined for one that is none. */
function readable(input: Uint8Array): Json | undefined {
  try {
    return decode(input);
  } catch {
    return undefined;
  }
}
