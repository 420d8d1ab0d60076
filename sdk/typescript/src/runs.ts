import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { RunService } from "./gen/interlock/engine/v1/run_service_pb.js";
import { keyOf, noSession, type ChangeOptions } from "./base.js";
import { Approvals } from "./approvals.js";
import { forced, moved, runOf } from "./convert.js";
import { Fault } from "./errors.js";
import { encode } from "./json.js";
import { historyOf } from "./records.js";
import { retry, type CallOptions } from "./retry.js";
import type { HistoryEntry, Run } from "./types.js";

/** Options of `load`. */
export interface LoadOptions extends ChangeOptions {
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

/** Options of `waitRun`. */
export interface WaitRunOptions extends CallOptions {
  /** The run is returned when this is true of it; by default when it has ended. */
  until?: (run: Run) => boolean;
}

/** A client's runs. */
export class Runs extends Approvals {
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
      ...keyOf(options),
    };
    const answer = await retry(deadline, (call) => this.rpc(RunService).startRun(request, call));
    return runOf(answer.run, { resumed: answer.resumed });
  }

  /**
   * Returns a run. Without an id, the one whose rules are in force: the client's, or the innermost of those that it has invoked and
   * waits for. NOT_FOUND when the session drives none.
   */
  async getRun(runId = "", options: CallOptions = {}): Promise<Run> {
    const request = runId === "" ? { ...this.driven(), active: true } : { runId };
    return runOf((await this.call(options, (call) => this.rpc(RunService).getRun(request, call))).run);
  }

  /**
   * Yields runs, newest first, with a filter as on the command line, such as `status=RUNNING`. With `staleForSeconds` it yields active runs
   * that have made no progress for so long, the most silent first, at most 1000.
   */
  listRuns(filter = "", options: CallOptions & { staleForSeconds?: number } = {}): AsyncGenerator<Run, void, undefined> {
    const silent = options.staleForSeconds ? { staleFor: durationFromMs(options.staleForSeconds * 1000), pageSize: 1000 } : {};
    const page = (pageToken: string, call: object) => this.rpc(RunService).listRuns({ filter, pageToken, ...silent }, call);
    return this.pages(options, page, (answer) => answer.runs.map((run) => runOf(run)));
  }

  /**
   * Asks to move on and returns the run whose rules are in force then. The data, a JSON object, merges into the context after the
   * transition (S2.3); its "rationale" goes into the history.
   *
   * A refusal is a `Rejected`. A transition that was parked until a human approves is an `AwaitingApproval`, with the run as it
   * waits (S9.1).
   */
  async transition(event: string, data?: unknown, options: ChangeOptions = {}): Promise<Run> {
    const request = { ...this.driven(), event, data: encode("data", data), ...keyOf(options) };
    return moved(await retry(this.deadline(options), (call) => this.rpc(RunService).transitionRun(request, call)));
  }

  /** The id of a run that is named, or of the client's. */
  protected async runId(given: string, options: CallOptions): Promise<string> {
    return given || this.run || (await this.getRun("", options)).id;
  }

  /**
   * Waits until a run has ended, or until `until` is true of it before, no matter how long that takes, and returns it. After `timeoutMs` it
   * throws a `Fault` with DEADLINE_EXCEEDED. Without an id it is the client's run.
   */
  async waitRun(runId = "", options: WaitRunOptions = {}): Promise<Run> {
    const until = options.until ?? ((run: Run) => run.ended);
    const late = new AbortController();
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => late.abort(timedOut()), options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, late.signal]) : late.signal;
    try {
      for await (const run of this.watchRun(runId, { signal })) if (run.ended || until(run)) return run;
    } finally {
      clearTimeout(timer);
    }
    throw new Fault("NOT_FOUND", "the run is not there any more");
  }

  /**
   * Yields a run as it is, and then after each change, until it has ended. Changes that follow fast may be one. It continues after a
   * break. Without an id it is the client's run.
   */
  async *watchRun(runId = "", options: { signal?: AbortSignal } = {}): AsyncGenerator<Run, void, undefined> {
    const id = await this.runId(runId, options);
    let last = -1;
    const changes = this.stream(
      `run ${id}`,
      async function* (this: Runs, signal: AbortSignal) {
        for await (const answer of this.rpc(RunService).watchRun({ runId: id }, { signal })) if (answer.run) yield runOf(answer.run);
      }.bind(this),
      options.signal,
    );
    for await (const run of changes) {
      if (run.version === last) continue; // the same again, after a break
      last = run.version;
      yield run;
      if (run.ended) return;
    }
  }

  /** Yields the history of a run, oldest first: its changes and the results of tools. Without an id it is the client's run. */
  async *getRunHistory(runId = "", options: CallOptions = {}): AsyncGenerator<HistoryEntry, void, undefined> {
    const id = await this.runId(runId, options);
    let [afterVersion, afterResult] = [0n, 0n];
    do {
      const request = { runId: id, afterVersion, afterResult };
      const answer = await this.call(options, (call) => this.rpc(RunService).getRunHistory(request, call));
      yield* answer.entries.map(historyOf);
      [afterVersion, afterResult] = [answer.nextAfterVersion, answer.nextAfterResult];
    } while (afterVersion !== 0n || afterResult !== 0n);
  }

  /** Pauses a run. An agent may where its workflow lets it. Without an id it is the client's run, as in the methods that follow. */
  async pauseRun(runId = "", options: ChangeOptions & { reason?: string } = {}): Promise<Run> {
    const request = { runId: await this.runId(runId, options), reason: options.reason ?? "", ...keyOf(options) };
    return runOf((await this.call(options, (call) => this.rpc(RunService).pauseRun(request, call))).run);
  }

  /** Resumes a run that is paused or held. */
  async resumeRun(runId = "", options: ChangeOptions = {}): Promise<Run> {
    const request = { runId: await this.runId(runId, options), ...keyOf(options) };
    return runOf((await this.call(options, (call) => this.rpc(RunService).resumeRun(request, call))).run);
  }

  /** Ends a run before its time. */
  async cancelRun(runId = "", options: ChangeOptions & { reason?: string } = {}): Promise<Run> {
    const request = { runId: await this.runId(runId, options), reason: options.reason ?? "", ...keyOf(options) };
    return runOf((await this.call(options, (call) => this.rpc(RunService).cancelRun(request, call))).run);
  }

  /** Puts a run into a state, past its guards: an operator may, and an agent where `meta.debug` of the workflow says so. */
  async forceState(runId: string, state: string, options: ChangeOptions & { context?: unknown } = {}): Promise<Run> {
    const request = { runId: await this.runId(runId, options), state, context: encode("context", options.context), ...keyOf(options) };
    return forced(await this.call(options, (call) => this.rpc(RunService).forceState(request, call)));
  }
}

function timedOut(): Error {
  return Object.assign(new Error("the run is not there yet"), { name: "TimeoutError" });
}
