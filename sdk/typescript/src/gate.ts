/**
 * The common part of the adapters of frameworks: a decision that is never an exception, one report of each call that ran, and tools
 * that refuse to run without a verdict of their own.
 *
 * Frameworks differ in the meaning of an exception of a hook; some run the tool then. So no function here throws before the tool has run:
 * every failure is a refusal.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Interlock } from "./client.js";
import { digestOf } from "./digest.js";
import { Denied, reason, undecided } from "./errors.js";
import { JsonText, type Json } from "./json.js";
import { textOf } from "./output.js";
import { Result, type Decision, type Outcome, type Run } from "./types.js";

export { digestOf } from "./digest.js";
export { textOf } from "./output.js";

/** Options that every adapter has. */
export interface GateOptions<Context> {
  /** The session of a conversation, or a function of the framework's context that returns it; the client's own without it. */
  session?: string | ((context: Context) => string);
  /** The folder that calls are made in, or a function of the framework's context: evidence is only from the run's workspace. */
  folder?: string | ((context: Context) => string | undefined);
  /** Interlock's name of a tool. */
  toolName?: (tool: string) => string;
  /**
   * The own token of the person on whose behalf a conversation is, or a function of the framework's context that returns it; that of the
   * client without it.
   */
  human?: string | ((context: Context) => string);
  /** Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24). */
  only?: Json;
  /** Receives reports that were not accepted, and failures of the adapter itself. */
  onWarning?: (message: string, err: unknown) => void;
}

/** A call that may be made, once. */
export interface Allowed {
  readonly allowed: true;
  readonly waits: false;
  /** Interlock's name of it. */
  readonly tool: string;
  readonly session: string;
  /** A copy of the arguments as they were judged: the tool runs with it. */
  readonly args: unknown;
  /** The digest of the arguments. */
  readonly digest: string;
  readonly decision: Decision;
}

/** A call that may not be made. */
export interface Refusal {
  readonly allowed: false;
  /** It waits for humans; otherwise it is simply refused. */
  readonly waits: boolean;
  readonly tool: string;
  readonly session: string;
  readonly digest: string;
  /** Why it may not be made, for the model. */
  readonly text: string;
  readonly approvalId: string;
}

/** The answer to a tool call. */
export type Verdict = Allowed | Refusal;

/** Options of one question. */
export interface Asking {
  /** The folder of this call, where the framework knows it. */
  folder?: string | undefined;
  /** Ends the check when it is aborted. The call is then refused, and settled as not executed. */
  signal?: AbortSignal | undefined;
}

/** How to read the end of a call. */
export interface Reading<T> {
  /** Whether the tool has succeeded. */
  ok?: (value: T) => boolean;
  /** The output that counts. */
  output?: (value: T) => unknown;
  /** More of the outcome, such as that it is unknown. */
  outcome?: (value: T) => Outcome;
  /** A failure after its abort has an unknown outcome. */
  signal?: AbortSignal | undefined;
}

/** More verdicts than this are of calls that no framework makes any more. */
const mostKept = 10_000;

/** Tools of Interlock itself, which are always allowed. */
const ownTools = new Set(["transition", "get_state"]);

/** The verdict under which the code that runs now was called. */
const current = new AsyncLocalStorage<Allowed | undefined>();

/** Verdicts by which a call has begun. */
const used = new WeakSet<Verdict>();

/** Decides and reports for an adapter. */
export class Gate<Context> {
  /** Verdicts whose call is yet to come, by session, tool, arguments and call id. */
  private readonly kept = new Map<string, Verdict>();
  /** Verdicts of this gate: those of another gate admit no call here. */
  private readonly own = new WeakSet<Verdict>();

  /** Sessions that the option `only` has narrowed. */
  private readonly narrowed = new Set<string>();

  constructor(
    private readonly client: Interlock,
    private readonly options: GateOptions<Context> = {},
  ) {}

  /** The client that asks about a call of a conversation, whose session is narrowed by then. */
  private async asking(session: string, context: Context): Promise<Interlock> {
    const { human, only } = this.options;
    const named = typeof human === "function" ? human(context) : (human ?? "");
    if (typeof named !== "string") throw new TypeError("the option human has returned no token");
    const bound = this.bound(session);
    const client = named === "" ? bound : bound.forHuman(named);
    if (only === undefined || this.narrowed.has(client.session)) return client;
    try {
      await client.narrowSession(only);
    } catch (err) {
      if (reason(err) !== "NOT_FOUND") throw err;
      await client.createSession({ name: client.session, only });
    }
    this.narrowed.add(client.session);
    return client;
  }

  private bound(session: string): Interlock {
    return session === "" ? this.client : this.client.forSession(session);
  }

  private sessionOf(context: Context): string {
    const { session } = this.options;
    if (typeof session !== "function") return session ?? "";
    const named = session(context);
    if (typeof named !== "string" || named === "") throw new TypeError("the option session has named no session");
    return named;
  }

  private folderOf(context: Context, asking: Asking): string {
    const { folder } = this.options;
    return (typeof folder === "function" ? folder(context) : folder) ?? asking.folder ?? "";
  }

  private name(tool: string): string {
    return this.options.toolName ? this.options.toolName(tool) : tool;
  }

  /** Decides one call. Arguments that are a text are the JSON that the model wrote. */
  async ask(tool: string, args: unknown, context: Context, asking: Asking = {}): Promise<Verdict> {
    const verdict = await this.decide(tool, args, context, asking);
    this.own.add(verdict);
    return verdict;
  }

  private async decide(tool: string, args: unknown, context: Context, asking: Asking): Promise<Verdict> {
    const call = { tool, session: "", digest: "" };
    try {
      call.tool = this.name(tool);
      call.session = this.sessionOf(context);
      const judged = copyOf(args);
      call.digest = digestOf(judged);
      const input = typeof judged === "string" ? new JsonText(judged === "" ? "{}" : judged) : judged;
      const client = await this.asking(call.session, context);
      const decision = await client.check(call.tool, input, {
        folder: this.folderOf(context, asking),
        ...(asking.signal && { signal: asking.signal }),
      });
      switch (decision.decision) {
        case "ALLOW":
          return { ...call, allowed: true, waits: false, args: judged, decision };
        case "ASK":
          if (decision.approvalId === "") break;
          return refused(call, `${decision.code}: ${decision.message}`, decision.approvalId);
        case "DENY":
          return refused(call, `${decision.code}: ${legal(decision)}`);
      }
      return refused(call, `${undecided}: the call was not made`);
    } catch (err) {
      if (err instanceof Denied) return refused(call, `${err.code}: ${err.message}`);
      this.warn("the adapter has refused a call because it failed", err);
      return refused(call, `${undecided}: the call was not made: the adapter failed: ${err instanceof Error ? err.message : String(err)}`);
    }
  }

  /** Keeps a verdict for the call that it is of, where a framework asks at one time and runs at another. */
  keep(verdict: Verdict, callId: string): void {
    const key = keyOf(verdict, callId);
    const before = this.kept.get(key);
    if (before && before !== verdict) this.release(before);
    this.kept.delete(key); // so that it is the newest
    this.kept.set(key, verdict);
    if (this.kept.size <= mostKept) return;
    const [oldest, given] = this.kept.entries().next().value!;
    this.kept.delete(oldest);
    this.release(given);
  }

  /** Takes the verdict that was kept for exactly this call: the same session, tool, arguments and id. It is taken once. */
  take(tool: string, args: unknown, context: Context, callId: string): Verdict | undefined {
    try {
      const key = keyOf({ tool: this.name(tool), session: this.sessionOf(context), digest: digestOf(args) }, callId);
      const verdict = this.kept.get(key);
      this.kept.delete(key);
      return verdict;
    } catch {
      return undefined; // then it is asked, which refuses
    }
  }

  /** Whether a verdict is kept for exactly this call. It stays kept. */
  has(tool: string, args: unknown, context: Context, callId: string): boolean {
    const verdict = this.take(tool, args, context, callId);
    if (verdict) this.keep(verdict, callId);
    return verdict !== undefined;
  }

  /** Gives up the verdicts that are kept for a context: those that allow a call are settled as not executed. */
  forget(context: Context): void {
    let session: string;
    try {
      session = this.sessionOf(context);
    } catch {
      return;
    }
    for (const [key, verdict] of this.kept) {
      if (verdict.session !== session) continue;
      this.kept.delete(key);
      this.release(verdict);
    }
  }

  /** Settles a call that was allowed and is not made. */
  release(verdict: Verdict): void {
    if (!verdict.allowed || used.has(verdict)) return;
    used.add(verdict);
    try {
      this.bound(verdict.session).abandon(verdict.decision);
    } catch (err) {
      this.warn(`a call that was not made was not settled: ${verdict.tool}`, err);
    }
  }

  /** Runs code under a verdict: a tool that it calls finds it by `permitted`. */
  permit<T>(verdict: Verdict, run: () => T): T {
    return current.run(verdict.allowed && this.own.has(verdict) ? verdict : undefined, run);
  }

  /**
   * The verdict under which a tool runs now, if it is of this very call: the same tool and arguments, and no call has begun by it. A
   * tool that finds none asks itself, or refuses.
   */
  permitted(tool: string, args: unknown): Allowed | undefined {
    const verdict = current.getStore();
    if (!verdict || used.has(verdict) || !this.own.has(verdict)) return undefined;
    try {
      return verdict.tool === this.name(tool) && verdict.digest === digestOf(args) ? verdict : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Reports a call that has run, and returns the text for the model to read with the result. A report that fails is a warning: the
   * tool has run, and its result is valid.
   */
  async tell(verdict: Verdict, output: unknown, ok: boolean, more: Outcome = {}): Promise<string> {
    if (!verdict.allowed) return "";
    try {
      const outcome = output instanceof Result ? output : { output: output === undefined || output === null ? "" : textOf(output) };
      return (await this.bound(verdict.session).report(verdict.decision, { ...outcome, ...more }, ok)).notice;
    } catch (err) {
      this.warn(`the outcome of a call was not reported: ${verdict.tool}`, err);
      return "";
    }
  }

  /** Runs a call that is allowed, with the arguments that were judged, and reports it, once, however it ends. */
  async perform<T>(verdict: Verdict, run: (args: unknown) => T | Promise<T>, read: Reading<T> = {}): Promise<{ value: T; notice: string }> {
    const valid = verdict.allowed && !used.has(verdict) && this.own.has(verdict) && digestOf(verdict.args) === verdict.digest;
    if (!valid) throw new Denied({ code: undecided, message: "the call was not made: it has no decision of its own" });
    if (read.signal?.aborted) {
      this.release(verdict);
      throw read.signal.reason as Error;
    }
    used.add(verdict);
    let value: T;
    try {
      // Under no verdict: calls of the tool have their own.
      value = await current.run(undefined, () => run(verdict.args));
    } catch (err) {
      await this.tell(verdict, undefined, false, { outcomeUnknown: (read.signal?.aborted ?? false) || interrupted(err) });
      throw err;
    }
    const ok = read.ok ? read.ok(value) : true;
    return { value, notice: await this.tell(verdict, read.output ? read.output(value) : value, ok, read.outcome?.(value)) };
  }

  /** Which tools to offer to the model in the state of the moment. When that cannot be known, none but Interlock's own. */
  async offered(context: Context): Promise<(tool: string) => boolean> {
    let run: Run | undefined;
    try {
      run = await this.bound(this.sessionOf(context)).getRun();
    } catch {
      run = undefined;
    }
    return (tool) => {
      try {
        const name = this.name(tool);
        return ownTools.has(name) || (run !== undefined && allows(run, name));
      } catch {
        return false;
      }
    };
  }

  private warn(message: string, err: unknown): void {
    try {
      this.options.onWarning?.(message, err);
    } catch {
      // A failure of the application's own handler is no reason to run a tool, or to lose a result.
    }
  }
}

/** Whether the lists of the state let a tool pass. Only a check decides: this is for the tools to offer to a model. */
export function allows(run: Run, tool: string): boolean {
  const listed = (patterns: readonly string[]): boolean =>
    patterns.some((one) => one === tool || (one.endsWith("*") && tool.startsWith(one.slice(0, -1))));
  return !listed(run.disallowedTools) && (!run.toolsRestricted || listed(run.allowedTools));
}

function refused(call: { tool: string; session: string; digest: string }, text: string, approvalId = ""): Verdict {
  return { ...call, allowed: false, waits: approvalId !== "", text, approvalId };
}

/** A denial's sentence, with the events that are legal where it does not name them. */
function legal(decision: Decision): string {
  const events = decision.legalEvents.map((one) => one.event).filter((event) => !decision.message.includes(event));
  return events.length === 0 ? decision.message : `${decision.message} Legal events: ${events.join(", ")}.`;
}

/** A result with the text for the model to read with it. */
export function joined(text: string, notice: string): string {
  return notice === "" ? text : `${text}\n\n${notice}`;
}

/** Errors that leave unknown whether the tool has done its work. */
function interrupted(err: unknown): boolean {
  const { name, code, killed } = (err ?? {}) as { name?: unknown; code?: unknown; killed?: unknown };
  return name === "AbortError" || name === "TimeoutError" || name === "GraphInterrupt" || code === "ETIMEDOUT" || code === "ABORT_ERR" || killed === true;
}

function keyOf(call: { tool: string; session: string; digest: string }, callId: string): string {
  return JSON.stringify([call.session, call.tool, call.digest, callId]);
}

/** A deep copy, so that arguments do not change after they were judged. */
function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof JsonText) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (value instanceof Date || value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) return structuredClone(value);
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) return value; // of a class of the application
  const copy: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) Object.defineProperty(copy, name, { value: copyOf(one), enumerable: true, configurable: true, writable: true });
  return copy;
}
