/**
 * What the adapters of frameworks share: a decision that is never an exception, and one report of each call that ran.
 *
 * Frameworks differ in what an exception of a hook means; some run the tool then. So nothing here throws before the tool has run:
 * whatever goes wrong is a refusal.
 */
import type { Interlock } from "./client.js";
import { Denied, undecided } from "./errors.js";
import { JsonText, stringify } from "./json.js";
import { Result, type Decision, type Run } from "./types.js";

/** Options that every adapter has. */
export interface GateOptions<Context> {
  /** The session of a conversation, or a function of the framework's context that says it; the client's own without it. */
  session?: string | ((context: Context) => string);
  /** Interlock's name of a tool. */
  toolName?: (tool: string) => string;
  /** Is told of reports that were not accepted, and of failures of the adapter itself. */
  onWarning?: (message: string, err: unknown) => void;
}

/** What becomes of a tool call. */
export type Verdict =
  | { readonly allowed: true; readonly waits: false; readonly tool: string; readonly session: string; readonly decision: Decision }
  | {
      readonly allowed: false;
      /** It waits for humans; otherwise it is simply refused. */
      readonly waits: boolean;
      readonly tool: string;
      /** Why it may not be made, for the model. */
      readonly text: string;
      readonly approvalId: string;
    };

/** Tools of Interlock itself, which are always allowed. */
const ownTools = new Set(["transition", "get_state"]);

/** Decides and reports for an adapter. */
export class Gate<Context> {
  constructor(
    private readonly client: Interlock,
    private readonly options: GateOptions<Context> = {},
  ) {}

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

  private name(tool: string): string {
    return this.options.toolName ? this.options.toolName(tool) : tool;
  }

  /** Decides one call. Arguments that are a text are the JSON that the model wrote. */
  async ask(tool: string, args: unknown, context: Context): Promise<Verdict> {
    let name = tool;
    try {
      name = this.name(tool);
      const session = this.sessionOf(context);
      const input = typeof args === "string" ? new JsonText(args === "" ? "{}" : args) : args;
      const decision = await this.bound(session).check(name, input);
      switch (decision.decision) {
        case "ALLOW":
          return { allowed: true, waits: false, tool: name, session, decision };
        case "ASK":
          if (decision.approvalId === "") break;
          return refused(name, `${decision.code}: ${decision.message}`, decision.approvalId);
        case "DENY":
          return refused(name, `${decision.code}: ${legal(decision)}`);
      }
      return refused(name, `${undecided}: the call was not made`);
    } catch (err) {
      if (err instanceof Denied) return refused(name, `${err.code}: ${err.message}`);
      this.warn("the adapter has refused a call because it failed", err);
      return refused(name, `${undecided}: the call was not made: the adapter failed: ${err instanceof Error ? err.message : String(err)}`);
    }
  }

  /**
   * Reports a call that has run, and returns what the model should be told with the result. A report that fails is a warning: the
   * tool has run, and its result is valid.
   */
  async tell(verdict: Verdict, output: unknown, ok: boolean): Promise<string> {
    if (!verdict.allowed) return "";
    try {
      const outcome = output instanceof Result ? output : { output: output === undefined || output === null ? "" : textOf(output) };
      return await this.bound(verdict.session).report(verdict.decision, outcome, ok);
    } catch (err) {
      this.warn(`the outcome of a call was not reported: ${verdict.tool}`, err);
      return "";
    }
  }

  /** Runs a call that is allowed and reports it, once, however it ends. */
  async perform<T>(
    verdict: Verdict,
    run: () => T | Promise<T>,
    read: { ok?: (value: T) => boolean; output?: (value: T) => unknown } = {},
  ): Promise<{ value: T; notice: string }> {
    if (!verdict.allowed) throw new Denied({ code: undecided, message: "the call was not made" });
    let value: T;
    try {
      value = await run();
    } catch (err) {
      await this.tell(verdict, undefined, false);
      throw err;
    }
    return { value, notice: await this.tell(verdict, read.output ? read.output(value) : value, read.ok ? read.ok(value) : true) };
  }

  /** Which tools to offer to the model in the state of the moment. When that cannot be known, none but Interlock's own. */
  async offered(context: Context): Promise<(tool: string) => boolean> {
    let run: Run | undefined;
    try {
      run = await this.bound(this.sessionOf(context)).get();
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
      // What the application does with a warning is no reason to run a tool, or to lose a result.
    }
  }
}

/** Whether the lists of the state let a tool pass. Only a check decides: this is for what to offer to a model. */
export function allows(run: Run, tool: string): boolean {
  const listed = (patterns: readonly string[]): boolean =>
    patterns.some((one) => one === tool || (one.endsWith("*") && tool.startsWith(one.slice(0, -1))));
  return !listed(run.disallowedTools) && (!run.toolsRestricted || listed(run.allowedTools));
}

function refused(tool: string, text: string, approvalId = ""): Verdict {
  return { allowed: false, waits: approvalId !== "", tool, text, approvalId };
}

/** A denial's sentence, with the events that are legal where it does not name them. */
function legal(decision: Decision): string {
  const events = decision.legalEvents.map((one) => one.event).filter((event) => !decision.message.includes(event));
  return events.length === 0 ? decision.message : `${decision.message} Legal events: ${events.join(", ")}.`;
}

/** A result with what the model should be told with it. */
export function joined(text: string, notice: string): string {
  return notice === "" ? text : `${text}\n\n${notice}`;
}

/** A tool's result as a text. */
export function textOf(output: unknown): string {
  if (typeof output === "string") return output;
  if (output instanceof Uint8Array) return Buffer.from(output).toString();
  try {
    return stringify(output);
  } catch {
    return String(output);
  }
}
