import { createClient, type Client, type Interceptor, type Transport } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import { ApprovalService } from "./gen/interlock/approval/v1/approval_service_pb.js";
import { ApprovalStatus } from "./gen/interlock/approval/v1/approval_pb.js";
import { RunService } from "./gen/interlock/engine/v1/run_service_pb.js";
import { PolicyEnforcerService } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { StateUpdate } from "./gen/interlock/state/v1/session_pb.js";
import { SessionService } from "./gen/interlock/state/v1/session_service_pb.js";
import { StateService } from "./gen/interlock/state/v1/state_service_pb.js";
import { approvalOf, changeOf, decisionOf, deletedChange, moved, noticeOf, refuse, runOf, sessionOf, stateOf } from "./convert.js";
import { Denied, Fault, NotPermitted, ReportError, Unavailable, faultOf, reason, transient } from "./errors.js";
import { callId, idempotencyKey } from "./ids.js";
import { JsonText, decode, encode, rewrite, stringify, type Json } from "./json.js";
import type { Op } from "./patch.js";
import { Deadline, cancelled, delay, patienceMs, pause, retry, steadyMs, yieldMs, type CallOptions } from "./retry.js";
import { defaultServer, dial, fromEnvironment, type Connection, type TLS } from "./target.js";
import { tracing } from "./tracing.js";
import { Result, type Approval, type Change, type Decision, type Outcome, type Run, type Session, type State, type Stopped } from "./types.js";

/** Bounds a report, no matter what the caller does. */
const reportMs = 15_000;
/** What history keeps of an output (S6.4), and one byte that shows that there was more. */
const mostOutput = 64 * 1024 + 1;
/** How often one call is put as a new question. */
const mostAsked = 4;
/** What gRPC has room for in the deadline of one stream. */
const longestMs = 10_000_000;

/** Options of a client. */
export interface Options {
  /**
   * A gRPC address; "127.0.0.1:7421" by default. Several replicas: a list separated by commas. Without TLS, only loopback
   * addresses and Unix sockets are called.
   */
  server?: string;
  /** The caller's token. */
  token?: string;
  /** Namespace of all calls; the default one when empty. */
  namespace?: string;
  /** The session that acts, by id or name: tool calls and events are judged by the run that it drives, and it shares the state of its tree. */
  session?: string;
  /** The run to be judged by, instead of whatever the session drives. */
  run?: string;
  /** The state that is meant wherever a state's id is left empty; by default the session's. */
  state?: string;
  /** Files of TLS; `{}` uses the CAs of Node. */
  tls?: TLS | undefined;
  /** Allows another machine without TLS, where the network itself is trusted. The token then travels in the clear. */
  insecure?: boolean;
  /** Milliseconds that a call is tried for, 30,000 by default. */
  timeoutMs?: number;
  /** Is told what nobody can be told otherwise: a watch that breaks, a report of a failed call that was not accepted. */
  onWarning?: (message: string, err: unknown) => void;
  /** A transport of yours instead of a connection to `server`. Server, tls and insecure are its business. */
  transport?: Transport;
}

/** Options of `load`. */
export interface LoadOptions extends CallOptions {
  /** Version of the workflow; absent for the latest. */
  version?: number;
  /** Merged over the workflow's: a JSON object. */
  context?: unknown;
  /** The root that file patterns are relative to. */
  workspace?: string;
  /** Continues the session's newest paused run of the workflow instead, when there is one (S6.2). */
  resume?: boolean;
  /** Gives the session that branch of a run in a fork instead (S5.3): of `runId`, or else of the caller's only run of the workflow with such a branch. */
  branch?: string;
  /** See `branch`. */
  runId?: string;
}

/** Options of `check`. */
export interface CheckOptions extends CallOptions {
  /** An id of the caller's makes the check repeatable while the run has not changed; a new one when empty. */
  callId?: string;
  /** Full name of the tool, mcp__SERVER__TOOL, where the caller knows it by its own name alone. */
  qualifiedTool?: string;
  /** Decimal US dollars, such as "0.02". */
  estimatedCostUsd?: string;
  /** Decides, and does nothing of it: the call must not be made on the strength of it. */
  dryRun?: boolean;
}

/** A session to make. */
export interface NewSession {
  /** Chosen by the server when empty. */
  id?: string;
  /** At random when empty. */
  name?: string;
  /** By id or name, whose state the session shares; empty for a root. An agent creates sessions below its own. */
  parent?: string;
  /** It need not update that state before it is done. */
  skipStateUpdate?: boolean;
  /** What it updates during its own work is enough (S11.2). */
  acceptEarlyUpdate?: boolean;
  /** Labels that a runner must have to take its tasks. */
  labels?: Record<string, string>;
  /** When not empty, a runner starts the session's agent with it. */
  prompt?: string;
  /** The component that its executions begin and end with (S12). */
  stateRef?: string;
  /** Whose long-term values it uses (S12). */
  subject?: string;
}

/** Options of `stop`. Without any, what is outstanding is left to a runner. */
export interface StopOptions extends CallOptions {
  /** The caller continues with the agent itself, see `Stopped.prompt`. */
  inPlace?: boolean;
  /** Ends the session even when something is outstanding. */
  end?: boolean;
  /** Why the agent failed; empty when it did not. */
  error?: string;
}

/** What names a state. */
export interface OfState extends CallOptions {
  /** Its id; empty for the client's. */
  id?: string;
}

interface Shared {
  readonly connection: Connection;
  readonly timeoutMs: number;
  readonly warn: (message: string, err: unknown) => void;
}

/**
 * Calls Interlock for one session or run.
 *
 * It decides nothing. Whatever keeps it from an answer is a refusal: a tool runs after an ALLOW and never otherwise. What it
 * repeats after a failure it repeats under the same idempotency key, so that it happens once. Failures of requests are a `Fault`.
 */
export class Interlock {
  /** The session that acts; empty for none. */
  readonly session: string;
  /** The run that calls are judged by; empty for the session's. */
  readonly run: string;
  private readonly state: string;
  private readonly shared: Shared;

  /** Makes a client, which connects when it is first used. */
  constructor(options: Options = {}, shared?: unknown) {
    this.session = options.session ?? "";
    this.run = options.run ?? "";
    this.state = options.state ?? "";
    this.shared = (shared as Shared | undefined) ?? share(options);
  }

  /**
   * Makes a client of what the environment says, under the names that the command line reads: INTERLOCK_SERVER, INTERLOCK_TOKEN,
   * INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE, INTERLOCK_SESSION, INTERLOCK_RUN and WORKFLOW_STATE_ID.
   */
  static fromEnv(
    more: Options = {},
    env: Readonly<Record<string, string | undefined>> = process.env,
  ): Interlock {
    return new Interlock({ ...fromEnvironment(env), ...more } as Options);
  }

  /** Closes the connection, for the clients that share it too. */
  close(): void {
    this.shared.connection.close();
  }

  /** The connection, for calls that have no method here: `createClient(RunService, client.transport)`. */
  get transport(): Transport {
    return this.shared.connection.transport;
  }

  /** A client for another session on the same connection. It is bound to no run and no state but the session's. */
  forSession(session: string): Interlock {
    return new Interlock({ session }, this.shared);
  }

  /** A client on the same connection that is judged by one run. */
  forRun(run: string): Interlock {
    return new Interlock({ session: this.session, run, state: this.state }, this.shared);
  }

  private rpc<S extends DescService>(service: S): Client<S> {
    return createClient(service, this.transport);
  }

  private deadline(options: CallOptions): Deadline {
    return new Deadline(options.timeoutMs ?? this.shared.timeoutMs, options.signal);
  }

  /** What calls are judged by: the run when there is one, else the session. */
  private driven(): { runId: string; sessionId: string } {
    return this.run === "" ? { runId: "", sessionId: this.session } : { runId: this.run, sessionId: "" };
  }

  // Tool calls

  /**
   * Puts a tool call before the gate, runs it when it is allowed, and reports the outcome.
   *
   * The input is the tool's arguments, a JSON object. The function returns a `Result`, or anything else, which is then the
   * `value` of one. When it has not run, the error is a `Denied` or an `AwaitingApproval`. Otherwise it is its own. A report that
   * failed is a `ReportError`, which has the result: the tool has run, so do not run it again.
   *
   * A call is reported as failed when the function throws, and the exception continues. It is reported also when the signal was
   * aborted.
   */
  async guard<T>(
    tool: string,
    input: unknown,
    run: (signal?: AbortSignal) => T | Result<T> | Promise<T | Result<T>>,
    options: CheckOptions = {},
  ): Promise<Result<T>> {
    if (options.dryRun) throw new TypeError("a dry run decides on no call: use check");
    const decision = await this.check(tool, input, options);
    refuse(decision);
    if (options.signal?.aborted) {
      // Nobody waits any more, so the tool is not run.
      await this.reportFailed(decision);
      throw new Unavailable("the call was not made: its caller has gone away", {
        callId: decision.callId,
        cause: cancelled(options.signal),
      });
    }
    let returned: T | Result<T>;
    try {
      returned = await run(options.signal);
    } catch (err) {
      await this.reportFailed(decision);
      throw err;
    }
    const result = resultOf(returned);
    try {
      return new Result({ ...result, notice: await this.report(decision, result) });
    } catch (err) {
      if (err instanceof ReportError) err.result = result;
      throw err;
    }
  }

  private async reportFailed(decision: Decision): Promise<void> {
    try {
      await this.report(decision, {}, false);
    } catch (err) {
      this.shared.warn(`the failure of a tool call was not reported: ${decision.tool}`, err);
    }
  }

  /**
   * Gets the decision on a call. A call that is allowed must be reported with `report`; `guard` does both.
   *
   * Without a decision it throws `Unavailable`, and with an input that is not JSON `Denied`.
   */
  async check(tool: string, input?: unknown, options: CheckOptions = {}): Promise<Decision> {
    let body: Uint8Array<ArrayBuffer>;
    try {
      body = encode("input", input);
    } catch (err) {
      throw new Denied({ code: "INVALID_INPUT", message: (err as Error).message, callId: options.callId ?? "" }, { cause: err });
    }
    const deadline = this.deadline(options);
    for (let asked = 1; ; asked++) {
      const id = options.callId || callId();
      let fault: Fault;
      try {
        const answer = await retry(deadline, (call) =>
          this.rpc(PolicyEnforcerService).checkToolCall(
            {
              ...this.driven(),
              tool,
              qualifiedTool: options.qualifiedTool ?? "",
              input: body,
              callId: id,
              estimatedCostUsd: options.estimatedCostUsd ?? "",
              dryRun: options.dryRun ?? false,
            },
            call,
          ),
        );
        return decisionOf(tool, id, answer, options.dryRun ?? false);
      } catch (err) {
        if (err instanceof Denied) throw err;
        fault = faultOf(err);
      }
      // The run has moved on since a decision whose answer was lost, or faster than it could be followed. The tool has not run,
      // so it is a new question.
      const again = ["IDEMPOTENCY_MISMATCH", "VERSION_CONFLICT"].includes(fault.reason) && !options.callId;
      const wait = delay(asked, 0);
      if (!again || asked === mostAsked || deadline.endsWithin(wait) || options.signal?.aborted) {
        const message = "the call was not made: " + fault.message;
        if (["UNAUTHENTICATED", "PERMISSION_DENIED"].includes(fault.reason)) {
          throw new NotPermitted({ code: fault.reason, message, callId: id }, { cause: fault });
        }
        throw new Unavailable(message, { callId: id, cause: fault });
      }
      await pause(wait, options.signal).catch((err: unknown) => {
        throw new Unavailable("the call was not made: its caller has gone away", { callId: id, cause: err });
      });
    }
  }

  /**
   * Says the outcome of a call that was allowed, and returns what the agent should be told with it; often nothing. A `ReportError`
   * means that it was not accepted.
   */
  async report(decision: Decision, outcome: Outcome = {}, ok = true): Promise<string> {
    try {
      const output = typeof outcome.output === "string" ? Buffer.from(outcome.output) : (outcome.output ?? new Uint8Array());
      const answer = await retry(new Deadline(reportMs, undefined), (call) =>
        this.rpc(PolicyEnforcerService).reportToolCall(
          {
            // The run that was decided on: the session may drive another one by now.
            runId: decision.runId,
            callId: decision.callId,
            tool: decision.tool,
            ok,
            filesChanged: [...(outcome.filesChanged ?? [])],
            resultBytes: BigInt(outcome.bytes || output.length),
            costUsd: outcome.costUsd ?? "",
            output: new Uint8Array(output.subarray(0, mostOutput)),
          },
          call,
        ),
      );
      return noticeOf(answer);
    } catch (err) {
      throw new ReportError(decision.callId, faultOf(err));
    }
  }

  /**
   * Waits until humans have decided an approval, no matter how long that takes, and returns it. After `timeoutMs` it throws a
   * `Fault` with DEADLINE_EXCEEDED. If it was granted, make exactly the same call again: it is allowed once.
   */
  async waitApproval(approvalId: string, options: CallOptions = {}): Promise<Approval> {
    const deadline = new Deadline(options.timeoutMs ?? Infinity, options.signal);
    for (let failures = 0; ; ) {
      const begun = performance.now();
      let fault = new Fault("UNAVAILABLE", "the stream has ended");
      try {
        const left = deadline.left();
        const answers = this.rpc(ApprovalService).watchApproval(
          { approvalId },
          { ...(options.signal && { signal: options.signal }), ...(left < Infinity && { timeoutMs: Math.max(1, Math.ceil(Math.min(left, longestMs))) }) },
        );
        for await (const { approval } of answers) {
          if (approval && ![ApprovalStatus.UNSPECIFIED, ApprovalStatus.PENDING].includes(approval.status)) return approvalOf(approval);
        }
      } catch (err) {
        deadline.check(err);
        fault = faultOf(err);
      }
      failures = performance.now() - begun > steadyMs ? 1 : failures + 1;
      if (!transient(fault)) throw fault;
      const wait = delay(failures, fault.retryAfterMs);
      if (deadline.endsWithin(wait)) {
        throw new Fault("DEADLINE_EXCEEDED", `approval ${approvalId} is not decided yet`, { cause: fault });
      }
      await pause(wait, options.signal);
    }
  }

  // Runs

  /**
   * Starts a run of a workflow for the client's session, which drives it from then on; another run that it drove is paused (S6.6).
   * Without a session, calls of the run are made by `forRun(run.id)`.
   */
  async load(workflow: string, options: LoadOptions = {}): Promise<Run> {
    if (this.run !== "") {
      throw new Fault("INVALID_REQUEST", `this client is bound to run ${this.run}; load workflows with a client for a session`);
    }
    const deadline = this.deadline(options);
    if (options.branch) {
      if (this.session === "") throw noSession("working in a branch");
      const request = { runId: options.runId ?? "", workflow, branch: options.branch, sessionId: this.session };
      return runOf((await retry(deadline, (call) => this.rpc(RunService).bindBranch(request, call))).run);
    }
    const request = {
      workflow,
      workflowVersion: BigInt(options.version ?? 0),
      sessionId: this.session,
      context: encode("context", options.context),
      workspace: options.workspace ?? "",
      resume: options.resume ?? false,
      idempotencyKey: idempotencyKey(),
    };
    const answer = await retry(deadline, (call) => this.rpc(RunService).startRun(request, call));
    return runOf(answer.run, { resumed: answer.resumed });
  }

  /**
   * Returns the run whose rules are in force: the client's, or the innermost of those that it has invoked and waits for.
   * NOT_FOUND when the session drives none.
   */
  async get(options: CallOptions = {}): Promise<Run> {
    const answer = await retry(this.deadline(options), (call) => this.rpc(RunService).getRun({ ...this.driven(), active: true }, call));
    return runOf(answer.run);
  }

  /**
   * Asks to move on and returns the run whose rules are in force then. The data, a JSON object, merges into the context after the
   * transition (S2.3); its "rationale" goes into the history.
   *
   * A refusal is a `Rejected`. A transition that was parked until a human approves is an `AwaitingApproval`, with the run as it
   * waits (S9.1).
   */
  async transition(event: string, data?: unknown, options: CallOptions = {}): Promise<Run> {
    const request = { ...this.driven(), event, data: encode("data", data), idempotencyKey: idempotencyKey() };
    return moved(await retry(this.deadline(options), (call) => this.rpc(RunService).transitionRun(request, call)));
  }

  // States

  /**
   * Makes a state that conforms to a schema, for the client's session as the root of a tree: sessions created under it from then on
   * share the state. The session is made when there is none of that name.
   */
  async createState(schema: string, data: unknown, options: CallOptions = {}): Promise<State> {
    const request = { schemaName: schema, data: encode("data", data), session: this.session, idempotencyKey: idempotencyKey() };
    return stateOf((await retry(this.deadline(options), (call) => this.rpc(StateService).createState(request, call))).state);
  }

  /** Returns a state, by default the session's, or only the parts that JSON Pointers (RFC 6901) name. */
  async readState(options: OfState & { pointers?: readonly string[] } = {}): Promise<State> {
    const request = { stateId: options.id || this.state, session: this.session, pointers: [...(options.pointers ?? [])] };
    const answer = await retry(this.deadline(options), (call) => this.rpc(StateService).getState(request, call));
    return stateOf(answer.state, answer.parts);
  }

  /**
   * Applies operations to a state, by default the session's: all or none, to what the document is then, so that of concurrent
   * patches none is lost (S10.3). `add`, `replace` and so on make operations. The answer has no data. PATCH_FAILED when the
   * operations do not apply, SCHEMA_VIOLATION when the result does not conform; nothing has changed then.
   */
  async patch(ops: readonly Op[], options: OfState = {}): Promise<State> {
    const change = { case: "patch" as const, value: encode("patch", ops) };
    return this.write(options.id || this.state, { change }, this.deadline(options));
  }

  /**
   * Reads a state, by default the session's, replaces it by what `change` makes of it, and starts again when somebody else was
   * faster: `change` may be called several times, each time with the document as it is then. It returns the new document, or
   * changes the one that it is given and returns nothing. Its exceptions end the update. Numbers that it does not touch stay as
   * they were written.
   *
   * Lost races are tried again until time is up; then it throws VERSION_CONFLICT. What many write at once is better done with
   * `patch`, which no race can fail.
   */
  async update(change: (document: any) => Json | void, options: OfState = {}): Promise<State> {
    return this.updateText((text) => rewrite(text, change), options);
  }

  /** `update` on the JSON text of the document. */
  async updateText(change: (document: string) => string | Promise<string>, options: OfState = {}): Promise<State> {
    const deadline = this.deadline(options);
    const within = (): CallOptions => ({
      timeoutMs: Math.max(1, deadline.left()),
      ...(options.signal && { signal: options.signal }),
    });
    for (let lost = 0; ; lost++) {
      const before = await this.readState({ ...within(), ...(options.id && { id: options.id }) });
      const dataJson = await change(before.dataJson);
      const data = encode("data", new JsonText(dataJson));
      try {
        const after = await this.write(
          before.id,
          { expectedVersion: BigInt(before.version), change: { case: "data" as const, value: data } },
          deadline,
        );
        return { ...after, dataJson, data: decode(data) };
      } catch (err) {
        const wait = yieldMs(lost);
        if (reason(err) !== "VERSION_CONFLICT" || deadline.endsWithin(wait)) throw err;
        await pause(wait, options.signal);
      }
    }
  }

  private async write(
    stateId: string,
    what: {
      expectedVersion?: bigint;
      change: { case: "patch"; value: Uint8Array<ArrayBuffer> } | { case: "data"; value: Uint8Array<ArrayBuffer> };
    },
    deadline: Deadline,
  ): Promise<State> {
    const request = { stateId, session: this.session, idempotencyKey: idempotencyKey(), ...what };
    return stateOf((await retry(deadline, (call) => this.rpc(StateService).updateState(request, call))).state);
  }

  /**
   * Yields every change of a state, by default the session's, after a version, then those that come; without a version only those
   * that come. Versions are in order and none is twice. One is missing only where the server keeps no such old ones. The state
   * must be there and readable to begin with.
   *
   * It ends with the state's deletion, with an error, or when the signal is aborted, which is an error too. What passes by itself
   * is not an error: it continues from the last version.
   */
  async *watch(options: { id?: string; after?: number; signal?: AbortSignal } = {}): AsyncGenerator<Change, void, undefined> {
    const { signal } = options;
    // No part is asked for, so this answers which state it is and its version.
    const { id, version } = await this.readState({
      pointers: ["/"],
      ...(options.id && { id: options.id }),
      ...(signal && { signal }),
    });
    let after = options.after ?? version;
    for (let failures = 0; ; ) {
      const begun = performance.now();
      let fault = new Fault("UNAVAILABLE", "the stream has ended");
      // Also when the caller leaves the loop: the stream must not stay open.
      const stop = new AbortController();
      const ended = (): void => stop.abort(signal!.reason);
      signal?.addEventListener("abort", ended, { once: true });
      try {
        if (signal?.aborted) throw cancelled(signal);
        const request = { stateId: id, session: this.session, afterVersion: BigInt(after) };
        for await (const answer of this.rpc(StateService).watchState(request, { signal: stop.signal })) {
          if (answer.deleted) return void (yield deletedChange(id));
          if (!answer.change || answer.change.version <= after) continue;
          after = Number(answer.change.version);
          yield changeOf(id, answer.change);
        }
      } catch (err) {
        if (signal?.aborted) throw cancelled(signal, err);
        fault = faultOf(err);
        if (fault.reason === "NOT_FOUND") return void (yield deletedChange(id)); // it was deleted since
        if (!transient(fault)) throw fault;
      } finally {
        signal?.removeEventListener("abort", ended);
        stop.abort();
      }
      failures = performance.now() - begun > steadyMs ? 1 : failures + 1;
      this.shared.warn(`a watch is opened again: ${id}`, fault);
      await pause(delay(failures, fault.retryAfterMs), signal);
    }
  }

  // Sessions

  /** Makes a session. The same request again returns the same session, so give it a name to find it again. */
  async createSession(session: NewSession = {}, options: CallOptions = {}): Promise<Session> {
    const request = {
      sessionId: session.id ?? "",
      // A repeat must find the session that the first try made.
      name: session.name || (session.id ? "" : "session-" + idempotencyKey().toLowerCase()),
      parent: session.parent ?? "",
      acceptEarlyUpdate: session.acceptEarlyUpdate ?? false,
      labels: session.labels ?? {},
      stateRef: session.stateRef ?? "",
      subject: session.subject ?? "",
      prompt: session.prompt ?? "",
      session: this.session,
      ...(session.skipStateUpdate && { stateUpdate: StateUpdate.SKIP }),
    };
    return sessionOf((await retry(this.deadline(options), (call) => this.rpc(SessionService).createSession(request, call))).session);
  }

  /**
   * Says that the agent of the client's session has stopped. One that must update the state of its tree and has not is asked to;
   * then its parent is called back (S11.2).
   */
  async stop(options: StopOptions = {}): Promise<Stopped> {
    if (this.session === "") throw noSession("stopping");
    const request = {
      sessionId: this.session,
      session: this.session,
      idempotencyKey: idempotencyKey(),
      inPlace: options.inPlace ?? false,
      end: options.end ?? false,
      error: clip(options.error ?? ""),
    };
    const answer = await retry(this.deadline(options), (call) => this.rpc(SessionService).stopSession(request, call));
    return { session: sessionOf(answer.session), prompt: answer.prompt };
  }
}

function share(options: Options): Shared {
  const timeoutMs = options.timeoutMs ?? patienceMs;
  if (!(timeoutMs > 0)) throw new TypeError("timeoutMs must be more than 0");
  const warn = options.onWarning ?? (() => undefined);
  const { token, namespace } = options;
  const credentials: Interceptor = (next) => (req) => {
    if (token && !req.header.has("authorization")) req.header.set("authorization", "Bearer " + token);
    if (namespace && !req.header.has("interlock-namespace")) req.header.set("interlock-namespace", namespace);
    return next(req);
  };
  const connection = options.transport
    ? { transport: options.transport, close: () => undefined }
    : dial({ server: options.server ?? defaultServer, tls: options.tls, insecure: options.insecure }, [tracing, credentials]);
  return { connection, timeoutMs, warn };
}

/** Refuses what only a session can do. */
function noSession(what: string): Fault {
  return new Fault("SESSION_REQUIRED", `${what} requires a session: set the option session, or use forSession`);
}

/** The result of what a guarded function has returned. */
function resultOf<T>(returned: T | Result<T>): Result<T> {
  if (returned instanceof Result) return returned;
  return new Result<T>({ output: outputOf(returned), value: returned });
}

/** What a value counts for in the context budget, and what is kept of it: the text that an agent would read. */
function outputOf(value: unknown): string | Uint8Array {
  if (value === undefined || value === null) return "";
  if (typeof value === "string" || value instanceof Uint8Array) return value;
  try {
    return stringify(value);
  } catch {
    return String(value);
  }
}

/** A text as the contracts take an error: 4096 characters at most. */
function clip(text: string): string {
  const characters = [...text.toWellFormed()];
  return characters.length <= 4096 ? text.toWellFormed() : characters.slice(0, 4093).join("") + "...";
}
