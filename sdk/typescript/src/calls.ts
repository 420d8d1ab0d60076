import { PolicyEnforcerService } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { Base, backgroundMs } from "./base.js";
import type { GlassCall } from "./breakglass.js";
import { decisionOf, refuse, reportOf } from "./convert.js";
import { commandLine, commandOf, type Command } from "./command.js";
import { ConfigurationError, Denied, Fault, InterlockError, NotPermitted, ReportError, Unavailable, faultOf, mayBeCarriedOut, unreachable } from "./errors.js";
import { callId } from "./ids.js";
import { encode } from "./json.js";
import { outputOf } from "./output.js";
import { Deadline, cancelled, delay, pause, retry, type CallOptions } from "./retry.js";
import { Guarded, Stream, isStream, type Items, type Streamed } from "./stream.js";
import { Result, type Decision, type Outcome, type Report } from "./types.js";

/** The bytes of an output that history keeps (S6.4), and one that shows that there was more. */
const mostOutput = 64 * 1024 + 1;
/** How often one call is put as a new question. */
const mostAsked = 4;

/** Options of `check`. */
export interface CheckOptions extends CallOptions {
  /** An id of the caller's makes the check repeatable while the run has not changed; a new one when empty. */
  callId?: string;
  /** The folder that the call is made in, as an absolute path: a command outside of the run's workspace is no evidence (S14). */
  folder?: string;
  /** Full name of the tool, mcp__SERVER__TOOL, where the caller knows it by its own name alone. */
  qualifiedTool?: string;
  /** Decimal US dollars, such as "0.02". */
  estimatedCostUsd?: string;
  /** Adds the reasons of the decision, and the changes that would alter it. */
  explain?: boolean;
  /** Decides without effects: the call must not be made because of this decision. */
  dryRun?: boolean;
}

/** Options of `guardCommand`. */
export interface CommandOptions extends Omit<CheckOptions, "dryRun"> {
  /** Refuses a command that would run without a jail. */
  required?: boolean;
  /** The tool that the command line is judged as; "Bash" by default. */
  tool?: string;
}

/** A client's tool calls. */
export class Calls extends Base {
  /**
   * Puts a tool call before the gate, runs it when it is allowed, and reports the outcome.
   *
   * The input is the tool's arguments, a JSON object. The function returns a `Result`, or anything else, which is then the
   * `value` of one. When it has not run, the error is a `Denied` or an `AwaitingApproval`. Otherwise it is its own. A report that
   * failed is a `ReportError`, which has the result: the tool has run, so do not run it again.
   *
   * A call is reported as failed when the function throws, and the exception continues; with an outcome that is unknown when the
   * signal was aborted meanwhile. A call that was aborted before it ran is settled as not executed.
   *
   * A function that returns a generator, or another stream of items, has run when the stream ends: `value` passes its items on, and
   * the call is reported then. Iterate it, or call its `return`.
   */
  async guard<T>(
    tool: string,
    input: unknown,
    run: (signal?: AbortSignal) => T | Result<T> | Promise<T | Result<T>>,
    options: CheckOptions = {},
  ): Promise<Result<Streamed<T>>> {
    if (options.dryRun) throw new Denied({ code: "INVALID_INPUT", message: "the call was not made: a dry run decides on no call; use check" });
    const decision = await this.decide(tool, input, options, true);
    refuse(decision);
    if (options.signal?.aborted) {
      this.abandon(decision);
      throw gone(decision.callId, options.signal);
    }
    let returned: T | Result<T>;
    try {
      returned = await run(options.signal);
    } catch (err) {
      await this.reportFailed(decision, { outcomeUnknown: options.signal?.aborted ?? false });
      throw err;
    }
    if (isStream(returned)) {
      return new Result({ value: this.streamed(decision, returned as Items, options.signal) }) as Result<Streamed<T>>;
    }
    return (await this.reported(decision, resultOf(returned as T | Result<T>))) as Result<Streamed<T>>;
  }

  /**
   * Guards a function that yields items, such as an async generator. The call is judged before the first item is taken, and reported
   * when the items end, as `guard` does; a call of which no item is taken is not made.
   */
  guardItems<Item>(
    tool: string,
    input: unknown,
    run: (signal?: AbortSignal) => AsyncIterable<Item> | Generator<Item, unknown, undefined> | Promise<AsyncIterable<Item>>,
    options: CheckOptions = {},
  ): Stream<Item> {
    return new Stream<Item>(async () => (await this.guard(tool, input, run as () => unknown, options)).value as Stream<Item>);
  }

  /**
   * Puts a command line of bash, or the words of one, before the gate as a call of the shell, and returns the command to execute: in a
   * jail of this machine, where it has one and the server gives one.
   *
   * It throws as `guard` does, and with `required` a `Denied` of the code JAIL_REQUIRED where there is no jail. Report the outcome with
   * `report`; a command that is not executed is abandoned with `abandon`.
   */
  async guardCommand(command: string | readonly string[], options: CommandOptions = {}): Promise<Command> {
    const line = typeof command === "string" ? command : commandLine(command);
    const jailLevel = await this.shared.jails.level();
    if (options.required && jailLevel === 0) {
      throw new Denied({ code: "JAIL_REQUIRED", message: "the command was not run: this machine has no jail; `interlock jail probe` names the missing part" });
    }
    const decision = await this.decide(options.tool ?? "Bash", { command: line }, options, true, jailLevel);
    refuse(decision);
    if (options.required && !decision.jail) {
      this.settle(decision);
      const message = "the command was not run: the server gives no jail; its --jail may be off";
      throw new Denied({ code: "JAIL_REQUIRED", message, callId: decision.callId });
    }
    if (options.signal?.aborted) {
      this.abandon(decision);
      throw gone(decision.callId, options.signal);
    }
    return commandOf(line, decision, this.shared.jails.program);
  }

  /** Reports a result and adds the answer to it. */
  private async reported<T>(decision: Decision, result: Result<T>): Promise<Result<T>> {
    try {
      return new Result({ ...result, report: await this.report(decision, result) });
    } catch (err) {
      if (err instanceof ReportError) err.result = result;
      throw err;
    }
  }

  /** Passes the items of a guarded function on, and reports the call when they end. */
  private streamed(decision: Decision, items: Items, signal: AbortSignal | undefined): Stream<unknown> {
    const guarded = new Guarded<unknown>(items, {
      ended: async (outcome) => this.report(decision, outcome),
      failed: async (unknown) => this.reportFailed(decision, { outcomeUnknown: unknown || (signal?.aborted ?? false) }),
      unused: async () => this.abandon(decision),
    });
    return new Stream<unknown>(async () => guarded, guarded);
  }

  private async reportFailed(decision: Decision, outcome: Outcome): Promise<void> {
    try {
      await this.report(decision, outcome, false);
    } catch (err) {
      this.shared.warn(`the failure of a tool call was not reported: ${decision.tool}`, err);
    }
  }

  /** Says in the background that a call that is or may be allowed has not been made and will not be. */
  private settle(call: { tool: string; callId: string; runId?: string }): void {
    const judged = call.runId ? { runId: call.runId, sessionId: "" } : this.driven();
    if (judged.runId === "" && judged.sessionId === "") return;
    const request = { ...judged, tool: call.tool, callId: call.callId, ok: false, notExecuted: true };
    this.shared.detach(
      `a call that was not made was not settled: ${call.tool}`,
      retry(new Deadline(backgroundMs, undefined), (options) => this.rpc(PolicyEnforcerService).reportToolCall(request, options)),
    );
  }

  /**
   * Settles a call that was allowed and is not made: evidence and effects that wait for its report wait no longer. It returns at
   * once; the client sends it in the background.
   */
  abandon(decision: Decision): void {
    if (decision.decision === "ALLOW" && (decision.code as string) !== ungoverned) this.settle(decision);
  }

  /**
   * Gets the decision on a call. A call that is allowed must be reported with `report`; `guard` does both.
   *
   * Without a decision it throws `Unavailable`, and with an input that is not JSON `Denied`. A check whose answer was lost, or whose
   * caller has gone away, may have been an ALLOW: it is settled as not executed, in the background.
   */
  async check(tool: string, input?: unknown, options: CheckOptions = {}): Promise<Decision> {
    // A caller that has chosen the id may ask again under it.
    return this.decide(tool, input, options, !options.callId && !options.dryRun);
  }

  /** Gets a decision. With `settles` a call that may be allowed is settled when there is none. */
  private async decide(tool: string, input: unknown, options: CheckOptions, settles: boolean, jailLevel = 0): Promise<Decision> {
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
        const decision = await this.ask(tool, body, id, deadline, options, jailLevel);
        if (decision.decision !== "ALLOW" && !options.dryRun) await this.keepRefusal(glassCall(tool, body, options, this.driven()));
        return decision;
      } catch (err) {
        if (err instanceof Unavailable && settles) this.settle({ tool, callId: id });
        if (err instanceof InterlockError && !(err instanceof Fault)) throw err;
        fault = faultOf(err);
      }
      const passed = await this.throughGlass(fault, glassCall(tool, body, options, this.driven()), tool, id, options);
      if (passed) return passed;
      // The run has moved on since a decision whose answer was lost, or faster than it could be followed. The tool has not run,
      // so it is a new question.
      const again = ["IDEMPOTENCY_MISMATCH", "VERSION_CONFLICT"].includes(fault.reason) && !options.callId;
      // A mismatch under the client's own id is of a decision whose answer was lost.
      const lost = fault.reason === "IDEMPOTENCY_MISMATCH" && !options.callId;
      if (settles && (lost || mayBeCarriedOut(fault))) this.settle({ tool, callId: id });
      const wait = delay(asked, 0);
      if (!again || asked === mostAsked || deadline.endsWithin(wait) || options.signal?.aborted) throw this.undecided(fault, id);
      await pause(wait, options.signal).catch(() => {
        throw gone(id, options.signal!);
      });
    }
  }

  /** Allows a call by the break-glass grant where no connection could be made. It is written down before. */
  private async throughGlass(fault: Fault, call: GlassCall, tool: string, id: string, options: CheckOptions & { required?: boolean }): Promise<Decision | undefined> {
    const { glass } = this.shared;
    if (!glass || options.dryRun || options.required || options.signal?.aborted || !unreachable(fault)) return undefined;
    try {
      const grant = await glass();
      await grant.use(call);
      return {
        decision: "ALLOW", tool, callId: id, runId: call.run, sessionId: call.session, code: ungoverned as Decision["code"],
        message: `the server cannot be reached: break-glass grant ${grant.id} lets the call pass, and it is written down`,
        allowedTools: [], toolsRestricted: false, legalEvents: [], approvalId: "", state: "", branch: "", iterations: 0, maxIterations: 0,
        dryRun: false, jail: undefined, explanation: undefined,
      };
    } catch (err) {
      throw new Unavailable(`the call was not made: ${fault.message}; ${(err as Error).message}`, { callId: id, cause: fault });
    }
  }

  /** Writes down that the server has refused a call, so that no grant lets it pass later. */
  private async keepRefusal(call: GlassCall): Promise<void> {
    const { glass } = this.shared;
    if (!glass) return;
    try {
      await (await glass()).deny(call);
    } catch (err) {
      this.shared.warn("a refused call was not written into the spool of the break-glass grant", err);
    }
  }

  private async ask(
    tool: string, input: Uint8Array<ArrayBuffer>, id: string, deadline: Deadline, options: CheckOptions, jailLevel: number,
  ): Promise<Decision> {
    const request = {
      ...this.driven(),
      tool,
      qualifiedTool: options.qualifiedTool ?? "",
      input,
      callId: id,
      folder: options.folder ?? "",
      estimatedCostUsd: options.estimatedCostUsd ?? "",
      explain: options.explain ?? false,
      dryRun: options.dryRun ?? false,
      jailLevel,
    };
    const answer = await retry(deadline, (call) => this.rpc(PolicyEnforcerService).checkToolCall(request, call));
    return decisionOf({ tool, callId: id, sessionId: request.sessionId, dryRun: request.dryRun, jailLevel }, answer);
  }

  /** The error of a check that a fault has ended. */
  private undecided(fault: Fault, callId: string): Denied {
    const message = "the call was not made: " + fault.message;
    if (["UNAUTHENTICATED", "PERMISSION_DENIED"].includes(fault.reason)) {
      const mend = this.shared.hasToken ? "" : "; this client has no token: set the option token, or INTERLOCK_TOKEN";
      return new NotPermitted({ code: fault.reason, message: message + mend, callId }, { cause: fault });
    }
    if (this.session === "" && this.run === "") {
      const mend = "; this client has neither a session nor a run: set the option session, or INTERLOCK_SESSION";
      return new ConfigurationError({ code: "SESSION_REQUIRED", message: message + mend, callId }, { cause: fault });
    }
    if (fault.reason === "NOT_FOUND") {
      const mend = this.run === ""
        ? "load a workflow for the session, or set the option session (INTERLOCK_SESSION) to one that drives a run"
        : "set the option run (INTERLOCK_RUN) to the id of a run, or leave it out";
      return new ConfigurationError({ code: "NOT_FOUND", message: `${message}; ${mend}`, callId }, { cause: fault });
    }
    return new Unavailable(message, { callId, cause: fault });
  }

  /**
   * Reports the outcome of a call that was allowed. `notice` of the answer is for the agent to read with the result. A `ReportError`
   * means that the report was not accepted.
   */
  async report(decision: Decision, outcome: Outcome = {}, ok = true): Promise<Report> {
    if ((decision.code as string) === ungoverned) return { accounted: false, interrupt: undefined, warning: "", evidence: [], run: undefined, notice: "" };
    if (decision.dryRun) throw new ReportError("", new Fault("INVALID_REQUEST", "a dry run has decided on no call"));
    try {
      const output = typeof outcome.output === "string" ? Buffer.from(outcome.output) : (outcome.output ?? new Uint8Array());
      const request = {
        // The run that was decided on: the session may drive another one by now.
        ...(decision.runId === "" ? { runId: "", sessionId: decision.sessionId } : { runId: decision.runId, sessionId: "" }),
        callId: decision.callId,
        tool: decision.tool,
        ok,
        filesChanged: [...(outcome.filesChanged ?? [])],
        resultBytes: BigInt(outcome.bytes || output.length),
        costUsd: outcome.costUsd ?? "",
        output: new Uint8Array(output.subarray(0, mostOutput)),
        outcomeUnknown: outcome.outcomeUnknown ?? false,
        background: outcome.background ?? "",
        backgroundEnded: outcome.backgroundEnded ?? "",
      };
      return reportOf(await retry(new Deadline(backgroundMs, undefined), (call) => this.rpc(PolicyEnforcerService).reportToolCall(request, call)));
    } catch (err) {
      throw new ReportError(decision.callId, faultOf(err));
    }
  }
}

/** The code of calls that pass by a break-glass grant. Their spool is handed in: they are not reported. */
const ungoverned = "UNGOVERNED";

/** A call as the spool has it. */
function glassCall(tool: string, body: Uint8Array, options: CheckOptions, { runId, sessionId }: { runId: string; sessionId: string }): GlassCall {
  return { tool: options.qualifiedTool || tool, input: Buffer.from(body).toString(), session: sessionId, run: runId };
}

/** The error of a call whose caller has gone away before it ran. */
function gone(id: string, signal: AbortSignal): Unavailable {
  return new Unavailable("the call was not made: its caller has gone away", { callId: id, cause: cancelled(signal) });
}

/** The result of a guarded function that has returned. */
function resultOf<T>(returned: T | Result<T>): Result<T> {
  if (returned instanceof Result) return returned;
  return new Result<T>({ output: outputOf(returned), value: returned });
}
